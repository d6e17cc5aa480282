"""The arena as a picture: which bytes hold which buffer from which step to which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from nn_opt.passes.plan_memory_check import Placed, function_named, placed_buffers
from nn_opt.passes.plan_memory_lifetimes import Steps
from nn_opt.passes.plan_memory_offsets import ATTRIBUTE, plan_of


@dataclass(frozen=True)
class Box:
    """A buffer: bytes start .. end - 1, in use during steps first .. last.

    op: the number of the view that names it, among the ops of @main's text.
    """

    name: str
    type: str
    start: int
    end: int
    first: int
    last: int
    op: int


@dataclass(frozen=True)
class Memory:
    """A plan of the arena; steps are those of @main, by what runs in them."""

    size: int
    lower_bound: int
    steps: tuple[str, ...]
    boxes: tuple[Box, ...]

    def data(self) -> dict[str, Any]:
        """Return the picture as JSON."""
        return asdict(self)


def memory_of(module: ModuleOp, ops: Sequence[Operation]) -> Memory | None:
    """Return the plan that --plan-memory left in a module; None where there is none.

    ops: those of @main, in the order of its text.
    """
    main = function_named(module, "main")
    if main is None or not main.body.blocks or ATTRIBUTE not in module.attributes:
        return None
    plan, placed = plan_of(module), placed_buffers(main)
    # A plan counts the steps before the arena was there; both lists are in the same order.
    placed.sort(key=lambda item: (item.first, item.start))
    names = [row.buffer for row in plan.rows]
    if len(names) != len(placed):  # a later pass removed a buffer
        names = [item.view.result.name_hint or "buffer" for item in placed]
    numbers = {op: number for number, op in enumerate(ops)}
    boxes = tuple(_box(name, item, numbers) for name, item in zip(names, placed, strict=True))
    return Memory(plan.size, plan.lower_bound, _step_names(main), boxes)


def _box(name: str, item: Placed, numbers: dict[Operation, int]) -> Box:
    type_, op = str(item.view.result.type), numbers.get(item.view, -1)
    return Box(name, type_, item.start, item.end, item.first, item.last, op)


def _step_names(main: func.FuncOp) -> tuple[str, ...]:
    steps = Steps.of(main)
    names = [""] * steps.count
    for op, begin in steps.begin.items():
        names[begin] = _step_name(op)
        if steps.end[op] != begin:
            names[steps.end[op]] = f"end of {_step_name(op)}"
    return tuple(names)


def _step_name(op: Operation) -> str:
    return op.callee.string_value() if isinstance(op, func.CallOp) else op.name
