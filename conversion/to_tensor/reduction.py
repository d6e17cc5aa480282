"""Reductions: sums and extremes along axes, softmax, positions of extremes, running sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, Block, Region
from xdsl.ir.affine import AffineExpr

from nn_opt.conversion.to_tensor.body import Array, Body, Index
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.movement import transpose
from nn_opt.conversion.to_tensor.parallel import RUNNING, position_of, running_total
from nn_opt.conversion.to_tensor.scalar import (
    F64,
    I64,
    Scalar,
    constant,
    is_unsigned,
    storage,
    width,
    working,
)
from nn_opt.dialects import graph, tensor
from nn_opt.dialects.tensor import identity_of
from nn_opt.ir.types import shape_of, tensor_type

Step = Callable[[Scalar], Scalar]


def _same(x: Scalar) -> Scalar:
    return x


# kind: combiner, what is combined of each element, what is done to the total
KINDS: dict[str, tuple[str, Step, Step]] = {
    "sum": ("add", _same, _same),
    "mean": ("add", _same, _same),
    "max": ("max", _same, _same),
    "min": ("min", _same, _same),
    "prod": ("mul", _same, _same),
    "l1": ("add", abs, _same),
    "l2": ("add", lambda x: x * x, lambda x: _real(x, "sqrt")),
    "log_sum": ("add", _same, lambda x: _real(x, "log")),
    "sum_square": ("add", lambda x: x * x, _same),
}


def _real(x: Scalar, function: str) -> Scalar:
    """Return a float function of a number of any type."""
    return x.call(function) if x.is_float else x.cast(F64).call(function).cast(x.type)


def convert_reduce(k: Lowering, op: graph.ReduceOp) -> Array:
    """One stage that combines, and one that finishes where the kind or the type asks for it."""
    x = k.array(op.x)
    axes = normal_axes(op.axes.get_values(), x.rank)
    shape = shape_of(op.result)
    if op.kind.data == "log_sum_exp":
        return _with_axes(k, _log_sum_exp(k, x, axes), shape, axes)
    combiner, before, after = KINDS[op.kind.data]
    keepdims = len(shape) == x.rank
    dtype = _wide(x.dtype) if op.kind.data == "mean" else None
    total = reduce_axes(k, op.kind.data, x, axes, combiner, before, keepdims=keepdims, dtype=dtype)
    count = math.prod(x.shape[axis] for axis in axes)

    def finish(b: Body) -> Scalar:
        value = b.read(total, b.par)
        return value / count if op.kind.data == "mean" else after(value)

    if op.kind.data == "mean" or after is not _same or total.dtype != x.dtype:
        total = k.compute(f"{op.kind.data}.end", total.shape, x.dtype, finish)
    return total


def _with_axes(k: Lowering, x: Array, shape: Sequence[int], axes: Sequence[int]) -> Array:
    """Return `x` with the reduced axes back as ones, if `shape` has them; a stage, not a view,
    so that a schedule can inline it.
    """
    if tuple(shape) == x.shape:
        return x
    return k.compute("keepdims", shape, x.dtype, lambda b: b.read(x, _without(b.par, axes)))


def normal_axes(axes: Sequence[int], rank: int) -> list[int]:
    """Return the axes counted from the front, in order."""
    return sorted(axis % rank for axis in axes)


def accumulator(dtype: Attribute, combiner: str) -> Attribute:
    """Return the type that a reduction runs in: half floats are compared and added as single."""
    return dtype if combiner in ("or", "and") else working(dtype)


def _wide(dtype: Attribute) -> Attribute | None:
    """Return the type in which the sum of integers does not wrap, if there is one."""
    return None if isinstance(dtype, AnyFloat) or width(dtype) >= 64 else I64


def reduce_axes(
    k: Lowering,
    word: str,
    x: Array,
    axes: Sequence[int],
    combiner: str,
    before: Step = _same,
    *,
    keepdims: bool = False,
    dtype: Attribute | None = None,
) -> Array:
    """Return `x` combined over `axes`, which the result lacks or, with `keepdims`, has as ones.

    dtype: in which to combine, by default that of `accumulator`.
    """
    kept = [axis for axis in range(x.rank) if axis not in axes]

    def formula(b: Body) -> Scalar:
        par = [b.par[axis] for axis in kept] if keepdims else b.par
        return before(b.read(x, _merge(x.rank, kept, par, axes, b.red)))

    whole = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    return k.compute(
        word,
        whole if keepdims else [x.shape[axis] for axis in kept],
        dtype or accumulator(x.dtype, combiner),
        formula,
        reduce=[x.shape[axis] for axis in axes],
        combiner=combiner,
    )


def _merge(
    rank: int,
    kept: Sequence[int],
    par: Sequence[AffineExpr],
    axes: Sequence[int],
    red: Sequence[AffineExpr],
) -> list[Index]:
    """Return one index a dimension: `par` for those kept, `red` for those reduced."""
    place = dict(zip([*kept, *axes], [*par, *red], strict=True))
    return [place[axis] for axis in range(rank)]


def _without(indices: Sequence[AffineExpr], axes: Sequence[int]) -> list[Index]:
    return [index for axis, index in enumerate(indices) if axis not in axes]


def _log_sum_exp(k: Lowering, x: Array, axes: Sequence[int]) -> Array:
    """log(sum(exp(x - max))) + max, where an infinite max counts as 0; of integers in f64."""
    if not isinstance(x.dtype, AnyFloat):
        real = _as(k, "log_sum_exp.real", x, F64)
        return _as(k, "log_sum_exp.end", _log_sum_exp(k, real, axes), x.dtype)
    top = reduce_axes(k, "log_sum_exp.max", x, axes, "max")
    kept = [axis for axis in range(x.rank) if axis not in axes]

    def shift(b: Body, indices: Sequence[Index]) -> Scalar:
        value = b.read(top, indices)
        return abs(value).compare("lt", math.inf).select(value, 0)

    def formula(b: Body) -> Scalar:
        element = b.read(x, _merge(x.rank, kept, b.par, axes, b.red))
        return (element - shift(b, list(b.par))).call("exp")

    sizes = [x.shape[axis] for axis in axes]
    dtype = working(x.dtype)
    total = k.compute("log_sum_exp.sum", top.shape, dtype, formula, reduce=sizes, combiner="add")
    return k.compute(
        "log_sum_exp",
        top.shape,
        x.dtype,
        lambda b: b.read(total, b.par).call("log") + shift(b, list(b.par)),
    )


def convert_softmax(k: Lowering, op: graph.SoftmaxOp) -> Array:
    """max, exp(x - max), sum, its reciprocal, product."""
    x = k.array(op.x)
    axes = normal_axes([op.axis.value.data], x.rank)
    dtype = working(x.dtype)
    top = reduce_axes(k, "softmax.max", x, axes, "max")

    def exponential(b: Body) -> Scalar:
        distance = b.read(x, b.par) - b.read(top, _without(b.par, axes))
        return distance.call_beside_one("exp")  # the sum is at least exp(0)

    exp = k.compute("softmax.exp", x.shape, dtype, exponential)
    total = reduce_axes(k, "softmax.sum", exp, axes, "add")
    share = k.compute("softmax.share", total.shape, dtype, lambda b: 1 / b.read(total, b.par))
    return k.compute(
        "softmax",
        x.shape,
        x.dtype,
        lambda b: b.read(exp, b.par) * b.read(share, _without(b.par, axes)),
    )


def convert_log_softmax(k: Lowering, op: graph.LogSoftmaxOp) -> Array:
    """max, sum of exp(x - max), its logarithm, (x - max) - log(sum)."""
    x = k.array(op.x)
    axes = normal_axes([op.axis.value.data], x.rank)
    kept = [axis for axis in range(x.rank) if axis not in axes]
    top = reduce_axes(k, "log_softmax.max", x, axes, "max")

    def exponential(b: Body) -> Scalar:
        element = b.read(x, _merge(x.rank, kept, b.par, axes, b.red))
        return (element - b.read(top, b.par)).call_beside_one("exp")  # one of them is exp(0)

    def formula(b: Body) -> Scalar:
        row = _without(b.par, axes)
        return b.read(x, b.par) - b.read(top, row) - b.read(log, row)

    sizes = [x.shape[axis] for axis in axes]
    dtype = working(x.dtype)
    total = k.compute(
        "log_softmax.sum", top.shape, dtype, exponential, reduce=sizes, combiner="add"
    )
    log = k.compute("log_softmax.log", top.shape, dtype, lambda b: b.read(total, b.par).call("log"))
    return k.compute("log_softmax", x.shape, x.dtype, formula)


def convert_arg_reduce(k: Lowering, op: graph.ArgReduceOp) -> Array:
    """Fold (value, position) pairs: a better value wins, or an equal one with `select_last`.

    On a GPU, find the best value, and then where it is.
    """
    x = k.array(op.x)
    axes = normal_axes([op.axis.value.data], x.rank)
    kept = [axis for axis in range(x.rank) if axis not in axes]
    kind, last = op.kind.data, op.select_last is not None
    if k.parallel:
        best = reduce_axes(k, f"{kind}.best", x, axes, kind, keepdims=op.keepdims is not None)
        keepdims = op.keepdims is not None
        return position_of(k, f"arg{kind}", x, best, axes[0], keepdims=keepdims, last=last)
    better = {"max": "ge" if last else "gt", "min": "le" if last else "lt"}[kind]
    dtype = working(x.dtype)

    def formula(b: Body) -> list[Scalar]:
        value = b.read(x, _merge(x.rank, kept, b.par, axes, b.red))
        return [value, b.index(b.red[0]).cast(I64)]

    def combine(best: Sequence[Scalar], new: Sequence[Scalar]) -> list[Scalar]:
        wins = new[0].compare(better, best[0])
        if isinstance(dtype, AnyFloat):  # NaN beats all
            wins = wins | (new[0].is_nan() if last else new[0].is_nan() & ~best[0].is_nan())
        return [wins.select(n, b) for n, b in zip(new, best, strict=True)]

    _, position = k.fold(
        f"arg{kind}",
        [x.shape[axis] for axis in kept],
        [dtype, I64],
        formula,
        reduce=[x.shape[axis] for axis in axes],
        init=[_worst(kind, dtype), 0],
        combine=combine,
    )
    return _with_axes(k, position, shape_of(op.result), axes)


def _worst(kind: str, dtype: Attribute) -> float | int:
    """Return what any element beats; the largest unsigned number has all bits set."""
    if is_unsigned(dtype):
        return 0 if kind == "max" else -1
    return identity_of(kind, dtype)


def convert_running(k: Lowering, op: graph.CumSumOp | graph.CumProdOp) -> Array:
    """A scan along the axis, brought to the front, whose state is the total; on a GPU runs."""
    x = k.array(op.x)
    how, axis = RUNNING[op.name], op.axis.value.data % x.rank
    exclusive, reverse = op.exclusive is not None, op.reverse is not None
    if k.parallel and x.shape[axis]:
        total = running_total(k, x, axis, how, exclusive=exclusive, reverse=reverse)
        return k.compute(f"{how.word}.end", x.shape, x.dtype, lambda b: b.read(total, b.par))
    forth = [axis, *(a for a in range(x.rank) if a != axis)]
    front = transpose(k, x, forth) if axis else x
    row = front.shape[1:]
    dtype = working(x.dtype)
    start = k.compute(f"{how.word}.start", row, dtype, lambda b: constant(how.neutral, dtype))
    scanned = _scanned(k, op, front, start)
    return transpose(k, scanned, [forth.index(a) for a in range(x.rank)]) if axis else scanned


def _scanned(
    k: Lowering, op: graph.CumSumOp | graph.CumProdOp, front: Array, start: Array
) -> Array:
    """Half floats are added as single ones, and what a step shows is rounded."""
    how = RUNNING[op.name]
    row = tensor_type(front.shape[1:], storage(front.dtype))
    state_type = tensor_type(front.shape[1:], storage(start.dtype))
    block = Block(arg_types=[state_type, row])
    with ImplicitBuilder(block) as arguments:
        state, element = Array(arguments[0], start.dtype), Array(arguments[1], front.dtype)
        total = k.compute(
            how.word,
            row.get_shape(),
            start.dtype,
            lambda b: b.read(state, b.par).binary(how.combiner, b.read(element, b.par)),
        )
        shown = state if op.exclusive is not None else total
        if start.dtype != front.dtype:
            shown = _as(k, f"{how.word}.shown", shown, front.dtype)
        tensor.YieldOp(total.value, shown.value)
    scan = tensor.ScanOp(
        [start.value, front.value],
        Region(block),
        [state_type, front.value.type],
        num_states=1,
        reverse=op.reverse is not None,
    )
    return Array(scan.outputs[1], front.dtype)


def _as(k: Lowering, word: str, x: Array, dtype: Attribute) -> Array:
    return k.compute(word, x.shape, dtype, lambda b: b.read(x, b.par))


CONVERTERS = {
    "graph.reduce": convert_reduce,
    "graph.softmax": convert_softmax,
    "graph.log_softmax": convert_log_softmax,
    "graph.arg_reduce": convert_arg_reduce,
    **dict.fromkeys(RUNNING, convert_running),
}
