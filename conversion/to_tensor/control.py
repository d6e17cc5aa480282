"""Constants, recurrences, calls, and whole functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, FunctionType, StringAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.hints import isa

from nn_opt.conversion.to_tensor import (
    blocks,
    contraction,
    elementwise,
    indexing,
    layout,
    movement,
    pooling,
    random,
    reduction,
    resize,
    sampling,
    sorting,
    winograd,
)
from nn_opt.conversion.to_tensor.body import Array
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.scalar import storage
from nn_opt.dialects import graph, tensor
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.resources import resource_of
from nn_opt.ir.rewriting import carry_location
from nn_opt.ir.sidecar import let_go
from nn_opt.ir.target import target_around
from nn_opt.ir.types import element_type, is_static, numpy_dtype, shape_of, tensor_type

Converter = Callable[[Lowering, Any], Array]

CONVERTERS: dict[str, Converter] = {
    **blocks.CONVERTERS,
    **contraction.CONVERTERS,
    **elementwise.CONVERTERS,
    **indexing.CONVERTERS,
    **layout.CONVERTERS,
    **movement.CONVERTERS,
    **pooling.CONVERTERS,
    **reduction.CONVERTERS,
    **resize.CONVERTERS,
    **random.CONVERTERS,
    **sampling.CONVERTERS,
    **sorting.CONVERTERS,
    **winograd.CONVERTERS,
}


def lowered_type(type_: Attribute) -> Attribute:
    """Return a tensor type with elements as they are stored; any other type stays."""
    if isa(type_, TensorType):
        return tensor_type(shape_of(type_), storage(element_type(type_)))
    return type_


def convert_function(function: func.FuncOp) -> None:
    """Rebuild a function's type and body; an entry function keeps its dtypes as attributes."""
    types = function.function_type
    entry = not function.is_declaration and "kernel" not in function.attributes
    if entry and "arg_dtypes" not in function.attributes:  # which a second run would lose
        function.attributes["arg_dtypes"] = dtype_names(types.inputs.data)
        function.attributes["result_dtypes"] = dtype_names(types.outputs.data)
    function.function_type = FunctionType.from_lists(
        [lowered_type(type_) for type_ in types.inputs],
        [lowered_type(type_) for type_ in types.outputs],
    )
    if function.is_declaration:
        return
    old = function.body.detach_block(0)
    new = lowered_block(old)
    values = dict[SSAValue, SSAValue](zip(old.args, new.args, strict=True))
    k = Lowering(values, parallel=target_around(function).gpu is not None)
    fill(k, old, new)
    discard(old)
    erase_unread_constants(new)
    function.body.add_block(new)


def dtype_names(types: Sequence[Attribute]) -> ArrayAttr[StringAttr]:
    """Return the NumPy names of the element types, which the types below the graph lack."""
    return ArrayAttr(StringAttr(numpy_dtype(element_type(type_)).name) for type_ in types)


def lowered_block(old: Block) -> Block:
    """Return an empty block with the arguments of `old`, as they are stored."""
    new = Block(arg_types=[lowered_type(argument.type) for argument in old.args])
    for argument, before in zip(new.args, old.args, strict=True):
        argument.name_hint = before.name_hint
    return new


def fill(k: Lowering, old: Block, new: Block) -> None:
    """Add to `new` what each op of `old` becomes; what is not of the graph is copied."""
    for op in old.ops:
        if type(op) not in STRUCTURE and op.name not in CONVERTERS:
            new.add_op(op.clone(k.values))  # graph ops too, for the legality check
            continue
        inner = Block()
        with ImplicitBuilder(inner):
            results = _convert(k, op)
        for before, after in zip(op.results, results, strict=True):
            k.values[before] = after
            after.name_hint = after.name_hint or before.name_hint
        made = list(inner.ops)
        for new_op in made:
            new_op.detach()
        carry_location(op.location, made)
        new.add_ops(made)


def discard(old: Block) -> None:
    """Drop the ops of a block that nothing reads any more."""
    for op in list(old.ops):
        op.drop_all_references()
    let_go(old.ops)
    old.erase(safe_erase=False)


def erase_unread_constants(block: Block) -> None:
    """Erase constants whose numbers went into formulas, such as a known exponent."""
    for op in list(block.ops):
        if isinstance(op, tensor.ConstantOp) and not op.result.uses:
            block.erase_op(op)


def _convert(k: Lowering, op: Operation) -> Sequence[SSAValue]:
    rule = STRUCTURE.get(type(op))
    if rule is not None:
        return rule(k, op)
    _check(op)
    return [CONVERTERS[op.name](k, op).value]


def _check(op: Operation) -> None:
    for value in (*op.operands, *op.results):
        if not is_static(value):
            problem = f"a size of {value.type} is unknown, and formulas need all of them"
            raise PassFailedException(
                complaint(op, problem, hint="give sizes, then run --infer-shapes")
            )


def convert_constant(k: Lowering, op: graph.ConstantOp) -> Sequence[SSAValue]:
    """The same bytes; unsigned integers are seen as signed ones."""
    array, type_ = op.array(), lowered_type(op.result.type)
    dtype = numpy_dtype(element_type(type_))
    value = op.value if array.dtype == dtype else resource_of(signless(array, dtype))
    return [tensor.ConstantOp(value, type_).result]


def signless(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Return the same bytes as the dtype that integers have below the graph."""
    return np.ascontiguousarray(array).view(dtype).reshape(array.shape)


def convert_scan(k: Lowering, op: graph.ScanOp) -> Sequence[SSAValue]:
    """graph.scan  ->  tensor.scan, its body converted"""
    old = op.body.block
    new = lowered_block(old)
    k.values.update(zip(old.args, new.args, strict=True))
    fill(k, old, new)
    scan = tensor.ScanOp(
        [k.values[value] for value in op.inputs],
        Region(new),
        [lowered_type(result.type) for result in op.outputs],
        num_states=op.states,
        reverse=op.reverse is not None,
    )
    return scan.outputs


def convert_fused(k: Lowering, op: graph.FusedOp) -> Sequence[SSAValue]:
    problem = "is still a region here, expected a call of a kernel"
    raise PassFailedException(complaint(op, problem, hint="run --outline-kernels before"))


def convert_yield(k: Lowering, op: graph.YieldOp) -> Sequence[SSAValue]:
    tensor.YieldOp(*(k.values[value] for value in op.values))
    return []


def convert_call(k: Lowering, op: func.CallOp) -> Sequence[SSAValue]:
    """The same call, types lowered."""
    types = [lowered_type(result.type) for result in op.results]
    call = func.CallOp(op.callee, [k.values[value] for value in op.arguments], types)
    call.attributes |= op.attributes
    return call.results


STRUCTURE: dict[type[Operation], Callable[[Lowering, Any], Sequence[SSAValue]]] = {
    graph.ConstantOp: convert_constant,
    graph.ScanOp: convert_scan,
    graph.FusedOp: convert_fused,
    graph.YieldOp: convert_yield,
    func.CallOp: convert_call,
}
