"""Graph ops that move elements and compute none: every index an expression of the result's."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import func
from xdsl.ir.affine import AffineExpr

from nn_opt.conversion.to_tensor.body import Array, Body, Index, broadcast_indices
from nn_opt.conversion.to_tensor.elementwise import uniform_value
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.scalar import Number, Scalar
from nn_opt.dialects import graph, tensor
from nn_opt.ir.types import shape_of

ZERO = AffineExpr.constant(0)


def convert_reshape(k: Lowering, op: graph.ReshapeOp) -> Array:
    """Return a view."""
    return k.view(k.array(op.x), shape_of(op.result))


def convert_transpose(k: Lowering, op: graph.TransposeOp) -> Array:
    """Result axis `a` walks axis `perm[a]` of the operand."""
    x = k.array(op.x)
    perm = list(op.perm.get_values())
    return transpose(k, x, perm)


def transpose(k: Lowering, x: Array, perm: Sequence[int]) -> Array:
    """Return `x` with result axis `a` walking axis `perm[a]`."""
    shape = [x.shape[axis] for axis in perm]
    inverse = [perm.index(axis) for axis in range(x.rank)]

    def formula(b: Body) -> Scalar:
        return b.element(x, [b.par[axis] for axis in inverse])

    return k.compute("transpose", shape, x.dtype, formula)


def convert_expand(k: Lowering, op: graph.ExpandOp) -> Array:
    """Read at the trailing axes, 0 along those of size 1."""
    x = k.array(op.x)

    def formula(b: Body) -> Scalar:
        return b.element(x, broadcast_indices(x, b.par))

    return k.compute("expand", shape_of(op.result), x.dtype, formula)


def convert_concat(k: Lowering, op: graph.ConcatOp) -> Array:
    """Select the part by the index along the axis: `i < end ? part[i - start] : the rest`.

    Between kernels, parts that lie one behind the other are joined instead.
    """
    parts = [array for array in map(k.array, op.operands) if 0 not in array.shape]
    shape, axis = shape_of(op.result), op.axis.value.data
    if not parts:
        return empty(k, "concat", shape, k.array(op.inputs[0]))
    axis %= len(shape)
    if is_joined(op, shape[:axis]):
        return Array(tensor.JoinOp([part.value for part in parts], shape).result, parts[0].dtype)
    starts = [sum(part.shape[axis] for part in parts[:n]) for n in range(len(parts))]

    def formula(b: Body) -> Scalar:
        along = b.par[axis]
        reads = [
            b.element(part, [*b.par[:axis], along + -start, *b.par[axis + 1 :]], 0)
            for part, start in zip(parts, starts, strict=True)
        ]
        result = reads.pop()
        for read, end in zip(reversed(reads), reversed(starts), strict=False):
            result = b.index(along).compare("lt", end).select(read, result)
        return result

    return k.compute("concat", shape, parts[0].dtype, formula)


def is_joined(op: graph.ConcatOp, outer: Sequence[int]) -> bool:
    """Return whether the parts lie one behind the other, and a kernel may write one in place."""
    return prod(outer) == 1 and any(isinstance(part.owner, func.CallOp) for part in op.operands)


def empty(k: Lowering, word: str, shape: Sequence[int], like: Array) -> Array:
    """Return a tensor without elements."""
    return k.compute(word, shape, like.dtype, lambda b: b.element(like, [0] * like.rank, 0))


def convert_slice(k: Lowering, op: graph.SliceOp) -> Array:
    """Read at start + step * i."""
    x = k.array(op.x)
    starts = op.starts.get_values()
    steps = op.steps.get_values()

    def formula(b: Body) -> Scalar:
        return b.element(
            x, [i * step + start for i, step, start in zip(b.par, steps, starts, strict=True)]
        )

    return k.compute("slice", shape_of(op.result), x.dtype, formula)


def convert_tile(k: Lowering, op: graph.TileOp) -> Array:
    """Read at i mod n."""
    x = k.array(op.x)

    def formula(b: Body) -> Scalar:
        return b.element(x, [wrapped(i, size) for i, size in zip(b.par, x.shape, strict=True)])

    return k.compute("tile", shape_of(op.result), x.dtype, formula)


def wrapped(index: AffineExpr, size: int) -> AffineExpr:
    """Return index mod size."""
    return index % size if size > 1 else ZERO


def convert_pad(k: Lowering, op: graph.PadOp) -> Array:
    """Read at i - pad; outside is a value, or an index reflected, wrapped or held at the edge."""
    x = k.array(op.x)
    pads = op.pads.get_values()
    before, after = pads[: x.rank], pads[x.rank :]
    shape, mode = shape_of(op.result), op.mode.data
    if mode == "constant":
        return _pad_constant(k, op, x, before)
    if 0 in x.shape:
        return empty(k, "pad", shape, x)
    crops = [max(0, -pad) for pad in before]
    kept = [s - c + min(0, pad) for s, c, pad in zip(x.shape, crops, after, strict=True)]

    def formula(b: Body) -> Scalar:
        axes = zip(b.par, before, kept, crops, strict=True)
        indices = [_inside(b, i + -max(0, pad), size, mode, crop) for i, pad, size, crop in axes]
        return b.element(x, indices)

    return k.compute("pad", shape, x.dtype, formula)


def _pad_constant(k: Lowering, op: graph.PadOp, x: Array, before: Sequence[int]) -> Array:
    known: Number | None = 0 if op.value is None else uniform_value(op.value)

    def formula(b: Body) -> Scalar:
        indices: list[Index] = [i + -pad for i, pad in zip(b.par, before, strict=True)]
        inner = b.element(x, indices, 0 if known is None else known)
        if op.value is None or known is not None:
            return inner
        value = k.array(op.value)
        outer = b.element(value, [0] * value.rank)
        for i, pad, size, end in zip(b.par, before, x.shape, shape, strict=True):
            inner = _select_inside(b, i + -pad, size, (-pad, end - pad - 1), inner, outer)
        return inner

    shape = shape_of(op.result)
    return k.compute("pad", shape, x.dtype, formula)


def _select_inside(
    b: Body, index: AffineExpr, size: int, span: tuple[int, int], inner: Scalar, outer: Scalar
) -> Scalar:
    low, high = span
    if low < 0:
        inner = b.index(index).compare("lt", 0).select(outer, inner)
    if high >= size:
        inner = b.index(index).compare("ge", size).select(outer, inner)
    return inner


def _inside(b: Body, index: AffineExpr, size: int, mode: str, start: int) -> Index:
    """Return the index brought back into 0 .. size - 1 as the mode says, counted from a start."""
    if size == 1:
        return ZERO + start
    if mode == "wrap":
        return index % size + start
    if mode == "edge":
        return _from(b.index(index).maximum(0).minimum(size - 1), start)
    assert mode == "reflect", f"pad mode {mode}"
    period = 2 * (size - 1)
    phase = b.index(index % period)
    return _from(phase.minimum(period - phase), start)


def _from(index: Scalar, start: int) -> Scalar:
    return index + start if start else index


CONVERTERS = {
    "graph.reshape": convert_reshape,
    "graph.transpose": convert_transpose,
    "graph.expand": convert_expand,
    "graph.concat": convert_concat,
    "graph.slice": convert_slice,
    "graph.tile": convert_tile,
    "graph.pad": convert_pad,
}
