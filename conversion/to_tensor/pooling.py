"""Windows reduced to one element: maximum, average, norm."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i1
from xdsl.ir.affine import AffineExpr

from nn_opt.conversion.to_tensor.body import Array, Body, Index
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.reduction import accumulator
from nn_opt.conversion.to_tensor.scalar import Scalar, is_unsigned, working
from nn_opt.dialects import graph
from nn_opt.dialects.tensor import identity_of
from nn_opt.ir.types import shape_of


def convert_pool(k: Lowering, op: graph.PoolOp) -> Array:
    """max: one stage; average: a sum, then / count; lp: a sum of powers, then a root."""
    return KINDS[op.kind.data](k, op, k.array(op.x))


def _windowed(op: graph.PoolOp, b: Body) -> list[Index]:
    """Return where the window's element lies in x: n, c, the spatial axes, the channel block."""
    spatial = len(b.red)
    n, c, *rest = b.par
    places = [_start(op, at, rest[at]) + b.red[at] * _dilation(op, at) for at in range(spatial)]
    return [n, c, *places, *rest[spatial:]]


def _start(op: graph.PoolOp, at: int, place: AffineExpr) -> AffineExpr:
    return place * op.strides.get_values()[at] + -op.pads.get_values()[at]


def _dilation(op: graph.PoolOp, at: int) -> int:
    return op.dilations.get_values()[at]


def _max(k: Lowering, op: graph.PoolOp, x: Array) -> Array:
    low = 0 if is_unsigned(x.dtype) else identity_of("max", x.dtype)
    wide = working(x.dtype)  # half floats become single ones and back, which loses nothing
    largest = k.compute(
        "pool",
        shape_of(op.result),
        wide,
        lambda b: b.read(x, _windowed(op, b), low).cast(wide),
        reduce=op.kernel.get_values(),
        combiner="or" if x.dtype == i1 else "max",
    )
    if wide == x.dtype:
        return largest
    return k.compute("pool.round", largest.shape, x.dtype, lambda b: b.read(largest, b.par))


def _average(k: Lowering, op: graph.PoolOp, x: Array) -> Array:
    kernel = op.kernel.get_values()
    total = k.compute(
        "pool.sum",
        shape_of(op.result),
        accumulator(x.dtype, "add"),
        lambda b: b.read(x, _windowed(op, b), 0),
        reduce=op.kernel.get_values(),
        combiner="add",
    )

    def formula(b: Body) -> Scalar:
        value = b.read(total, b.par)
        counts = [_counted(op, x, b, at) for at in partial]
        if not counts:
            return value / full
        count = counts[0] * full
        for other in counts[1:]:
            count = count * other
        return value / count.cast(value.type)

    partial = [at for at in range(len(kernel)) if not _always_full(op, x, at)]
    full = math.prod(size for at, size in enumerate(kernel) if at not in partial)
    return k.compute("pool", total.shape, x.dtype, formula)


def _counted_span(op: graph.PoolOp, x: Array, at: int) -> tuple[int, int]:
    """Return the first index that an average counts along a spatial axis, and one past the last."""
    pads, rank = op.pads.get_values(), len(op.kernel.get_values())
    size = x.shape[2 + at]
    return (-pads[at], size + pads[at + rank]) if op.count_include_pad else (0, size)


def _always_full(op: graph.PoolOp, x: Array, at: int) -> bool:
    low, high = _counted_span(op, x, at)
    last_place = shape_of(op.result)[2 + at] - 1
    start = -op.pads.get_values()[at]
    reach = (op.kernel.get_values()[at] - 1) * _dilation(op, at)
    return low <= start and start + last_place * op.strides.get_values()[at] + reach < high


def _counted(op: graph.PoolOp, x: Array, b: Body, at: int) -> Scalar:
    """Return how many of the window's elements along an axis lie in the counted span."""
    low, high = _counted_span(op, x, at)
    start, step = _start(op, at, b.par[2 + at]), _dilation(op, at)
    end = b.index((start * -1 + (high - 1)) // step + 1).minimum(op.kernel.get_values()[at])
    begin = b.index((start * -1 + (low + step - 1)) // step).maximum(0)
    return end - begin


def _lp(k: Lowering, op: graph.PoolOp, x: Array) -> Array:
    assert op.p is not None
    p = op.p.value.data
    total = k.compute(
        "pool.sum",
        shape_of(op.result),
        accumulator(x.dtype, "add"),
        lambda b: _power(abs(b.read(x, _windowed(op, b), 0)), p),
        reduce=op.kernel.get_values(),
        combiner="add",
    )

    def formula(b: Body) -> Scalar:
        value = b.read(total, b.par)
        return value.call("sqrt") if p == 2 else value if p == 1 else value.power(1 / p)

    return k.compute("pool", total.shape, x.dtype, formula)


def _power(x: Scalar, p: int) -> Scalar:
    if p > 4:
        return x.power(p)
    result = x
    for _ in range(p - 1):
        result = result * x
    return result


KINDS = {"max": _max, "average": _average, "lp": _lp}
CONVERTERS = {"graph.pool": convert_pool}
