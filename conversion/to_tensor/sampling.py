"""Images read at places that are data: samples of a grid, and regions cut in bins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

from xdsl.dialects.builtin import AnyFloat, Float64Type, IntegerType
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr

from nn_opt.conversion.to_tensor.body import Array, Body, Index
from nn_opt.conversion.to_tensor.lowering import Lowering
from nn_opt.conversion.to_tensor.movement import transpose
from nn_opt.conversion.to_tensor.reduction import accumulator
from nn_opt.conversion.to_tensor.scalar import F32, F64, INDEX, Scalar, constant, working
from nn_opt.dialects import graph
from nn_opt.ir.types import element_type, shape_of

I32 = IntegerType(32)
CUBIC = -0.75  # the kernel's parameter, as everywhere
MANY = 8  # channels that go side by side
FAR = 1 << 24  # elements: what lies farther outside is not told apart


@dataclass(frozen=True)
class Tap:
    """An element that a sample needs along one axis: where, whether it counts, how much."""

    index: Scalar
    counts: Scalar | None
    weight: Scalar | None


def convert_grid_sample(k: Lowering, op: graph.GridSampleOp) -> Array:
    """Places in elements; which elements are near, and how much each counts; their sum for all
    channels, or the nearest one alone.

    Many channels go side by side in vectors, for which the image and the result are transposed.
    """
    x, grid = k.array(op.x), k.array(op.grid)
    spatial, last = x.shape[2:], grid.rank - 1
    nearest = op.mode.data == "nearest"
    dtype = _computed_in(grid.dtype) if nearest else _computed_in(x.dtype, grid.dtype)

    def place(b: Body) -> Scalar:
        value = b.read(grid, b.par).cast(dtype)
        if op.pixels is None:
            value = _in_elements(op, b, value, b.par[last], spatial)
        return value.maximum(-FAR).minimum(FAR)

    places = k.compute("grid.places", grid.shape, dtype, place)

    tables = [_tables(k, op, places, axis, size) for axis, size in enumerate(spatial)]

    def corners(b: Body, at: Sequence[AffineExpr]) -> list[tuple[Tap, ...]]:
        return list(product(*(table.taps(b, at) for table in tables)))

    def formula(b: Body) -> Scalar:
        n, c, *at = b.par
        return _sum(_term(b, x, [n, c], corner, dtype) for corner in corners(b, [n, *at]))

    shape = shape_of(op.result)
    if k.parallel or shape[1] < MANY:
        return k.compute("grid_sample", shape, x.dtype, formula)
    turned = transpose(k, x, [0, *range(2, x.rank), 1])

    def of_channels(b: Body) -> Scalar:
        n, *at, c = b.par
        return _sum(_term(b, turned, [n], corner, dtype, [c]) for corner in corners(b, [n, *at]))

    sizes = [shape[0], *shape[2:], shape[1]]
    sampled = k.compute("grid.sampled", sizes, x.dtype, of_channels)
    return k.compute(
        "grid_sample",
        shape,
        x.dtype,
        lambda b: b.element(sampled, [b.par[0], *b.par[2:], b.par[1]]),
    )


def _sum(terms: Iterable[Scalar]) -> Scalar:
    return reduce(Scalar.__add__, terms)


@dataclass(frozen=True)
class Tables:
    """The taps of all samples along one axis, [taps, images, *places]: indices and weights, if
    there are any. With `gaps`, indices are -1 where nothing counts.
    """

    indices: Array
    weights: Array | None
    gaps: bool

    def taps(self, b: Body, at: Sequence[AffineExpr]) -> list[Tap]:
        """Return the taps of a place."""
        found: list[Tap] = []
        for tap in range(self.indices.shape[0]):
            index = b.element(self.indices, [tap, *at])
            weight = None if self.weights is None else b.element(self.weights, [tap, *at])
            counts = index.compare("ge", 0) if self.gaps else None
            valid = index.maximum(0) if self.gaps else index
            found.append(Tap(valid.cast(INDEX), counts, weight))
        return found


def _tables(k: Lowering, op: graph.GridSampleOp, places: Array, axis: int, size: int) -> Tables:
    shape, spatial = places.shape[:-1], places.shape[-1]
    count = {"nearest": 1, "linear": 2, "cubic": 4}[op.mode.data]

    def taps(b: Body) -> list[Tap]:
        return _taps(op, b.read(places, [*b.par, spatial - 1 - axis]), size)

    def index(tap: Tap) -> Scalar:
        return tap.index if tap.counts is None else tap.counts.select(tap.index, -1)

    def weights(b: Body) -> list[Scalar]:
        return [tap.weight for tap in taps(b) if tap.weight is not None]

    indices = k.stack("grid.indices", [count], shape, I32, lambda b: [index(t) for t in taps(b)])
    gaps = op.padding.data == "zeros"
    if count == 1:
        return Tables(indices, None, gaps)
    return Tables(indices, k.stack("grid.weights", [count], shape, places.dtype, weights), gaps)


def _computed_in(*dtypes: Attribute) -> Attribute:
    """Return f32, or f64 for what that does not hold."""
    exact = [isinstance(t, AnyFloat) and not isinstance(t, Float64Type) for t in dtypes]
    return F32 if all(exact) else F64


def _in_elements(
    op: graph.GridSampleOp, b: Body, value: Scalar, axis: AffineExpr, spatial: Sequence[int]
) -> Scalar:
    """Return a place from -1 to 1 in elements of its axis, of which the grid names the last first.

    With `align_corners` (v + 1) / 2 * (size - 1), else ((v + 1) * size - 1) / 2.
    """
    aligned = op.align_corners is not None
    scaled = [(value + 1) / 2 * (s - 1) if aligned else ((value + 1) * s - 1) / 2 for s in spatial]
    result = scaled[0]
    for other, choice in enumerate(scaled[1:], 1):
        here = b.index(axis).compare("eq", len(spatial) - 1 - other)
        result = here.select(choice, result)
    return result


def _taps(op: graph.GridSampleOp, place: Scalar, size: int) -> list[Tap]:
    if op.mode.data == "nearest":
        weights, first = [None], place.call("roundeven")
    else:
        first = place.call("floor")
        part = place - first
        weights = [1 - part, part] if op.mode.data == "linear" else _cubic(part)
    start = first.cast(I32) - (len(weights) == 4)
    return [_tap(op, start + at, weight, size) for at, weight in enumerate(weights)]


def _cubic(part: Scalar) -> list[Scalar | None]:
    """Return the weights of the elements 1 before to 2 behind. Source: Keys, 1981."""
    a, rest = CUBIC, 1 - part

    def near(x: Scalar) -> Scalar:
        return (x * (a + 2) - (a + 3)) * x * x + 1

    def far(x: Scalar) -> Scalar:
        return ((x * a - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(part + 1), near(part), near(rest), far(rest + 1)]


def _tap(op: graph.GridSampleOp, index: Scalar, weight: Scalar | None, size: int) -> Tap:
    """Return a tap whose index is valid, whatever the place was."""
    counts = None
    if op.padding.data == "zeros":
        counts = index.compare("ge", 0) & index.compare("lt", size)
    elif op.padding.data == "reflection":
        index = _reflected(index, size, on_element=op.align_corners is not None)
    return Tap(index.maximum(0).minimum(size - 1), counts, weight)


def _reflected(index: Scalar, size: int, *, on_element: bool) -> Scalar:
    """Return the index mirrored at the first and last elements, or at their outer edges."""
    period = 2 * (size - 1) if on_element else 2 * size
    if not period:
        return index
    phase = index.binary("rem", period)
    phase = phase.compare("lt", 0).select(phase + period, phase)
    return phase.minimum((period if on_element else period - 1) - phase)


def _term(
    b: Body,
    x: Array,
    outer: Sequence[Index],
    corner: Sequence[Tap],
    dtype: Attribute,
    inner: Sequence[Index] = (),
) -> Scalar:
    """Return one element times its weights; as it is stored if it has none."""
    value = b.element(x, [*outer, *(tap.index for tap in corner), *inner])
    weights = [tap.weight for tap in corner if tap.weight is not None]
    if weights:
        value = value.cast(working(x.dtype)).cast(dtype) * reduce(Scalar.__mul__, weights)
    counted = [tap.counts for tap in corner if tap.counts is not None]
    return reduce(Scalar.__and__, counted).select(value, 0) if counted else value


def convert_roi_align(k: Lowering, op: graph.RoiAlignOp) -> Array:
    """Where the samples of all regions lie along each axis, and how many; then each bin's."""
    x, batch = k.array(op.x), k.array(op.batch)
    samples = op.samples.value.data
    dtype = _computed_in(x.dtype, element_type(op.rois))
    counts = [_counts(k, op, axis, dtype) for axis in (0, 1)]
    places = [_places(k, op, axis, dtype, counts[axis]) for axis in (0, 1)]
    maximum = op.mode.data == "max"

    def sample(b: Body) -> Scalar:
        r, c, p, q = b.par
        own = [b.element(places[0], [r, p, b.red[0]]), b.element(places[1], [r, q, b.red[1]])]
        image = b.element(batch, [r]).cast(INDEX).maximum(0).minimum(x.shape[0] - 1)
        taps = [_edge_taps(place, size) for place, size in zip(own, x.shape[2:], strict=True)]
        corners = product(*taps)
        terms = [_term(b, x, [image, c], corner, dtype) for corner in corners]
        value = reduce(Scalar.maximum if maximum else Scalar.__add__, terms)
        value = _is_sample(own, "gt", OUTSIDE).select(value, 0)
        if maximum:
            value = _is_sample(own, "gt", MISSING).select(value, float("-inf"))
        return value

    shape = shape_of(op.result)
    total = k.compute(
        "roi.samples",
        shape,
        accumulator(dtype, "add"),
        sample,
        reduce=[samples, samples],
        combiner="max" if maximum else "add",
    )

    def finish(b: Body) -> Scalar:
        value = b.read(total, b.par)
        number = b.read(counts[0], [b.par[0]]) * b.read(counts[1], [b.par[0]])
        if maximum:
            return number.compare("gt", 0).select(value, 0)
        return value / number.maximum(1)

    return k.compute("roi_align", shape, x.dtype, finish)


OUTSIDE, MISSING = -1, -2  # places of samples outside of the image, and of those that are not


def _is_sample(places: Sequence[Scalar], word: str, limit: int) -> Scalar:
    return places[0].compare(word, limit) & places[1].compare(word, limit)


def _span(
    b: Body, op: graph.RoiAlignOp, rois: Array, axis: int, dtype: Attribute
) -> tuple[Scalar, Scalar]:
    """Return where a region starts along an axis, and its extent, in elements."""
    r = b.par[0]
    scale, shift = op.scale.value.data, 0.5 if op.half_pixel is not None else 0.0
    start, end = (
        b.read(rois, [r, side]).cast(dtype) * scale - shift for side in (1 - axis, 3 - axis)
    )
    extent = end - start
    return start, extent if op.half_pixel is not None else extent.maximum(1)


def _counts(k: Lowering, op: graph.RoiAlignOp, axis: int, dtype: Attribute) -> Array:
    """Return how many samples along an axis the bins of each region take."""
    rois, most = k.array(op.rois), op.samples.value.data
    bins = op.sizes.get_values()[axis]

    def formula(b: Body) -> Scalar:
        if op.adaptive is None:
            return constant(most, dtype)
        _, extent = _span(b, op, rois, axis, dtype)
        return (extent / bins).call("ceil").maximum(0).minimum(most)

    return k.compute("roi.counts", rois.shape[:1], dtype, formula)


def _places(k: Lowering, op: graph.RoiAlignOp, axis: int, dtype: Attribute, counts: Array) -> Array:
    """Return the places [R, bins, samples] within the image, or why there is none."""
    rois, size = k.array(op.rois), shape_of(op.x)[2 + axis]
    bins = op.sizes.get_values()[axis]

    def formula(b: Body) -> Scalar:
        start, extent = _span(b, op, rois, axis, dtype)
        r, at, sample = b.par
        count, width = b.read(counts, [r]), extent / bins
        number = b.index(sample).cast(dtype)
        part = (number + 0.5) * width / count
        place = start + b.index(at).cast(dtype) * width + part
        inside = place.compare("ge", -1) & place.compare("le", size)
        place = inside.select(place.maximum(0).minimum(size - 1), OUTSIDE)
        return number.compare("lt", count).select(place, MISSING)

    return k.compute("roi.places", [rois.shape[0], bins, op.samples.value.data], dtype, formula)


def _edge_taps(place: Scalar, size: int) -> list[Tap]:
    """Return the neighbours of a place within the image; the last element is its own neighbour."""
    low = place.maximum(0).call("floor")
    part, index = place - low, low.cast(I32)
    after = (index + 1).minimum(size - 1)
    return [Tap(index.cast(INDEX), None, 1 - part), Tap(after.cast(INDEX), None, part)]


CONVERTERS = {
    "graph.grid_sample": convert_grid_sample,
    "graph.roi_align": convert_roi_align,
}
