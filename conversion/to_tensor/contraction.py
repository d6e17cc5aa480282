"""Sums of products: matmul, convolution and its transpose. The product is all that is summed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from nn_opt.conversion.to_tensor.body import Array, Body, Index
from nn_opt.conversion.to_tensor.layout import logical_indices, physical_indices
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.reduction import accumulator
from nn_opt.conversion.to_tensor.scalar import Scalar
from nn_opt.conversion.to_tensor.winograd import convert_winograd
from nn_opt.dialects import graph
from nn_opt.dialects.graph.layouts import Layout, conv_layouts, parse_layout
from nn_opt.ir.types import element_type, shape_of

SPATIAL = (("p", "r"), ("q", "s"), ("o", "t"))  # a result's axis and a filter's, per dimension


def sum_of_products(
    k: Lowering,
    word: str,
    result: SSAValue,
    reduce: Sequence[int],
    factors: Callable[[Body], tuple[Scalar, Scalar]],
    names: str = "",
) -> Array:
    """Return the sum over `reduce` of the product of two factors; narrow numbers sum widened."""
    dtype = element_type(result)
    wide = accumulator(dtype, "add")

    def product(b: Body) -> Scalar:
        left, right = factors(b)
        return left.cast(wide) * right.cast(wide)

    return k.compute(
        word, shape_of(result), wide, product, reduce=reduce, combiner="add", names=names
    )


def narrowed(k: Lowering, word: str, x: Array, result: SSAValue) -> Array:
    """Return `x` in the result's element type, by a stage if it has another one."""
    dtype = element_type(result)
    if x.dtype == dtype:
        return x
    return k.compute(f"{word}.round", x.shape, dtype, lambda b: b.read(x, b.par))


def convert_matmul(k: Lowering, op: graph.MatmulOp) -> Array:
    """y[.., m, n] = sum over k of a[.., m, k] * b[.., k, n]; a vector lacks its m or n."""
    left, right = k.array(op.a), k.array(op.b)
    layout = None if op.weight_layout is None else parse_layout(op.weight_layout.data)
    rows, columns = left.rank > 1, right.rank > 1
    batch_rank = len(shape_of(op.result)) - rows - columns

    def factors(b: Body) -> tuple[Scalar, Scalar]:
        batch, inner = b.par[:batch_rank], b.red
        m = b.par[batch_rank : batch_rank + rows]
        n = b.par[batch_rank + rows :]
        if layout is None:
            matrix = _batched(right, batch, [*inner, *n])
        else:
            letters = [axis for axis in layout.axes if axis not in "KN"]
            places = dict(zip(letters, _packed_batch(right, letters, batch), strict=True))
            matrix = physical_indices(layout, places | {"K": inner[0], "N": n[0]})
        return b.read(left, _batched(left, batch, [*m, *inner])), b.read(right, matrix)

    batch_names = [f"b{axis}" if axis else "b" for axis in range(batch_rank)]
    names = " ".join([*batch_names, *"m" * rows, *"n" * columns, "k"])
    total = sum_of_products(k, "matmul", op.result, [left.shape[-1]], factors, names)
    return narrowed(k, "matmul", total, op.result)


def _packed_batch(
    source: Array, letters: Sequence[str], batch: Sequence[AffineExpr]
) -> list[AffineExpr]:
    """Return the indices along the first axes of an operand, those of its packed matrices."""
    trailing = batch[len(batch) - len(letters) :]
    sizes = source.shape[: len(letters)]
    zero = AffineExpr.constant(0)
    return [zero if n == 1 else i for n, i in zip(sizes, trailing, strict=True)]


def _batched(
    source: Array, batch: Sequence[AffineExpr], matrix: Sequence[AffineExpr]
) -> list[Index]:
    """Return the indices of an operand: its batch axes broadcast, then those of its matrix."""
    own = source.shape[: source.rank - len(matrix)]
    trailing = batch[len(batch) - len(own) :]
    return [*(0 if n == 1 else i for n, i in zip(own, trailing, strict=True)), *matrix]


def convert_conv(k: Lowering, op: graph.ConvOp) -> Array:
    """y[n, f, p, q] = sum over c, r, s of x[n, c, p + r - pad, q + s - pad] * w[f, c, r, s]."""
    if op.algorithm is not None:
        return convert_winograd(k, op)
    if op.layout is not None and op.weight_layout is not None:
        source, target = map(parse_layout, conv_layouts(op.layout.data))
        weights = parse_layout(op.weight_layout.data)
    else:
        spatial = "DHWXYZ"[: len(shape_of(op.x)) - 2]
        source = target = Layout(f"NC{spatial}", ())
        weights = Layout(f"OI{spatial}", ())
    total = _convolve(k, op, source, target, weights)
    return add_bias(k, "conv", total, op.b, op.result)


def _convolve(
    k: Lowering, op: graph.ConvOp, source: Layout, target: Layout, weights: Layout
) -> Array:
    x, w = k.array(op.x), k.array(op.w)
    filters = dict(zip(weights.axes, w.shape, strict=False))
    kernel = [filters[letter] for letter in weights.axes[2:]]
    per_group = filters["I"] * weights.block_of("I")
    # Padded channels are groups too; none at all are one.
    group = max(x.shape[1] * source.block_of("C") // max(per_group, 1), 1)
    filters_per_group = max(filters["O"] * weights.block_of("O") // group, 1)
    depthwise = group > 1 and per_group == 1
    channels = [] if depthwise else [filters["I"]]
    inner = [] if weights.block_of("I") == 1 else [weights.block_of("I")]

    def factors(b: Body) -> tuple[Scalar, Scalar]:
        logical, red = logical_indices(target, b.par), list(b.red)
        f = logical["C"]
        c = red.pop(0) if channels else AffineExpr.constant(0)
        c = c * inner[0] + red.pop() if inner else c
        image = logical | {"C": f // filters_per_group * per_group + c if group > 1 else c}
        taps = {"O": f, "I": c}
        for at, letter in enumerate(weights.axes[2:]):
            taps[letter] = red[at]
            image[source.axes[2 + at]] = _window(op, at, b.par[2 + at], red[at])
        return (
            b.read(x, physical_indices(source, image), op.padding),
            b.read(w, physical_indices(weights, taps)),
        )

    names = _conv_names(target, len(kernel), bool(channels), bool(inner))
    reduce = [*channels, *kernel, *inner]
    return sum_of_products(k, "conv", op.result, reduce, factors, names)


def _window(op: graph.ConvOp, at: int, place: AffineExpr, tap: AffineExpr) -> AffineExpr:
    stride, dilation = op.strides.get_values()[at], op.dilations.get_values()[at]
    return place * stride + tap * dilation + -op.pads.get_values()[at]


def _conv_names(target: Layout, spatial: int, channels: bool, inner: bool) -> str:
    blocked = bool(target.blocks)
    axes = [SPATIAL[at] if at < 3 else (f"p{at}", f"r{at}") for at in range(spatial)]
    par = ["n", "fo" if blocked else "f", *(p for p, _ in axes), *(["fi"] if blocked else [])]
    outer = (["co"] if inner else ["c"]) if channels else []
    return " ".join([*par, *outer, *(r for _, r in axes), *(["ci"] if inner else [])])


def add_bias(k: Lowering, word: str, x: Array, bias: SSAValue | None, result: SSAValue) -> Array:
    """Return x + bias along axis 1, in the result's element type."""
    if bias is None:
        return narrowed(k, word, x, result)
    b_array = k.array(bias)
    return k.compute(
        "bias",
        x.shape,
        element_type(result),
        lambda b: b.read(x, b.par) + b.read(b_array, [b.par[1]]),
    )


def convert_conv_transpose(k: Lowering, op: graph.ConvTransposeOp) -> Array:
    """y[n, f, p] = sum over c, r of x[n, c, i] * w[c, f, r] where stride * i = p + pad - r.

    Only every stride-th tap reaches a place: those are the axis r, unless there are dilations.
    """
    x, w = k.array(op.x), k.array(op.w)
    group = op.group.value.data
    channels, per_group = x.shape[1] // group, w.shape[1]

    def factors(b: Body) -> tuple[Scalar, Scalar]:
        n, f, *places = b.par
        c, *taps = b.red
        channel = f // per_group * channels + c
        pairs = enumerate(zip(places, taps, strict=True))
        reached = [_reaching(b, op, at, place, tap) for at, (place, tap) in pairs]
        return (
            b.read(x, [n, channel, *(image for image, _ in reached)], 0),
            b.read(w, [channel, f % per_group, *(tap for _, tap in reached)], 0),
        )

    axes = [SPATIAL[at] if at < 3 else (f"p{at}", f"r{at}") for at in range(x.rank - 2)]
    names = " ".join(["n", "f", *(p for p, _ in axes), "c", *(r for _, r in axes)])
    kernel = enumerate(w.shape[2:])
    reduce = [channels, *(-(-size // _tap_step(op, at)) for at, size in kernel)]
    total = sum_of_products(k, "conv_transpose", op.result, reduce, factors, names)
    return add_bias(k, "conv_transpose", total, op.b, op.result)


def _tap_step(op: graph.ConvTransposeOp, at: int) -> int:
    """Return how far apart the taps are that reach one place, as the axis r counts them."""
    return op.strides.get_values()[at] if op.dilations.get_values()[at] == 1 else 1


def _reaching(
    b: Body, op: graph.ConvTransposeOp, at: int, place: AffineExpr, tap: AffineExpr
) -> tuple[Index, Index]:
    """Return the image's index and the filter's that meet at `place`; outside if none do."""
    stride, dilation = op.strides.get_values()[at], op.dilations.get_values()[at]
    padded = place + op.pads.get_values()[at]
    if dilation == 1:
        return padded // stride + tap * -1, padded % stride + tap * stride
    reached = padded + tap * -dilation
    if stride == 1:
        return reached, tap
    exact = b.index(reached % stride).compare("eq", 0)
    return exact.select(b.index(reached // stride), -1), tap


CONVERTERS = {
    "graph.matmul": convert_matmul,
    "graph.conv": convert_conv,
    "graph.conv_transpose": convert_conv_transpose,
}
