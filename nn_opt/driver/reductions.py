"""How --reduce makes a module smaller: each kind of edit lists what it could do, in order.

An edit need not leave a valid module, as each result is verified. Edits of a kind are done last
first: what is inside of something, or reads it, goes before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias, cast

import numpy as np
from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator

from nn_opt.ir.types import element_type, numpy_dtype, shape_of

Action: TypeAlias = Callable[[], None]
Edit: TypeAlias = Callable[[ModuleOp], list[Action]]


def delete_operations(module: ModuleOp) -> list[Action]:
    """Delete an operation, a function too; readers get an equal operand, or something in sight."""
    operations = [op for op in module.walk() if op is not module]
    return [partial(_delete, op) for op in operations if not op.has_trait(IsTerminator)]


def _delete(op: Operation) -> None:
    for result in op.results:
        if result.uses:
            value = _substitute(op, result.type)
            if value is None:
                return
            result.replace_all_uses_with(value)
    op.detach()
    op.erase(safe_erase=False)


def _substitute(op: Operation, type_: Attribute) -> SSAValue | None:
    """Return a value of a type to put in the place of a result of `op`."""
    in_sight = (value for value in (*op.operands, *_above(op)) if value.type == type_)
    return next(in_sight, None) or _constant(op, type_)


def _above(op: Operation) -> Iterator[SSAValue]:
    """Yield the arguments of the blocks around an op, and the results that come before it."""
    inner: Operation | None = op
    while inner is not None and (block := inner.parent) is not None:
        yield from block.args
        for earlier in block.ops:
            if earlier is inner:
                break
            yield from earlier.results
        outer = block.parent_op()
        inner = None if outer is None or outer.has_trait(IsolatedFromAbove) else outer


def _constant(op: Operation, type_: Attribute) -> SSAValue | None:
    """Return a new zero before `op`, unless that is a constant, or there is none of the type."""
    if not op.operands and not op.regions:
        return None
    constant: Operation
    if isinstance(type_, IntegerType | IndexType):
        constant = arith.ConstantOp(IntegerAttr(0, cast(IndexType, type_)))
    elif isinstance(type_, AnyFloat):
        constant = arith.ConstantOp(FloatAttr(0.0, type_))
    elif isinstance(type_, TensorType) and op.name.startswith("graph."):
        from nn_opt.dialects import graph

        tensor = cast(TensorType[Attribute], type_)
        zeros = np.zeros(shape_of(tensor), numpy_dtype(element_type(tensor)))
        constant = graph.ConstantOp(zeros)
    else:
        return None
    block = op.parent
    assert block is not None
    block.insert_op_before(constant, op)
    return constant.results[0]


def open_regions(module: ModuleOp) -> list[Action]:
    """Replace an operation by what the only block of one of its regions holds."""
    return [
        partial(_open, op, region)
        for op in module.walk()
        if op is not module
        for region in op.regions
        if region.blocks and region.blocks.first is region.blocks.last
    ]


def _open(op: Operation, region: Region) -> None:
    block, outer = region.block, op.parent
    if outer is None:  # another of its regions was opened
        return
    for argument in block.args:
        value = _substitute(op, argument.type)
        if value is None:
            return
        argument.replace_all_uses_with(value)
    last = block.last_op
    yields = list(last.operands) if last is not None and last.has_trait(IsTerminator) else []
    if last is not None and last.has_trait(IsTerminator):
        last.detach()
        last.erase()
    for inner in list(block.ops):
        inner.detach()
        outer.insert_op_before(inner, op)
    for result in op.results:
        equal = (value for value in yields if value.type == result.type)
        value = next(equal, None) or _substitute(op, result.type)
        if value is None:
            return
        result.replace_all_uses_with(value)
    op.detach()
    op.erase(safe_erase=False)


def straighten_branches(module: ModuleOp) -> list[Action]:
    """Let a conditional branch always take one of its ways."""
    branches = [op for op in module.walk() if isinstance(op, cf.ConditionalBranchOp)]
    return [partial(_straighten, op, way) for op in branches for way in (0, 1)]


def _straighten(op: cf.ConditionalBranchOp, way: int) -> None:
    block = op.parent
    if block is None:  # the other way was taken
        return
    target = (op.then_block, op.else_block)[way]
    arguments = (op.then_arguments, op.else_arguments)[way]
    block.insert_op_before(cf.BranchOp(target, *arguments), op)
    op.detach()
    op.erase()


def delete_blocks(module: ModuleOp) -> list[Action]:
    """Delete a block that nothing branches to."""
    blocks = [
        block
        for op in module.walk()
        for region in op.regions
        for block in list(region.blocks)[1:]
        if not block.uses
    ]
    return [partial(_delete_block, block) for block in blocks]


def _delete_block(block: Block) -> None:
    region = block.parent
    assert region is not None
    region.erase_block(block, safe_erase=False)


def merge_blocks(module: ModuleOp) -> list[Action]:
    """Join a block to the only one that branches to it."""
    branches = [op for op in module.walk() if isinstance(op, cf.BranchOp)]
    return [partial(_merge, op) for op in branches if len(list(op.successor.uses)) == 1]


def _merge(op: cf.BranchOp) -> None:
    block, target = op.parent, op.successor
    assert block is not None
    assert target is not block
    for argument, value in zip(target.args, op.arguments, strict=True):
        argument.replace_all_uses_with(value)
    op.detach()
    op.erase()
    for inner in list(target.ops):
        inner.detach()
        block.add_op(inner)
    _delete_block(target)


def shorten_signatures(module: ModuleOp) -> list[Action]:
    """Drop a result, or an argument that nobody reads, of a function that nobody calls."""
    actions: list[Action] = []
    for op in module.walk():
        if isinstance(op, FuncOp) and op.body.blocks:
            results = len(op.function_type.outputs)
            actions += [partial(_drop_result, op, k) for k in range(results)]
            arguments = len(op.function_type.inputs)
            actions += [partial(_drop_argument, op, k) for k in range(arguments)]
    return actions


def _drop_result(function: FuncOp, k: int) -> None:
    for block in function.body.blocks:
        if isinstance(last := block.last_op, ReturnOp):
            last.operands = [value for j, value in enumerate(last.operands) if j != k]
    inputs, outputs = function.function_type.inputs, function.function_type.outputs
    kept = [type_ for j, type_ in enumerate(outputs) if j != k]
    function.function_type = FunctionType.from_lists(list(inputs), kept)
    _drop_entries(function, ("result_names", "result_dtypes", "res_attrs"), k)


def _drop_argument(function: FuncOp, k: int) -> None:
    block = next(iter(function.body.blocks))
    if block.args[k].uses:
        return
    block.erase_arg(block.args[k])
    outputs = list(function.function_type.outputs)
    function.function_type = FunctionType.from_lists([arg.type for arg in block.args], outputs)
    _drop_entries(function, ("arg_names", "arg_dtypes", "arg_attrs"), k)


def _drop_entries(function: FuncOp, names: tuple[str, ...], k: int) -> None:
    """Keep lists about a function's arguments or results as long as these are."""
    for holder in (function.attributes, function.properties):
        for name in names:
            if isinstance(value := holder.get(name), ArrayAttr):
                entries = cast(ArrayAttr[Attribute], value).data
                kept = [entry for j, entry in enumerate(entries) if j != k]
                holder[name] = ArrayAttr(kept)


def delete_attributes(module: ModuleOp) -> list[Action]:
    """Delete what is noted on an operation without being a part of it."""
    return [
        partial(op.attributes.pop, name, None)  # pyright: ignore[reportReturnType]
        for op in module.walk()
        for name in list(op.attributes)
    ]
