"""Functions that call others: in which order to plan them, and what they ask of their callers."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects import loop
from nn_opt.ir.diagnostics import complaint
from nn_opt.passes.plan_memory_scratch import make_arguments, replace

Functions = Mapping[str, func.FuncOp]


def callees_first(functions: Functions) -> dict[func.FuncOp, list[func.CallOp]]:
    """Return functions after those that they call, each with its calls of these functions.

    Raises: PassFailedException for one that calls itself, directly or through others, or @main.
    """
    order: dict[func.FuncOp, list[func.CallOp]] = {}
    for function in functions.values():
        _visit(function, functions, order, [])
    return order


def _visit(
    function: func.FuncOp,
    functions: Functions,
    order: dict[func.FuncOp, list[func.CallOp]],
    callers: list[func.FuncOp],
) -> None:
    if function in order:
        return
    calls = [op for op in function.walk() if isinstance(op, func.CallOp)]
    calls = [op for op in calls if op.callee.string_value() in functions]
    for call in calls:
        callee = functions[call.callee.string_value()]
        _check_call(call, callee, [*callers, function])
        _visit(callee, functions, order, [*callers, function])
    order[function] = calls


def _check_call(call: func.CallOp, callee: func.FuncOp, callers: list[func.FuncOp]) -> None:
    name = callee.sym_name.data
    if callee in callers:
        problem = f"@{name} calls itself, so no plan holds its temporaries"
        raise PassFailedException(complaint(call, problem, hint="use loop.for"))
    if name == "main":
        problem = "@main is the entry, which only the caller of the whole program calls"
        raise PassFailedException(complaint(call, problem, hint="name the function differently"))


def arena_as_argument(function: func.FuncOp) -> list[loop.AllocOp]:
    """loop.arena  ->  the last argument; return what a caller has to allocate for it"""
    moved: list[loop.AllocOp] = []
    for arena in [op for op in function.walk() if isinstance(op, loop.ArenaOp)]:
        alloc = loop.AllocOp("arena", arena.result.type)
        alloc.location = arena.location
        replace(arena, alloc, alloc.result)
        moved.append(alloc)
    make_arguments(function, moved)
    return moved
