"""The proof that a plan is sound, made from the planned program alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from nn_opt.dialects import loop
from nn_opt.dialects.loop.buffers import byte_size
from nn_opt.ir.diagnostics import complaint
from nn_opt.passes.plan_memory_declared import places_in_place
from nn_opt.passes.plan_memory_lifetimes import Steps, lifetime, uses_of


@dataclass(frozen=True, eq=False)
class Placed:
    """A view of the arena: bytes start .. end - 1, in use from step first to last."""

    view: loop.ViewOp
    start: int
    end: int
    first: int
    last: int


def check_plan(module: ModuleOp, name: str = "main") -> None:
    """Prove that no two buffers of a function that are in use at the same time overlap.

    Raises: VerifyException, naming both, if two do.
    """
    main = function_named(module, name)
    if main is None:
        return
    for one, two in combinations(placed_buffers(main), 2):
        apart = one.end <= two.start or two.end <= one.start
        if apart or one.last < two.first or two.last < one.first:
            continue
        if not is_in_place(module, main, one, two):
            problem = (
                f"bytes {two.start} to {two.end} overlap those of another buffer, {one.start} to"
                f" {one.end}, while both are in use"
            )
            raise VerifyException(complaint(two.view, problem))


def function_named(module: ModuleOp, name: str) -> func.FuncOp | None:
    """Return the function of a name."""
    for op in module.ops:
        if isinstance(op, func.FuncOp) and op.sym_name.data == name:
            return op
    return None


def placed_buffers(main: func.FuncOp) -> list[Placed]:
    """Return the views of the arena that are in use at some time."""
    steps = Steps.of(main)
    placed: list[Placed] = []
    for op in main.walk():
        if not isinstance(op, loop.ViewOp) or not isinstance(op.source.owner, loop.ArenaOp):
            continue
        span = lifetime(op.result, steps)
        if span is not None:
            start = op.offset.data.eval([], [])[0]
            placed.append(Placed(op, start, start + byte_size(op.result), *span))
    return placed


def is_in_place(module: ModuleOp, main: func.FuncOp, one: Placed, two: Placed) -> bool:
    """Return whether one buffer ends in the call in which the other begins, at the same place."""
    if one.first > two.first:
        one, two = two, one
    if one.last != two.first or one.start != two.start:
        return False
    calls = [op for op in uses_of(one.view.result) if isinstance(op, func.CallOp)]
    calls = [op for op in calls if op in set(uses_of(two.view.result))]
    if len(calls) != 1:
        return False
    kernel = function_named(module, calls[0].callee.string_value())
    if kernel is None:
        return False
    source, result = (position(calls[0], placed.view.result) for placed in (one, two))
    given = kernel.attributes.get("nn.aliases")
    marked = set(given.iter_values()) if isinstance(given, DenseArrayBase) else set[int]()
    return {source, result} <= marked and (source, result) in places_in_place(kernel)


def position(call: func.CallOp, value: SSAValue) -> int:
    """Return where a buffer is among a call's arguments."""
    return list(call.arguments).index(value)
