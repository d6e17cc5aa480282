"""What is shown of an operation, a value or a function on hovering, as Markdown."""

from __future__ import annotations

import inspect

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from nn_opt.ir.diagnostics import locate


def describe_operation(op: Operation) -> str:
    """Return an operation's name, operands and results by type, and what its class says."""
    operands = ", ".join(str(operand.type) for operand in op.operands)
    results = ", ".join(str(result.type) for result in op.results)
    text = code(f"{op.name} : ({operands}) -> ({results})")
    documentation = inspect.cleandoc(type(op).__doc__ or "")
    return f"{text}\n\n{documentation}" if documentation else text


def describe_value(value: SSAValue) -> str:
    """Return a value's name, type, and what makes it."""
    text = code(f"%{value.name_hint or ''} : {value.type}")
    owner = value.owner
    if isinstance(owner, Block):
        around = owner.parent_op()
        return f"{text}\n\nargument of {around.name if around is not None else 'a block'}"
    readers = len(list(value.uses))
    where = f"result of `{owner.name}` at {locate(owner)}"
    return f"{text}\n\n{where}, read {readers} time{'s' * (readers != 1)}"


def describe_symbol(op: Operation, name: str) -> str:
    """Return a function's signature, or the kind of something else with a name."""
    if isinstance(op, FuncOp):
        return code(f"{op.name} @{name} : {op.function_type}")
    return code(f"{op.name} @{name}")


def code(text: str) -> str:
    """Return text as a block of IR."""
    return f"```mlir\n{text}\n```"
