"""flatten-accesses: fused loops walk through a buffer as through one long row."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from nn_opt.dialects import loop
from nn_opt.ir.affine import Range, compact, flatten, is_sum
from nn_opt.ir.locations import place_of
from nn_opt.ir.types import element_type, memory_space, memref_type, shape_of

Access = loop.LoadOp | loop.StoreOp


@dataclass(frozen=True)
class FlattenAccessesPass(ModulePass):
    """Needs: loop without blocks. Keeps: loop. Order: after lower-blocks, before vectorize-loops.

    load %x[%i floordiv 7, %i mod 7]  ->  load %flat[%i], with %flat a view of one dimension, if
    the row-major offset needs no division. An access with `or` keeps its indices.
    """

    name = "flatten-accesses"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp):
                flattening = Flattening()
                for access in list(function.walk()):
                    if isinstance(access, Access):
                        flattening.visit(access)


@dataclass
class Flattening:
    """Rewrites the accesses of one function; makes one view a buffer."""

    views: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def visit(self, access: Access) -> None:
        """Rewrite one access if that rids it of a division."""
        if all(is_sum(expr) for expr in access.map.data.results):
            return
        if isinstance(access, loop.LoadOp) and access.default is not None:
            return
        ranges = [range_of_index(index) for index in access.indices]
        if None in ranges or memory_space(access.memref) != "global":
            return
        known = [r for r in ranges if r is not None]
        offset = flatten(access.map.data.results, shape_of(access.memref), known)
        if is_sum(offset):
            self.rewrite(access, offset)

    def rewrite(self, access: Access, offset: AffineExpr) -> None:
        """Let an access use the flat view of its buffer."""
        values, exprs = compact([offset], list(access.indices))
        before = [access.value] if isinstance(access, loop.StoreOp) else []
        access.operands = [*before, self.flat(access.memref), *values]
        access.map = AffineMapAttr(AffineMap(len(values), 0, tuple(exprs)))

    def flat(self, buffer: SSAValue) -> SSAValue:
        """Return the view of a buffer with one dimension, made where the buffer is defined."""
        if buffer not in self.views:
            size = 1
            for extent in shape_of(buffer):
                size *= extent
            view = loop.ViewOp(buffer, memref_type([size], element_type(buffer)))
            view.location = place_of(buffer)
            insert_after_definition(buffer, view)
            self.views[buffer] = view.result
        return self.views[buffer]


def range_of_index(index: SSAValue) -> Range | None:
    """Return the range of a loop variable; None for any other value."""
    nest = index.block.parent_op() if isinstance(index, BlockArgument) else None
    return (0, nest.trips - 1) if isinstance(nest, loop.ForOp) else None


def insert_after_definition(value: SSAValue, op: loop.ViewOp) -> None:
    """Put an op right behind the definition of a value."""
    owner = value.owner
    if isinstance(owner, Block):
        first = owner.first_op
        assert first is not None
        owner.insert_op_before(op, first)
        return
    block = owner.parent
    assert block is not None
    block.insert_op_after(op, owner)
