"""Which operations of a block compute on blocked channels, and whether that gains time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import AnyFloat, Float32Type
from xdsl.ir import Block, Operation, SSAValue

from nn_opt.dialects import graph
from nn_opt.dialects.graph import Fusion
from nn_opt.dialects.graph.contraction import is_byte
from nn_opt.ir.types import element_type, shape_of
from nn_opt.passes.fusion_costs import elements, is_static_tensor

# The zero lanes that fill up the last block stay finite through these, whatever finite number is in
# them, so that a later convolution's zero weights still cancel them. exp, log, div, pow do not.
FINITE = (
    graph.ReluOp, graph.NegOp, graph.AbsOp, graph.TanhOp, graph.SigmoidOp, graph.HardSwishOp,
    graph.HardSigmoidOp, graph.LeakyReluOp, graph.EluOp, graph.SeluOp, graph.CeluOp, graph.GeluOp,
    graph.SoftplusOp, graph.SoftsignOp, graph.MishOp, graph.ThresholdedReluOp, graph.ErfOp,
    graph.ClipOp, graph.AddOp, graph.SubOp, graph.MulOp, graph.MaximumOp, graph.MinimumOp,
    graph.PReluOp, graph.FloorOp, graph.CeilOp, graph.RoundOp, graph.CastOp, graph.BitwiseXorOp,
)  # fmt: skip
PER_AXIS = (graph.ExpandOp, graph.BatchNormOp)  # pointwise, but not by NumPy broadcasting
BYTES = 4  # of a lane of 32 bits
LINE = 64  # bytes of a cache line
SPATIAL_KINDS = ("sum", "mean", "max", "min")


@dataclass(eq=False)
class LayoutRegion:
    """Connected operations that become blocked together or not at all."""

    ops: list[Operation] = field(default_factory=list[Operation])
    inputs: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])

    def absorb(self, other: LayoutRegion) -> None:
        self.ops += other.ops
        self.inputs |= other.inputs


@dataclass
class LayoutPlan:
    """Walks a block once; `region_of` has every operation that may become blocked."""

    block: Block
    lanes: int
    reads_rows: bool = True  # convolutions may read any number of channels from a plain image
    winograd: bool = True  # ... save those that may become Winograd's
    region_of: dict[Operation, LayoutRegion] = field(default_factory=dict[Operation, LayoutRegion])

    def __post_init__(self) -> None:
        for op in self.block.ops:
            if ADMITS.get(type(op), admits_pointwise)(op, self):
                self.add(op)

    def is_blocked(self, value: SSAValue) -> bool:
        """Return whether a value will be there with blocked channels."""
        owner = value.owner
        return owner in self.region_of and not drops_axes(owner)

    def add(self, op: Operation) -> None:
        """Put an op into one region with the producers of its blocked operands."""
        region = LayoutRegion([op])
        for operand in op.operands:
            if self.is_blocked(operand):
                assert isinstance(operand.owner, Operation)
                region = self.joined(region, self.region_of[operand.owner])
        region.inputs |= dict.fromkeys(self.transformed_operands(op))
        self.region_of[op] = region

    def joined(self, region: LayoutRegion, other: LayoutRegion) -> LayoutRegion:
        """Return the one region that both become; the larger takes in the smaller."""
        if region is other:
            return region
        small, large = sorted((region, other), key=lambda r: len(r.ops))
        large.absorb(small)
        for op in small.ops:
            self.region_of[op] = large
        return large

    def transformed_operands(self, op: Operation) -> list[SSAValue]:
        """Return the operands that have to be brought into blocked layout at run time."""
        if isinstance(op, graph.ConvOp):
            wanted = [] if reads_plain_image(op, self) else [op.operands[0]]
        else:
            channels = shape_of(op.results[0])[1]
            wanted = [v for v in op.operands if shape_of(v)[-3:-2] == (channels,)]
        return [v for v in wanted if not self.is_blocked(v) and not is_constant(v)]

    def regions(self) -> list[LayoutRegion]:
        """Return the regions in the order of the block."""
        return list(dict.fromkeys(self.region_of.values()))

    def outputs(self, region: LayoutRegion) -> list[SSAValue]:
        """Return the values of a region that somebody reads in plain layout."""
        results = [op.results[0] for op in region.ops if not drops_axes(op)]
        return [
            value
            for value in results
            if any(self.region_of.get(use.operation) is not region for use in value.uses)
        ]


def is_constant(value: SSAValue) -> bool:
    """Return whether a value is a constant, whose transform is done at compile time."""
    return isinstance(value.owner, graph.ConstantOp)


def has_padding(op: Operation, lanes: int) -> bool:
    """Return whether the last block of channels of an op's result is not full."""
    return shape_of(op.results[0])[1] % lanes != 0


def is_image(value: SSAValue) -> bool:
    """Return whether a value is a float or integer tensor [N, C, H, W] of known shape."""
    return is_static_tensor(value) and len(shape_of(value)) == 4


def drops_axes(op: object) -> bool:
    """Return whether an op reduces without keeping axes; its result is plain again."""
    return isinstance(op, graph.ReduceOp) and op.keepdims is None


def is_depthwise(conv: graph.ConvOp) -> bool:
    """Return whether each channel is convolved by itself with one filter."""
    channels = shape_of(conv.x)[1]
    groups = conv.group.value.data
    return groups > 1 and groups == channels == shape_of(conv.result)[1]


def admits_conv(op: Operation, plan: LayoutPlan) -> bool:
    """A plain 2-D convolution by constant weights with enough filters for a quarter of a vector."""
    assert isinstance(op, graph.ConvOp)
    if not is_image(op.x) or not is_image(op.w) or not is_constant(op.w):
        return False
    floats = isinstance(element_type(op.x), AnyFloat)
    if op.layout is not None or not (floats or op.wide is not None):
        return False
    if sums_bytes(op) and plan.lanes % BYTES:  # four bytes are summed at once
        return False
    if op.group.value.data != 1 and not is_depthwise(op) and not has_whole_groups(op, plan):
        return False
    return 4 * shape_of(op.results[0])[1] >= plan.lanes


def has_whole_groups(conv: graph.ConvOp, plan: LayoutPlan) -> bool:
    """Return whether no block of filters belongs to two groups, nor a block of channels read."""
    groups = conv.group.value.data
    if shape_of(conv.w)[0] // groups % plan.lanes:
        return False
    if shape_of(conv.w)[1] % plan.lanes == 0 and sums_bytes(conv):
        return True
    if not plan.reads_rows or element_type(conv.x) != Float32Type():
        return False
    return shape_of(conv.w)[1] % plan.lanes == 0 or not plan.is_blocked(conv.x)


def reads_plain_image(conv: graph.ConvOp, plan: LayoutPlan) -> bool:
    """Return whether a convolution reads its channels straight from a plain image.

    It is as fast as on blocks, needs no transform and no filled-up channels. Winograd's algorithm
    and products of narrow numbers read blocks, save where channels are few; so does what would read
    a cache line of many channels for a short row of each: 900 us instead of 1070 (7 x 7 x 2048).
    """
    if is_depthwise(conv) or plan.is_blocked(conv.x):
        return False
    few = BYTES if sums_bytes(conv) else plan.lanes - 1
    if shape_of(conv.x)[1] <= few:
        return True
    if not plan.reads_rows or element_type(conv.x) != Float32Type():
        return False
    width, channels = shape_of(conv.x)[-1], shape_of(conv.w)[1]
    scattered = BYTES * width < LINE and channels % plan.lanes == 0
    return not scattered and not (plan.winograd and suits_winograd(conv))


def suits_winograd(conv: graph.ConvOp) -> bool:
    """Return whether a convolution is 3 x 3, dense and of stride 1."""
    steps = {*conv.strides.get_values(), *conv.dilations.get_values(), conv.group.value.data}
    return steps == {1} and shape_of(conv.w)[2:] == (3, 3)


def sums_bytes(conv: graph.ConvOp) -> bool:
    """Return whether a convolution is of 8-bit integers, of which four fill a lane."""
    return conv.wide is not None and is_byte(element_type(conv.x))


def admits_pool(op: Operation, plan: LayoutPlan) -> bool:
    """A 2-D pooling of a blocked value."""
    assert isinstance(op, graph.PoolOp)
    return is_image(op.results[0]) and plan.is_blocked(op.operands[0])


def admits_reduce(op: Operation, plan: LayoutPlan) -> bool:
    """A reduction of a blocked value over spatial axes."""
    assert isinstance(op, graph.ReduceOp)
    if not plan.is_blocked(op.x) or op.kind.data not in SPATIAL_KINDS:
        return False
    axes = spatial_axes(op)
    return bool(axes) and set(axes) <= {2, 3}


def spatial_axes(op: graph.ReduceOp) -> list[int]:
    """Return the axes that a reduction of an image combines, counted from 0."""
    return [axis % 4 for axis in op.axes.get_values()]


def admits_concat(op: Operation, plan: LayoutPlan) -> bool:
    """A concatenation of blocked channels, all of them whole blocks."""
    assert isinstance(op, graph.ConcatOp)
    if not all(plan.is_blocked(part) for part in op.operands) or op.axis.value.data not in (1, -3):
        return False
    return all(shape_of(part)[1] % plan.lanes == 0 for part in op.operands)


def admits_pad(op: Operation, plan: LayoutPlan) -> bool:
    """A padding of a blocked value along spatial axes."""
    assert isinstance(op, graph.PadOp)
    pads = op.pads.get_values()
    return plan.is_blocked(op.x) and not any((*pads[:2], *pads[4:6]))


def admits_resize(op: Operation, plan: LayoutPlan) -> bool:
    """A resampling of a blocked value along spatial axes."""
    assert isinstance(op, graph.ResizeOp)
    if not plan.is_blocked(op.x) or shape_of(op.x)[:2] != shape_of(op.result)[:2]:
        return False
    return op.mode.data != "cubic" and op.antialias is None and op.roi is None


def admits_pointwise(op: Operation, plan: LayoutPlan) -> bool:
    """An elementwise op of which one operand is blocked and no other of odd shape."""
    kind = getattr(op, "FUSION", None)
    if kind not in (Fusion.ELEMENTWISE, Fusion.BROADCAST) or isinstance(op, PER_AXIS):
        return False
    if len(op.results) != 1 or not is_image(op.results[0]):
        return False
    channels = shape_of(op.results[0])[1]
    if not any(plan.is_blocked(v) and shape_of(v)[1] == channels for v in op.operands):
        return False
    return not has_padding(op, plan.lanes) or stays_finite(op)


def stays_finite(op: Operation) -> bool:
    """Return whether finite lanes have finite results, even where constants are filled up by 0."""
    if isinstance(op, graph.DivOp):
        return elements(op.operands[1]) == 1
    return isinstance(op, FINITE)


ADMITS: dict[type[Operation], Callable[[Operation, LayoutPlan], bool]] = {
    graph.ConvOp: admits_conv,
    graph.PoolOp: admits_pool,
    graph.ReduceOp: admits_reduce,
    graph.ConcatOp: admits_concat,
    graph.PadOp: admits_pad,
    graph.ResizeOp: admits_resize,
}
