"""lower-precision: convolutions and matmuls by constant weights multiply in bf16, sum in f32."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import ClassVar, Literal

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr, bf16, f32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from nn_opt.dialects import graph
from nn_opt.dialects.graph.winograd import ALGORITHMS
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.remarks import remark
from nn_opt.ir.target import Target, flush_denormals, target_of
from nn_opt.ir.types import element_type, is_static, shape_of
from nn_opt.passes.choose_convolution import direct_ns, is_possible, winograd_ns
from nn_opt.passes.precision_storage import Storage

FEATURE = "avx512bf16"
PAIR = 2  # products that one instruction sums on a lane
PANEL_VECTORS = (2, 1)  # as wide as the register tile of several rows, or half of it
ROW_VECTORS = (8, 4, 2, 1)  # ... of a single row
NEARLY = 1.03  # columns of panels, for each one wanted, that are still few
ROWS = 32  # that make it worth while to pack computed numbers
BATCH = "ABCDEF"  # names of the axes before those of a matrix
FEW = 4  # channels of an image, filled up; half of the products of a pair of pairs
MOST_FILLED = 1.5  # columns computed for each one wanted: bf16 is twice as fast
NARROW = "winograd2"  # the algorithm that bf16 is exact enough for ...
NARROW_GAIN = 1.15  # ... if it is so much faster: its error is twice that of a direct sum
Winograd = Literal["auto", "off", "force2", "force4"]


@dataclass(frozen=True)
class LowerPrecisionPass(ModulePass):
    """conv(x, w)  ->  wide conv(bf16(x), bf16(w)),  and the same of matmuls, if w is constant.

    x is rounded to bf16 where it is made, so that it is stored so; what else reads it pointwise
    reads that, too. What moves numbers or takes a maximum moves rounded ones. Depthwise
    convolutions read rounded images, which they multiply in f32. A matrix that is computed, as
    the keys of an attention, is packed at each call if it has rows of `a` enough. Winograd's
    F(2, 3) rounds transformed images and weights, at twice the error of a direct sum, where that
    is estimated 1.15 times as fast as anything else. Sums, and all other operations, stay f32. A
    rounding is off by 2^-9 at most, relatively: whole networks are within some 1e-2 of their f32
    results. Instructions for bf16 take denormal numbers (below 1.2e-38) for zeros.

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
        rounding.storage.sink()
        flush_denormals(op)


def require_bf16(target: Target) -> None:
    """Refuse a target without the instruction."""
    if not target.has(FEATURE):
        raise DiagnosticError(
            f"error: precision 'bf16': the target {target.name!r} ({target.cpu}) lacks {FEATURE}"
            "\n  hint: compile with precision 'f32', or for a machine such as 'zen4'"
        )


@dataclass
class Rounding:
    """Rewrites one module; `storage` has the bf16 form of each value made so far."""

    target: Target
    winograd: Winograd
    storage: Storage = field(default_factory=Storage)

    def lower_conv(self, op: graph.ConvOp) -> None:
        """conv(x, w in OIHW16i16o)  ->  wide conv(bf16(x), bf16(w) in OIHW8i16o2i)

        An image of up to four channels, which is read as it is, becomes one block of four.
        """
        lanes, plain = self.target.lanes, plain_weights(op.w)
        if plain is None or element_type(op.x) != f32 or op.algorithm is not None:
            return self.keep(op, "its weights are not constant f32 numbers")
        algorithm = self.algorithm(op)
        if algorithm is None:
            return self.keep(op, "Winograd's algorithm saves more")
        layouts = "" if op.layout is None or op.weight_layout is None else op.layout.data
        dense = op.group.value.data == 1
        if not dense and layouts == f"NCHW{lanes}c":
            return self.narrow_image(op)
        if dense and layouts == f"NCHW{lanes}c":
            return self.replace_conv(op, op.x, plain, layouts, lanes, algorithm)
        if dense and layouts == f"NCHW->NCHW{lanes}c":
            block = FEW if shape_of(op.x)[1] <= FEW else lanes
            blocked = graph.LayoutTransformOp(op.x, "NCHW", f"NCHW{block}c")
            blocked.location = op.location
            Builder(InsertPoint.before(op)).insert(blocked)
            layouts = f"NCHW{block}c->NCHW{lanes}c"
            return self.replace_conv(op, blocked.results[0], plain, layouts, block)
        return self.keep(op, "its channels are not blocked on both sides")

    def replace_conv(
        self,
        op: graph.ConvOp,
        x: SSAValue,
        plain: SSAValue,
        layout: str,
        block: int,
        algorithm: str = "",
    ) -> None:
        """Let a convolution multiply an image of `block` channels a block in bf16."""
        packed = f"OIHW{block // PAIR}i{self.target.lanes}o{PAIR}i"
        new = graph.ConvOp(
            self.storage.round(x),
            self.weights(plain, "OIHW", packed, op, algorithm),
            strides=op.strides.get_values(),
            pads=op.pads.get_values(),
            dilations=op.dilations.get_values(),
            group=op.group.value.data,
            layout=layout,
            weight_layout=packed,
            algorithm=algorithm,
            wide=True,
        )
        self.replace(op, new)

    def narrow_image(self, op: graph.ConvOp) -> None:
        """conv(x, w)  ->  wide conv(bf16(x), w), whose products are those of f32"""
        new = op.clone()
        new.operands[0] = self.storage.round(op.x)
        new.properties["wide"] = UnitAttr()
        self.replace(op, new, "reads an image of bf16")

    def algorithm(self, op: graph.ConvOp) -> str | None:
        """Return the fastest algorithm in bf16, "" for the direct sum; None if f32 is faster.

        F(4, 3) is left to f32: its transforms would make roundings ten times as large.
        """
        if self.winograd == "off" or not is_possible(op):
            return ""
        if self.winograd != "auto":
            return None
        times: dict[str | None, float] = {
            None: min(winograd_ns(op, algorithm) for algorithm in ALGORITHMS.values()),
            NARROW: winograd_ns(op, ALGORITHMS[NARROW], PAIR) * NARROW_GAIN,
            "": direct_ns(op, PAIR),
        }
        return min(times, key=lambda name: times[name])

    def lower_matmul(self, op: graph.MatmulOp) -> None:
        """matmul(a, w)  ->  wide matmul(bf16(a), bf16(w) in NK32n2k)

        Weights are filled up to whole panels of pairs, rows get as many zeros.
        """
        plain = plain_weights(op.b)
        if element_type(op.a) != f32 or not is_static(op.a) or not is_static(op.b):
            return self.keep(op, "its factors are not f32 numbers of known shape")
        if plain is None:
            return self.lower_product(op)
        if len(shape_of(plain)) != 2:
            return self.keep(op, "its weights are no matrix")
        inner, columns = shape_of(plain)
        panel = self.panel(op, columns)
        if whole(columns, panel) > MOST_FILLED * columns:
            return self.keep(op, f"{columns} columns leave too much of a panel empty")
        layout = f"NK{panel}n{PAIR}k"
        weights = self.weights(plain, "KN", layout, op)
        rows = self.filled(self.storage.round(op.a), inner % PAIR, op)
        new = graph.MatmulOp(rows, weights, weight_layout=layout, wide=True)
        return self.replace(op, new)

    def lower_product(self, op: graph.MatmulOp) -> None:
        """matmul(a, b)  ->  wide matmul(bf16(a), bf16(b) in BNK32n2k),  if packing b pays"""
        rank, (*_, rows, inner), columns = len(shape_of(op.b)), shape_of(op.a), shape_of(op.b)[-1]
        panel = self.panel(op, columns)
        if op.weight_layout is not None or rank < 3 or rows < ROWS or inner % PAIR:
            return self.keep(op, f"packing its right side for {rows} rows does not pay")
        if columns % panel:
            return self.keep(op, f"{columns} columns give no whole panels")
        b, axes = untransposed(op.b, BATCH[: rank - 2] + "KN")
        layout = f"{BATCH[: rank - 2]}NK{panel}n{PAIR}k"
        packed = graph.LayoutTransformOp(self.storage.round(b), axes, layout)
        packed.location = op.location
        Builder(InsertPoint.before(op)).insert(packed)
        rounded = self.storage.round(op.a)
        new = graph.MatmulOp(rounded, packed.results[0], weight_layout=layout, wide=True)
        unread = op.b
        self.replace(op, new)
        return erase_unread(unread)

    def filled(self, rows: SSAValue, missing: int, reader: Operation) -> SSAValue:
        """Return rows with so many zeros at the end of each."""
        if not missing:
            return rows
        rank = len(shape_of(rows))
        pad = graph.PadOp(rows, [0] * (2 * rank - 1) + [missing])
        pad.location = reader.location
        return Builder(InsertPoint.before(reader)).insert(pad).results[0]

    def panel(self, op: graph.MatmulOp, columns: int) -> int:
        """Return the width of the weights' panels: the widest that columns nearly fill."""
        one_row = prod(shape_of(op.a)[:-1]) == 1
        vectors = ROW_VECTORS if one_row else PANEL_VECTORS
        widths = [count * self.target.lanes for count in vectors]
        filled = (width for width in widths if whole(columns, width) <= NEARLY * columns)
        return next(filled, self.target.lanes)

    def keep(self, op: Operation, reason: str) -> None:
        """Say why an operation stays f32."""
        remark(op, LowerPrecisionPass.name, f"stays f32: {reason}")

    def replace(self, op: Operation, new: IRDLOperation, what: str = "multiplies in bf16") -> None:
        """Put the new op in the place of the old one, without columns that are filled up."""
        new.location = op.location
        builder = Builder(InsertPoint.before(op))
        result = builder.insert(new).results[0]
        remark(new, LowerPrecisionPass.name, what)
        if result.type != op.results[0].type:
            sizes = shape_of(op.results[0])
            zeros = [0] * len(sizes)
            cut = graph.SliceOp(result, zeros, sizes, [1] * len(sizes))
            cut.location = op.location
            result = builder.insert(cut).results[0]
        Rewriter.replace_op(op, (), [result])

    def weights(
        self, plain: SSAValue, source: str, layout: str, reader: Operation, algorithm: str = ""
    ) -> SSAValue:
        """Return weights packed, transformed and rounded, which is left for fold-constants."""
        steps: list[IRDLOperation] = []
        if algorithm:
            steps.append(graph.LayoutTransformOp(plain, source, layout))
            tile = ALGORITHMS[algorithm].tile
            steps.append(graph.WinogradWeightsOp(steps[-1].results[0], tile=tile))
            steps.append(graph.CastOp(steps[-1].results[0], bf16))
        else:
            steps.append(graph.CastOp(plain, bf16))
            steps.append(graph.LayoutTransformOp(steps[-1].results[0], source, layout))
        builder = Builder(InsertPoint.before(reader))
        for step in steps:
            step.location = reader.location
            builder.insert(step)
        return steps[-1].results[0]


def untransposed(value: SSAValue, axes: str) -> tuple[SSAValue, str]:
    """Return what a transposition reads and the names of its axes, those of the result given."""
    owner = value.owner
    if not isinstance(owner, graph.TransposeOp):
        return value, axes
    names = dict(zip(owner.perm.get_values(), axes, strict=True))
    return untransposed(owner.x, "".join(names[axis] for axis in range(len(axes))))


def erase_unread(value: SSAValue) -> None:
    """Erase transpositions that nobody reads any more, so that they are no readers themselves."""
    owner = value.owner
    if isinstance(owner, graph.TransposeOp) and not value.uses:
        source = owner.x
        Rewriter.erase_op(owner)
        erase_unread(source)


def whole(columns: int, panel: int) -> int:
    """Return the columns of as many panels as it takes."""
    return -(-columns // panel) * panel


def plain_weights(value: SSAValue) -> SSAValue | None:
    """Return the constant that weights are, or are packed from; None if they are computed."""
    owner = value.owner
    if isinstance(owner, graph.LayoutTransformOp):
        return plain_weights(owner.x)
    constant = isinstance(owner, graph.ConstantOp) and element_type(value) == f32
    return value if constant else None
