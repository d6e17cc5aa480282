"""fold-constants: run the ops that read nothing but constants, now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from nn_opt.dialects import graph
from nn_opt.ir.locations import fuse_locations
from nn_opt.ir.remarks import remark
from nn_opt.ir.sidecar import let_go
from nn_opt.ir.small_types import is_small_integer
from nn_opt.ir.statistics import Statistic
from nn_opt.ir.types import element_type
from nn_opt.passes.constants import constant_array
from nn_opt.passes.fusion_costs import is_static_tensor, tensor_bytes
from nn_opt.reference.graph import evaluate

FREE_BYTES = 64 << 10  # results up to this size are always worth keeping
GROWTH = 4  # ... larger ones if they are at most this much larger than what they are made of

FOLDED = Statistic("fold-constants", "ops-folded", "operations computed now")
BYTES = Statistic("fold-constants", "bytes-made", "bytes of the constants made of them")
KEPT = Statistic("fold-constants", "ops-kept", "operations whose constant would be too large")


@dataclass(frozen=True)
class FoldConstantsPass(ModulePass):
    """f(constants)  ->  constant,  by the interpreter, if the result is no blow-up.

    A layout transform is always folded: that is how weights are packed at compile time.

    Needs: graph with its weights at hand. Keeps: graph. Order: before fold-scale-axis, and again
    after choose-layout. Constants that nobody reads any more are erased.
    """

    name: ClassVar[str] = "fold-constants"  # pyright: ignore[reportIncompatibleVariableOverride]
    statistics: ClassVar = (FOLDED, BYTES, KEPT)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, graph.GraphOp) and is_foldable(inner):
                self.fold(inner)
        for inner in reversed([c for c in op.walk() if isinstance(c, graph.ConstantOp)]):
            if not inner.results[0].uses:
                Rewriter.erase_op(inner)
                let_go([inner])

    def fold(self, op: graph.GraphOp) -> None:
        """Replace one op by the constant it computes, unless that would be too large."""
        read, made = sum(map(tensor_bytes, op.operands)), tensor_bytes(op.results[0])
        packs = isinstance(op, graph.LayoutTransformOp)
        limit = FREE_BYTES if keeps_few_bits(op) else max(FREE_BYTES, GROWTH * read)
        if not packs and made > limit:
            remark(op, self.name, f"kept: {read} bytes of constants would become {made}")
            KEPT.add()
            return
        arrays = [constant_array(operand) for operand in op.operands]
        try:
            (result,) = evaluate(op, [array for array in arrays if array is not None])
        except IndexError:  # of an index that names no element: check-indices says which
            return
        owners = [operand.owner for operand in op.operands]
        read_here = dict.fromkeys(o for o in owners if isinstance(o, graph.ConstantOp))
        constant = graph.ConstantOp(result)
        constant.location = fuse_locations(op, *read_here)
        Builder(InsertPoint.before(outside_scans(op))).insert(constant)
        FOLDED.add()
        BYTES.add(made)
        Rewriter.replace_op(op, (), [constant.results[0]])
        for owner in read_here:
            if not owner.results[0].uses:
                Rewriter.erase_op(owner)
                let_go([owner])


def keeps_few_bits(op: Operation) -> bool:
    """Return whether numbers of few bits become floats that no convolution wants as weights."""
    if not isinstance(op, graph.DequantizeOp) or not is_small_integer(element_type(op.w)):
        return False
    readers = [use.operation for use in op.result.uses]
    return not all(isinstance(reader, graph.ConvOp | graph.ConvTransposeOp) for reader in readers)


def outside_scans(op: Operation) -> Operation:
    """Return the op, or the outermost scan around it: a constant is made once, not every step."""
    parent = op.parent_op()
    while isinstance(parent, graph.ScanOp):
        op, parent = parent, parent.parent_op()
    return op


def is_foldable(op: Operation) -> bool:
    """Return whether an op has one static result that follows from constants alone."""
    if isinstance(op, graph.ConstantOp) or op.regions or len(op.results) != 1:
        return False
    constants = all(isinstance(operand.owner, graph.ConstantOp) for operand in op.operands)
    return bool(op.operands) and constants and is_static_tensor(op.results[0])
