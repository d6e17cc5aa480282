"""choose-convolution: Winograd's algorithm where its fewer multiplications save time."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar, Literal

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import Float32Type, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from nn_opt.dialects import graph
from nn_opt.dialects.graph.winograd import ALGORITHMS, FILTER, Winograd
from nn_opt.ir.remarks import remark
from nn_opt.ir.target import target_of
from nn_opt.ir.types import element_type, is_static, shape_of

# One core with 512-bit vectors (Zen 4): dense multiplications, loads and stores of transforms, and
# weights, which a whole network reads from memory each time.
FLOPS_PER_NS = 110.0
TRANSFORM_ELEMENTS_PER_NS = 16.0
WEIGHT_BYTES_PER_NS = 20.0
STEPS_NS = 300.0  # three loop nests instead of one
GAIN = 1.1  # how much faster an algorithm must be: it rounds more and takes more weights
VECTOR_BYTES = 16  # of the narrowest vectors for which transforms pay
FORCED = {"force2": "winograd2", "force4": "winograd4"}


@dataclass(frozen=True)
class ChooseConvolutionPass(ModulePass):
    """conv(x, w)  ->  conv(x, winograd_weights(w)) algorithm "winograd4" or "winograd2".

    For blocked 3 x 3 convolutions of stride 1 by constant f32 weights. With outputs about N(0, 1),
    F(4, 3) is within 5e-5 of the exact result and F(2, 3) within 5e-6, as is a direct sum; whole
    networks stay within 1e-4. An infinite input spoils all results of its tile, not only nine.

    Not for a target with a GPU, where no convolution is blocked, nor by itself for one without
    vectors, such as JavaScript, where transforms cost more than products.

    winograd: "auto" by estimated time, "off", or "force2" and "force4" wherever it is possible.
    Needs: graph, static shapes. Keeps: graph.
    Order: after choose-layout; before fold-constants, which transforms the weights.
    """

    name: ClassVar[str] = "choose-convolution"  # pyright: ignore[reportIncompatibleVariableOverride]

    winograd: Literal["auto", "off", "force2", "force4"] = "auto"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        if self.winograd == "off" or target.gpu is not None:
            return
        if self.winograd == "auto" and target.vector_bytes < VECTOR_BYTES:
            return
        for conv in [inner for inner in op.walk() if isinstance(inner, graph.ConvOp)]:
            if is_possible(conv):
                self.choose(conv)

    def choose(self, conv: graph.ConvOp) -> None:
        """Rewrite one convolution if that pays; say why or why not."""
        direct = direct_ns(conv)
        times = {name: winograd_ns(conv, algorithm) for name, algorithm in ALGORITHMS.items()}
        name = FORCED.get(self.winograd) or min(times, key=lambda key: times[key])
        pays = self.winograd in FORCED or times[name] * GAIN < direct
        numbers = ", ".join(f"{key} {value / 1000:.1f} us" for key, value in times.items())
        verdict = name if pays else "direct"
        remark(conv, self.name, f"{verdict}: direct {direct / 1000:.1f} us, {numbers}")
        if pays:
            rewrite(conv, name)


def is_possible(conv: graph.ConvOp) -> bool:
    """Return whether a convolution is blocked on both sides, 3 x 3, dense and of stride 1."""
    if conv.layout is None or conv.algorithm is not None or not is_static(conv.x):
        return False
    x, w = shape_of(conv.x), shape_of(conv.w)
    unit = {*conv.strides.get_values(), *conv.dilations.get_values(), conv.group.value.data} == {1}
    filters = len(w) == 6 and w[2:4] == (FILTER, FILTER) and len(x) == 5
    return unit and filters and element_type(conv.x) == Float32Type() and is_constant(conv.w)


def is_constant(value: SSAValue) -> bool:
    """Return whether weights are a constant, or the packing of one that is still to be folded."""
    if isinstance(value.owner, graph.LayoutTransformOp):
        return is_constant(value.owner.x)
    return isinstance(value.owner, graph.ConstantOp)


def rewrite(conv: graph.ConvOp, name: str) -> None:
    """Give a convolution an algorithm and the weights for it."""
    assert conv.layout is not None
    assert conv.weight_layout is not None
    builder = Builder(InsertPoint.before(conv))
    weights = builder.insert(graph.WinogradWeightsOp(conv.w, tile=ALGORITHMS[name].tile))
    new = graph.ConvOp(
        conv.x,
        weights.result,
        strides=conv.strides.get_values(),
        pads=conv.pads.get_values(),
        dilations=conv.dilations.get_values(),
        group=conv.group.value.data,
        layout=conv.layout.data,
        weight_layout=conv.weight_layout.data,
        algorithm=name,
    )
    weights.location = new.location = conv.location
    Rewriter.replace_op(conv, new)


def direct_ns(conv: graph.ConvOp, narrow: int = 1) -> float:
    """Return the time of the direct sum: of its arithmetic, or to read its weights.

    Numbers that are `narrow` times narrower than f32 are multiplied and read so much faster.
    """
    w = shape_of(conv.w)
    pixels = prod(shape_of(conv.result)) // (w[0] * w[-1])
    return _product_ns(pixels * FILTER**2, conv, FILTER**2) / narrow


def winograd_ns(conv: graph.ConvOp, algorithm: Winograd, narrow: int = 1) -> float:
    """Return the time of an algorithm: products, and both transforms as elements moved."""
    n, fo, *size, lanes = shape_of(conv.result)
    points = algorithm.points**2
    tiles = n * prod(-(-extent // algorithm.tile) for extent in size)
    channels = (shape_of(conv.x)[1] + fo) * lanes
    moved = 2 * tiles * points * channels  # stored by one step, loaded by the next
    work = moved / TRANSFORM_ELEMENTS_PER_NS + _product_ns(tiles * points, conv, points)
    return STEPS_NS + work / narrow


def _product_ns(count: int, conv: graph.ConvOp, taps: int) -> float:
    """Return the time of `count` products of a vector of channels by a matrix, of `taps` ones."""
    w = shape_of(conv.w)
    matrix = w[0] * w[1] * w[-1] * w[-2]
    return max(2 * count * matrix / FLOPS_PER_NS, 4 * taps * matrix / WEIGHT_BYTES_PER_NS)
