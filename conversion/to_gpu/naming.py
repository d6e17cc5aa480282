"""What a kernel's arguments are called: as the inputs, weights and values that launches pass."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import BlockArgument, SSAValue
from xdsl.utils.hints import isa

from nn_opt.dialects import gpu, loop
from nn_opt.ir.locations import weight_names

LONGEST = 32  # characters of a name


def name_arguments(module: ModuleOp, kernels: Sequence[gpu.FuncOp]) -> None:
    """Name the arguments that have no name yet."""
    launches = [op for op in module.walk() if isinstance(op, gpu.LaunchFuncOp)]
    for kernel in kernels:
        name = kernel.sym_name.data
        rows = [o.arguments for o in launches if o.kernel.string_value().split(".")[-1] == name]
        for k, argument in enumerate(kernel.arguments):
            if argument.name_hint is None and rows:
                argument.name_hint = _common([row[k] for row in rows])


def _common(passed: Sequence[SSAValue]) -> str | None:
    """Return the name of what all launches pass; a word for what it is, if they differ."""
    names = {_name(value) for value in passed}
    if len(names) == 1:
        return names.pop()
    constant = all(isinstance(_whole(value).owner, loop.ConstantOp) for value in passed)
    return "weights" if constant else "x"


def _name(value: SSAValue) -> str | None:
    value = _whole(value)
    if value.name_hint is not None:
        return value.name_hint
    if isinstance(value, BlockArgument):
        return _plain(_input_name(value))
    if isinstance(value.owner, loop.AllocOp):
        return _plain(re.sub(r"_\d+$", "", value.owner.buffer.data))
    if isinstance(value.owner, loop.ConstantOp):
        return _plain(next(weight_names(value.owner.location), "weights"))
    return None


def _whole(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, loop.ViewOp):
        value = value.owner.source
    return value


def _input_name(value: BlockArgument) -> str:
    """Return what the model calls an input of its function."""
    function = value.owner.parent_op()
    names = function.attributes.get("arg_names") if isinstance(function, func.FuncOp) else None
    if isa(names, ArrayAttr[StringAttr]) and value.index < len(names.data):
        return names.data[value.index].data
    return ""


def _plain(name: str) -> str | None:
    """Return a name that texts of the IR keep: of letters, and digits that no _ parts off."""
    words = re.sub(r"[\W_]+", "_", name, flags=re.ASCII).strip("_")
    while len(words) > LONGEST and "_" in words:
        words = words.partition("_")[2]
    words = re.sub(r"_(\d+)$", r"\1", words)
    return f"x{words}" if words[:1].isdigit() else words or None
