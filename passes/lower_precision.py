"""lower-precision: convolutions and matmuls by constant weights multiply in bf16, sum in f32."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from nn_opt.dialects import graph
from nn_opt.dialects.graph import Fusion
from nn_opt.dialects.graph.winograd import ALGORITHMS
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.remarks import remark
from nn_opt.ir.target import Target, target_of
from nn_opt.ir.types import element_type, is_static, shape_of
from nn_opt.passes.choose_convolution import direct_ns, is_possible, winograd_ns

FEATURE = "avx512bf16"
PAIR = 2  # products that one instruction sums on a lane
PANEL_VECTORS = (2, 1)
FEW = 4  # channels of an image, filled up; half of the products of a pair of pairs
SPEEDUP = 2.0  # of products in bf16 over those in f32
Winograd = Literal["auto", "off", "force2", "force4"]


@dataclass(frozen=True)
class LowerPrecisionPass(ModulePass):
    """conv(x, w)  ->  wide conv(bf16(x), bf16(w)),  and the same of matmuls, if w is constant.

    x is rounded to bf16 where it is made, so that it is stored so; what else reads it pointwise
    reads that, too. Sums, and all other operations, stay f32. A rounding is off by 2^-9 at most,
    relatively: whole networks are within some 1e-2 of their f32 results.

    precision: "f32" changes nothing; "bf16" needs a target with that instruction.
    winograd: that of choose-convolution, to which convolutions are left that gain more by it.
    Needs: graph, static shapes. Keeps: graph.
    Order: after choose-layout and pack-matmuls; before fold-constants, which rounds the weights.
    """

    name: ClassVar[str] = "lower-precision"  # pyright: ignore[reportIncompatibleVariableOverride]

    precision: Literal["f32", "bf16"] = "f32"
    winograd: Winograd = "auto"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.precision == "f32":
            return
        target = target_of(op)
        require_bf16(target)
        rounding = Rounding(target, self.winograd)
        for inner in list(op.walk()):
            if isinstance(inner, graph.ConvOp):
                rounding.lower_conv(inner)
            elif isinstance(inner, graph.MatmulOp):
                rounding.lower_matmul(inner)


def require_bf16(target: Target) -> None:
    """Refuse a target without the instruction."""
    if not target.has(FEATURE):
        raise DiagnosticError(
            f"error: precision 'bf16': the target {target.name!r} ({target.cpu}) lacks {FEATURE}"
            "\n  hint: compile with precision 'f32', or for a machine such as 'zen4'"
        )


@dataclass
class Rounding:
    """Rewrites one module; `rounded` has the bf16 form of each value made so far."""

    target: Target
    winograd: Winograd
    rounded: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def lower_conv(self, op: graph.ConvOp) -> None:
        """conv(x, w in OIHW16i16o)  ->  wide conv(bf16(x), bf16(w) in OIHW8i16o2i)

        An image of up to four channels, which is read as it is, becomes one block of four.
        """
        lanes, plain = self.target.lanes, plain_weights(op.w)
        if plain is None or element_type(op.x) != f32 or op.algorithm is not None:
            return self.keep(op, "its weights are not constant f32 numbers")
        if self.left_to_winograd(op):
            return self.keep(op, "Winograd's algorithm saves more")
        layouts = "" if op.layout is None or op.weight_layout is None else op.layout.data
        dense = op.group.value.data == 1
        if dense and layouts == f"NCHW{lanes}c":
            return self.replace_conv(op, op.x, plain, layouts, lanes)
        if dense and layouts == f"NCHW->NCHW{lanes}c" and shape_of(op.x)[1] <= FEW:
            blocked = graph.LayoutTransformOp(op.x, "NCHW", f"NCHW{FEW}c")
            blocked.location = op.location
            Builder(InsertPoint.before(op)).insert(blocked)
            return self.replace_conv(
                op, blocked.results[0], plain, f"NCHW{FEW}c->NCHW{lanes}c", FEW
            )
        return self.keep(op, "its channels are not blocked on both sides")

    def replace_conv(
        self, op: graph.ConvOp, x: SSAValue, plain: SSAValue, layout: str, block: int
    ) -> None:
        """Let a convolution multiply an image of `block` channels a block in bf16."""
        packed = f"OIHW{block // PAIR}i{self.target.lanes}o{PAIR}i"
        new = graph.ConvOp(
            self.round(x),
            self.weights(plain, "OIHW", packed, op),
            strides=op.strides.get_values(),
            pads=op.pads.get_values(),
            dilations=op.dilations.get_values(),
            group=op.group.value.data,
            layout=layout,
            weight_layout=packed,
            wide=True,
        )
        self.replace(op, new)

    def left_to_winograd(self, op: graph.ConvOp) -> bool:
        """Return whether Winograd's algorithm in f32 is faster than the direct sum in bf16."""
        if self.winograd == "off" or not is_possible(op):
            return False
        if self.winograd != "auto":
            return True
        return min(winograd_ns(op, a) for a in ALGORITHMS.values()) < direct_ns(op) / SPEEDUP

    def lower_matmul(self, op: graph.MatmulOp) -> None:
        """matmul(a, w)  ->  wide matmul(bf16(a), bf16(w) in NK32n2k)"""
        plain = plain_weights(op.b)
        if plain is None or element_type(op.a) != f32 or not is_static(op.a):
            return self.keep(op, "its weights are not constant f32 numbers")
        shape = shape_of(plain)
        panel = self.panel(op, shape[-1])
        if len(shape) != 2 or not panel or shape[0] % PAIR:
            return self.keep(op, f"weights of {list(shape)} give no whole panels of pairs")
        layout = f"NK{panel}n{PAIR}k"
        weights = self.weights(plain, "KN", layout, op)
        new = graph.MatmulOp(self.round(op.a), weights, weight_layout=layout, wide=True)
        return self.replace(op, new)

    def panel(self, op: graph.MatmulOp, columns: int) -> int:
        """Return the width of the weights' panels: that of the f32 ones, else what divides."""
        lanes = self.target.lanes
        transform = op.b.owner
        if op.weight_layout is not None and isinstance(transform, graph.LayoutTransformOp):
            return shape_of(op.b)[-1]
        widths = [vectors * lanes for vectors in PANEL_VECTORS]
        return next((width for width in widths if columns % width == 0), 0)

    def keep(self, op: Operation, reason: str) -> None:
        """Say why an operation stays f32."""
        remark(op, LowerPrecisionPass.name, f"stays f32: {reason}")

    def replace(self, op: Operation, new: IRDLOperation) -> None:
        """Put the new op in the place of the old one."""
        new.location = op.location
        Builder(InsertPoint.before(op)).insert(new)
        remark(new, LowerPrecisionPass.name, "multiplies in bf16")
        Rewriter.replace_op(op, (), new.results)

    def weights(self, plain: SSAValue, source: str, layout: str, reader: Operation) -> SSAValue:
        """Return weights rounded and packed, which is left for fold-constants."""
        builder = Builder(InsertPoint.before(reader))
        rounded = builder.insert(graph.CastOp(plain, bf16))
        packed = builder.insert(graph.LayoutTransformOp(rounded.results[0], source, layout))
        rounded.location = packed.location = reader.location
        return packed.results[0]

    def round(self, value: SSAValue) -> SSAValue:
        """Return a value in bf16, rounded right where it is made."""
        owner = value.owner
        if isinstance(owner, graph.CastOp) and element_type(owner.x) == bf16:
            return owner.x
        if value not in self.rounded:
            cast = graph.CastOp(value, bf16)
            self.rounded[value] = cast.results[0]
            insert_after(value, cast)
            share(value, cast)
        return self.rounded[value]


def plain_weights(value: SSAValue) -> SSAValue | None:
    """Return the constant that weights are, or are packed from; None if they are computed."""
    owner = value.owner
    if isinstance(owner, graph.LayoutTransformOp):
        return plain_weights(owner.x)
    constant = isinstance(owner, graph.ConstantOp) and element_type(value) == f32
    return value if constant else None


def insert_after(value: SSAValue, op: IRDLOperation) -> None:
    """Insert an op right after the one that makes `value`, or at the start of its block."""
    owner = value.owner
    if isinstance(owner, Block):
        Builder(InsertPoint.at_start(owner)).insert(op)
        return
    op.location = owner.location
    Builder(InsertPoint.after(owner)).insert(op)


def share(value: SSAValue, cast: graph.CastOp) -> None:
    """Let pointwise readers widen the rounded value, if nothing needs the value as it was.

    Convolutions and matmuls come later, each by itself, to the same rounded value.
    """
    readers = [use.operation for use in value.uses if use.operation is not cast]
    pointwise = [op for op in readers if is_pointwise(op)]
    others = [op for op in readers if op not in pointwise]
    if isinstance(value.owner, Block) or not all(multiplies(op) for op in others):
        return
    for reader in dict.fromkeys(pointwise):
        wide = graph.CastOp(cast.results[0], f32)
        wide.location = reader.location
        Builder(InsertPoint.before(reader)).insert(wide)
        for k, operand in enumerate(reader.operands):
            if operand is value:
                reader.operands[k] = wide.results[0]


def is_pointwise(op: Operation) -> bool:
    """Return whether an op can widen an operand on the way."""
    return getattr(op, "FUSION", None) in (Fusion.ELEMENTWISE, Fusion.BROADCAST)


def multiplies(op: Operation) -> bool:
    """Return whether an op may read the rounded value instead."""
    return isinstance(op, graph.ConvOp | graph.MatmulOp)
