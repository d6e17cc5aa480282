"""What the tensor dialect means: every formula on whole grids of indices, in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AnyFloat
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Attribute, Region, SSAValue

from nn_opt.dialects import tensor
from nn_opt.ir.literals import Scalar, scalar_value
from nn_opt.ir.resources import Array, array_of
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.reference.tensor_grids import Box, boxes, evaluate_index, extents, grids
from nn_opt.reference.tensor_products import contracted, outer_boxes, product_of

REDUCE: dict[str, Callable[..., Any]] = {
    "add": np.add.reduce,
    "mul": np.multiply.reduce,
    "max": np.maximum.reduce,
    "min": np.minimum.reduce,
    "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce,
}
COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
}


def accumulator_dtype(combiner: str, element: Attribute) -> np.dtype[Any]:
    """Return the type that a `fast` reduction runs in: wider than the result's for float sums."""
    if isinstance(element, AnyFloat) and combiner in ("add", "mul"):
        return np.dtype(np.float64)
    return numpy_dtype(element)


@register_impls
class TensorFunctions(InterpreterFunctions):
    """Formulas, views, constants and recurrences."""

    @impl(tensor.ComputeOp)
    def run_compute(
        self, interpreter: Interpreter, op: tensor.ComputeOp, args: PythonValues
    ) -> PythonValues:
        with np.errstate(all="ignore"):
            if op.combiner is None:
                return _elementwise(interpreter, op)
            assert op.order is not None
            if op.combiner.data == "custom" or op.order.data == "ordered":
                return _in_order(interpreter, op)
            return _reduced(interpreter, op)

    @impl(tensor.ReadOp)
    def run_read(
        self, interpreter: Interpreter, op: tensor.ReadOp, args: PythonValues
    ) -> PythonValues:
        source, indices = args[0], args[1:]
        at = [evaluate_index(expr, indices) for expr in op.map.data.results]
        if op.default is None:
            return (source[tuple(at)],)
        inside = np.bool_(True)
        for index, size in zip(at, source.shape, strict=True):
            inside = inside & (index >= 0) & (index < size)
        default = np.asarray(scalar_value(op.default)).astype(source.dtype)
        if source.size == 0:
            return (np.where(inside, default, default),)
        safe = [np.clip(index, 0, n - 1) for index, n in zip(at, source.shape, strict=True)]
        return (np.where(inside, source[tuple(safe)], default),)

    @impl_terminator(tensor.YieldOp)
    def run_yield(
        self, interpreter: Interpreter, op: tensor.YieldOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()

    @impl(tensor.ConstantOp)
    def run_constant(
        self, interpreter: Interpreter, op: tensor.ConstantOp, args: PythonValues
    ) -> PythonValues:
        return (array_of(op.value, op.result.type),)

    @impl(tensor.ViewOp)
    def run_view(
        self, interpreter: Interpreter, op: tensor.ViewOp, args: PythonValues
    ) -> PythonValues:
        return (args[0].reshape(shape_of(op.result)),)

    @impl(tensor.JoinOp)
    def run_join(
        self, interpreter: Interpreter, op: tensor.JoinOp, args: PythonValues
    ) -> PythonValues:
        joined = np.concatenate([part.reshape(-1) for part in args])
        return (joined.reshape(shape_of(op.result)),)

    @impl(tensor.ScanOp)
    def run_scan(
        self, interpreter: Interpreter, op: tensor.ScanOp, args: PythonValues
    ) -> PythonValues:
        states, scanned = args[: op.states], args[op.states :]
        outputs = [_empty(result) for result in op.outputs[op.states :]]
        steps = range(len([*scanned, *outputs][0]))
        for step in reversed(steps) if op.reverse else steps:
            slices = (array[step] for array in scanned)
            yielded = interpreter.run_ssacfg_region(op.body, (*states, *slices), op.name)
            states = yielded[: op.states]
            for output, value in zip(outputs, yielded[op.states :], strict=True):
                output[step] = value
        return (*states, *outputs)


def _empty(value: SSAValue) -> Array:
    return np.empty(shape_of(value), numpy_dtype(element_type(value)))


def _body(interpreter: Interpreter, body: Region, box: Box) -> list[Array]:
    """Return what the body yields at every point of a box."""
    yielded = interpreter.run_ssacfg_region(body, tuple(grids(box)), "tensor.compute")
    return [np.broadcast_to(value, extents(box)) for value in yielded]


def _elementwise(interpreter: Interpreter, op: tensor.ComputeOp) -> PythonValues:
    results = [_empty(result) for result in op.result]
    places = results
    if op.stacked:
        places = [results[0][(*at, ...)] for at in np.ndindex(op.stacked)]
    for box in boxes(op.axis_sizes):
        for place, value in zip(places, _body(interpreter, op.body, box), strict=True):
            place[box] = value
    return tuple(results)


def _starts(op: tensor.ComputeOp) -> list[Scalar]:
    if op.init is not None:
        return [scalar_value(attr) for attr in op.init]
    assert op.combiner is not None
    return [tensor.identity_of(op.combiner.data, element_type(result)) for result in op.result]


def _reduced(interpreter: Interpreter, op: tensor.ComputeOp) -> PythonValues:
    """Reduce in any order; float sums and products run in float64 and are rounded once."""
    assert op.combiner is not None
    word, rank = op.combiner.data, op.rank
    dtypes = [accumulator_dtype(word, element_type(result)) for result in op.result]
    totals = [
        np.full(shape_of(result), start).astype(dtype)
        for result, start, dtype in zip(op.result, _starts(op), dtypes, strict=True)
    ]
    product = product_of(op)
    for box in boxes(op.axis_sizes) if product is None else outer_boxes(op):
        if product is not None:
            partials = [contracted(interpreter, op, product, box)]
        else:
            values = _body(interpreter, op.body, box)
            axes = tuple(range(rank, len(box)))
            partials = [
                REDUCE[word](value, axis=axes, dtype=dtype)
                for value, dtype in zip(values, dtypes, strict=True)
            ]
        for total, partial in zip(totals, partials, strict=True):
            total[box[:rank]] = COMBINE[word](total[box[:rank]], partial)
    return tuple(
        total.astype(numpy_dtype(element_type(result)))
        for total, result in zip(totals, op.result, strict=True)
    )


def _in_order(interpreter: Interpreter, op: tensor.ComputeOp) -> PythonValues:
    """Combine point by point along the reduced axes, in the results' own types."""
    rank, results = op.rank, [_empty(result) for result in op.result]
    for result, start in zip(results, _starts(op), strict=True):
        result[...] = np.asarray(start).astype(result.dtype)
    for box in boxes(op.axis_sizes):
        values = _body(interpreter, op.body, box)
        held = [result[box[:rank]] for result in results]
        for point in np.ndindex(extents(box)[rank:]):
            at = (..., *point)
            held = _combined(interpreter, op, held, [value[at] for value in values])
        for result, value in zip(results, held, strict=True):
            result[box[:rank]] = value
    return tuple(results)


def _combined(
    interpreter: Interpreter, op: tensor.ComputeOp, held: list[Array], new: list[Array]
) -> list[Array]:
    if op.combine is not None:
        return list(interpreter.run_ssacfg_region(op.combine, (*held, *new), "combine"))
    assert op.combiner is not None
    rule = COMBINE[op.combiner.data]
    return [rule(old, value).astype(old.dtype) for old, value in zip(held, new, strict=True)]


FUNCTIONS: list[type[InterpreterFunctions]] = [TensorFunctions]
