"""combine-products: one product for all that multiply the same value by constant matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint, Rewriter

from nn_opt.dialects import graph
from nn_opt.ir.remarks import remark
from nn_opt.ir.rewriting import carry_location, fuse_locations, rewrite
from nn_opt.ir.types import is_static, shape_of
from nn_opt.passes.attention import scale_of

Slice = tuple[int, int, int]  # axis, start, size


class CombineProductsPass(ModulePass):
    """a @ w + b, a @ v + c  ->  y = a @ [w v] + [b c], slices of y,  if they are read in place

    Queries, keys and values of an attention are such. A slice costs nothing where it is transposed
    or split into heads. What a product can finish itself, it should; and a piece of its own, for
    any other reader, is a copy that costs more than the calls that are saved. Convolutions stay:
    those of Inception are as fast one by one, within 0.2 %, and a part of each would be copied.

    Also reshape(slice(x))  ->  slice(reshape(x)), so that the slice meets what reads it.

    Needs: graph. Keeps: graph. Order: before fold-constants, which joins the weights.
    """

    name = "combine-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for region in [region for inner in op.walk() for region in inner.regions]:
            for block in region.blocks:
                for parts in parallel_products(block):
                    combine(parts)
                    remark(parts[0].product, self.name, f"one of {len(parts)} in one product")
                    erase(parts)
        rewrite(op, SliceBehindReshape())


@dataclass(frozen=True)
class Part:
    """A product, its weights, and the addition of a bias that alone reads it, if there is one."""

    product: graph.MatmulOp
    weights: graph.ConstantOp
    addition: graph.AddOp | None
    bias: graph.ConstantOp | None

    @property
    def result(self) -> SSAValue:
        return self.product.result if self.addition is None else self.addition.result


def parallel_products(block: Block) -> list[list[Part]]:
    """Return the groups of several products of one value whose results are read in place."""
    groups: dict[SSAValue, list[Part]] = {}
    for op in block.ops:
        part = part_of(op) if isinstance(op, graph.MatmulOp) else None
        if part is not None:
            groups.setdefault(part.product.a, []).append(part)
    found: list[list[Part]] = []
    for parts in groups.values():
        same = [p for p in parts if (p.bias is None) == (parts[0].bias is None)]
        if len(same) > 1:
            found.append(same)
    return found


def part_of(product: graph.MatmulOp) -> Part | None:
    """Return a product that may become part of another."""
    weights = product.b.owner
    plain = product.weight_layout is None and product.wide is None
    if not plain or not isinstance(weights, graph.ConstantOp) or len(shape_of(product.b)) != 2:
        return None
    if not is_static(product.a) or len(shape_of(product.a)) < 2:
        return None
    addition, bias = bias_of(product)
    part = Part(product, weights, addition, bias)
    return part if is_read_in_place(part.result) else None


def bias_of(product: graph.MatmulOp) -> tuple[graph.AddOp | None, graph.ConstantOp | None]:
    """Return the addition of a constant row that alone reads a product, and the row."""
    if product.result.has_one_use():
        add = next(iter(product.result.uses)).operation
        if isinstance(add, graph.AddOp) and add.result.type == product.result.type:
            other = add.rhs if add.lhs is product.result else add.lhs
            if isinstance(other.owner, graph.ConstantOp):
                columns = shape_of(product.result)[-1]
                if shape_of(other) == (columns,):
                    return add, other.owner
    return None, None


def is_read_in_place(value: SSAValue) -> bool:
    """Return whether all that reads a value could as well read it in a larger one."""
    readers = [use.operation for use in value.uses]
    return bool(readers) and all(_reads_in_place(reader) for reader in readers)


def _reads_in_place(op: Operation) -> bool:
    if isinstance(op, graph.ReshapeOp):
        axis = len(shape_of(op.x)) - 1
        return splits(op, axis) is not None and is_read_in_place(op.result)
    if scale_of(op) is not None:
        return is_read_in_place(op.results[0])
    return isinstance(op, graph.TransposeOp | graph.SliceOp)


def splits(op: graph.ReshapeOp, axis: int) -> tuple[int, ...] | None:
    """Return into which sizes a reshape splits one axis; None if it does anything else."""
    if not is_static(op.x) or not is_static(op.result):
        return None
    before, after = shape_of(op.x), shape_of(op.result)
    behind = len(before) - axis - 1
    middle = after[axis : len(after) - behind]
    kept = before[:axis] == after[:axis] and before[axis + 1 :] == after[len(after) - behind :]
    return middle if kept and len(after) >= len(before) else None


def combine(parts: Sequence[Part]) -> None:
    """Make one product of several, at the place of the first, and slices of it."""
    first = parts[0]
    new = Builder(InsertPoint.before(first.product))
    made: list[Operation] = []

    def insert(op: Operation) -> SSAValue:
        made.append(new.insert(op))
        return op.results[0]

    weights = [insert(part.weights.clone()) for part in parts]
    y = insert(graph.MatmulOp(first.product.a, insert(graph.ConcatOp(weights, 1))))
    biases = [insert(part.bias.clone()) for part in parts if part.bias is not None]
    if biases:
        y = insert(graph.AddOp(y, insert(graph.ConcatOp(biases, 0))))
    shape, start = shape_of(y), 0
    for part in parts:
        size = shape_of(part.result)[-1]
        starts, sizes = [0] * (len(shape) - 1), shape[:-1]
        piece = insert(graph.SliceOp(y, [*starts, start], [*sizes, size], [1] * len(shape)))
        part.result.replace_all_uses_with(piece)
        start += size
    ops = [op for part in parts for op in (part.product, part.addition) if op is not None]
    carry_location(fuse_locations(*ops), made)


def erase(parts: Sequence[Part]) -> None:
    """Erase products that were combined, and their additions."""
    for part in parts:
        for op in (part.addition, part.product):
            if op is not None:
                Rewriter.erase_op(op)


class SliceBehindReshape(RewritePattern):
    """reshape(slice(x))  ->  slice(reshape(x)),  if the slice cuts between the rows of the split

    [.., 96] cut at 64 and made [.., 4, 8]  ->  made [.., 12, 8] and cut at 8.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReshapeOp, rewriter: PatternRewriter, /):
        piece = op.x.owner
        cut = cut_of(piece) if isinstance(piece, graph.SliceOp) else None
        if not isinstance(piece, graph.SliceOp) or cut is None:
            return
        axis, start, _ = cut
        sizes = splits(op, axis)
        whole = shape_of(piece.x)
        if sizes is None or len(sizes) != 2 or whole[axis] % sizes[1] or start % sizes[1]:
            return
        split = [*whole[:axis], whole[axis] // sizes[1], sizes[1], *whole[axis + 1 :]]
        starts = [0] * len(split)
        starts[axis] = start // sizes[1]
        wide = rewriter.insert(graph.ReshapeOp(piece.x, split)).result
        rewriter.replace(op, graph.SliceOp(wide, starts, shape_of(op.result), [1] * len(split)))


def cut_of(op: graph.SliceOp) -> Slice | None:
    """Return the one axis of which a slice takes a part in one piece."""
    if not is_static(op.x) or set(op.steps.get_values()) != {1}:
        return None
    pairs = zip(shape_of(op.x), shape_of(op.result), strict=True)
    axes = [axis for axis, (whole, part) in enumerate(pairs) if whole != part]
    if len(axes) != 1:
        return None
    return axes[0], op.starts.get_values()[axes[0]], shape_of(op.result)[axes[0]]
