"""How each operation is said on blocked channels [N, C/c, H, W, c]; a rule per kind of op."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.rewriter import InsertPoint

from nn_opt.dialects import graph
from nn_opt.dialects.graph.fields import floats
from nn_opt.ir.locations import place_of
from nn_opt.ir.types import element_type, shape_of, tensor_type
from nn_opt.passes.layout_plan import (
    BYTES,
    LayoutPlan,
    is_depthwise,
    reads_plain_image,
    spatial_axes,
    sums_bytes,
)


@dataclass
class Blocker:
    """Inserts blocked forms before an op; knows the blocked form of each value made so far."""

    plan: LayoutPlan
    blocked: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    weights: dict[tuple[SSAValue, str], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, str], SSAValue]
    )

    @property
    def lanes(self) -> int:
        return self.plan.lanes

    @property
    def layout(self) -> str:
        return f"NCHW{self.lanes}c"

    def image(self, value: SSAValue, builder: Builder) -> SSAValue:
        """Return the blocked form of an image, transformed here if it has none yet."""
        if value not in self.blocked:
            self.blocked[value] = insert_after(
                value, graph.LayoutTransformOp(value, "NCHW", self.layout), builder
            )
        return self.blocked[value]

    def weight(self, value: SSAValue, layout: str, builder: Builder) -> SSAValue:
        """Return weights in another layout; the transform stands where the weights do."""
        if (value, layout) not in self.weights:
            transform = graph.LayoutTransformOp(value, "OIHW", layout)
            self.weights[value, layout] = insert_after(value, transform, builder)
        return self.weights[value, layout]

    def operand(self, value: SSAValue, channels: int, builder: Builder) -> SSAValue:
        """Return what an elementwise op reads in place of `value`: it broadcasts alike."""
        shape = shape_of(value)
        if value in self.blocked and shape[1] == channels:
            return self.blocked[value]
        if all(size == 1 for size in shape):
            return value
        full = (1,) * (4 - len(shape)) + shape
        if full[1] == 1:
            return builder.insert(graph.ReshapeOp(value, (*full, 1))).results[0]
        if full != shape:
            value = builder.insert(graph.ReshapeOp(value, full)).results[0]
        return self.image(value, builder)

    def blocked_type(self, value: SSAValue) -> Attribute:
        """Return the type of the blocked form of an image."""
        batch, channels, height, width = shape_of(value)
        blocks = -(-channels // self.lanes)
        return tensor_type((batch, blocks, height, width, self.lanes), element_type(value))


def insert_after(value: SSAValue, op: IRDLOperation, builder: Builder) -> SSAValue:
    """Insert an op right after the one that makes `value`, so that all readers can share it."""
    owner = value.owner
    op.location = place_of(value)
    if isinstance(owner, Operation) and owner.parent is builder.insertion_point.block:
        return Builder(InsertPoint.after(owner)).insert(op).results[0]
    start = InsertPoint.at_start(builder.insertion_point.block)
    return Builder(start).insert(op).results[0]


def block_conv(op: Operation, b: Blocker, builder: Builder) -> SSAValue:
    """conv(x, w, bias)  ->  conv(blocked x, packed w) + blocked bias"""
    assert isinstance(op, graph.ConvOp)
    c = b.lanes
    if reads_plain_image(op, b.plan) and sums_bytes(op):
        x = builder.insert(graph.LayoutTransformOp(op.x, "NCHW", f"NCHW{BYTES}c")).results[0]
        layout, packed = f"NCHW{BYTES}c->NCHW{c}c", f"OIHW{c}o{BYTES}i"
    elif reads_plain_image(op, b.plan):
        x, layout, packed = op.x, f"NCHW->NCHW{c}c", f"OIHW{c}o"
    else:
        x, layout, packed = b.image(op.x, builder), b.layout, f"OIHW{c}o"
        if sums_bytes(op) and not is_depthwise(op):
            packed = f"OIHW{c // BYTES}i{c}o{BYTES}i"
        elif not is_depthwise(op):
            packed = f"OIHW{c}i{c}o"
    conv = graph.ConvOp(
        x,
        b.weight(op.w, packed, builder),
        None,
        strides=op.strides.get_values(),
        pads=op.pads.get_values(),
        dilations=op.dilations.get_values(),
        group=op.group.value.data,
        layout=layout,
        weight_layout=packed,
        wide=op.wide is not None,
        fill=op.padding,
    )
    result = builder.insert(conv).results[0]
    if op.b is None:
        return result
    bias = block_bias(op.b, c, builder)
    return builder.insert(graph.AddOp(result, bias)).results[0]


def block_bias(bias: SSAValue, lanes: int, builder: Builder) -> SSAValue:
    """[F]  ->  [F/c, 1, 1, c], zeros at the end"""
    rows = builder.insert(graph.LayoutTransformOp(bias, "C", f"C{lanes}c")).results[0]
    blocks, _ = shape_of(rows)
    return builder.insert(graph.ReshapeOp(rows, (blocks, 1, 1, lanes))).results[0]


def block_pool(op: Operation, b: Blocker, builder: Builder) -> SSAValue:
    """pool(x)  ->  pool(blocked x) on the same axes"""
    assert isinstance(op, graph.PoolOp)
    copy = with_operands(op, [b.image(op.operands[0], builder)], b)
    copy.properties["layout"] = StringAttr(b.layout)
    return builder.insert(copy).results[0]


def block_reduce(op: Operation, b: Blocker, builder: Builder) -> SSAValue:
    """reduce(x) over H, W  ->  reduce(blocked x) over the same two axes, which it keeps"""
    assert isinstance(op, graph.ReduceOp)
    x = b.image(op.operands[0], builder)
    reduced = graph.ReduceOp(x, op.kind.data, spatial_axes(op))
    result = builder.insert(reduced).results[0]
    if op.keepdims is not None:
        return result
    batch, channels = shape_of(op.operands[0])[:2]
    sizes = (batch, channels, *shape_of(result)[2:4])
    plain = graph.LayoutTransformOp(result, b.layout, "NCHW", sizes=sizes)
    builder.insert(plain)
    return builder.insert(graph.ReshapeOp(plain.results[0], shape_of(op.results[0]))).results[0]


def block_concat(op: Operation, b: Blocker, builder: Builder) -> SSAValue:
    """concat(parts) of channels  ->  concat(blocked parts) of blocks"""
    parts = [b.image(part, builder) for part in op.operands]
    return builder.insert(graph.ConcatOp(parts, 1)).results[0]


def block_pad(op: Operation, b: Blocker, builder: Builder) -> SSAValue:
    """pad(x)  ->  pad(blocked x) by nothing along the lanes"""
    assert isinstance(op, graph.PadOp)
    pads = op.pads.get_values()
    x = b.image(op.x, builder)
    wider = graph.PadOp(x, (*pads[:4], 0, *pads[4:], 0), op.mode.data, op.value)
    return builder.insert(wider).results[0]


def block_resize(op: Operation, b: Blocker, builder: Builder) -> SSAValue:
    """resize(x)  ->  resize(blocked x), the lanes as they are"""
    assert isinstance(op, graph.ResizeOp)
    copy = with_operands(op, [b.image(op.x, builder)], b)
    copy.properties["scales"] = floats((*op.scales.get_values(), 1.0))
    return builder.insert(copy).results[0]


def block_pointwise(op: Operation, b: Blocker, builder: Builder) -> SSAValue:
    """f(x, y)  ->  f(blocked x, blocked y)"""
    channels = shape_of(op.results[0])[1]
    operands = [b.operand(value, channels, builder) for value in op.operands]
    return builder.insert(with_operands(op, operands, b)).results[0]


def with_operands(op: Operation, operands: list[SSAValue], b: Blocker) -> Operation:
    """Return a copy of an op that reads other operands and makes the blocked result."""
    return type(op).create(
        operands=operands,
        result_types=[b.blocked_type(op.results[0])],
        properties=dict(op.properties),
        attributes=op.attributes,
        location=op.location,
    )


RULES: dict[type[Operation], Callable[[Operation, Blocker, Builder], SSAValue]] = {
    graph.ConvOp: block_conv,
    graph.PoolOp: block_pool,
    graph.ReduceOp: block_reduce,
    graph.ConcatOp: block_concat,
    graph.PadOp: block_pad,
    graph.ResizeOp: block_resize,
}
