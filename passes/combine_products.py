"""combine-products: one product for all that multiply the same value by constant matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from nn_opt.dialects import graph
from nn_opt.ir.remarks import remark
from nn_opt.ir.rewriting import carry_location, fuse_locations, rewrite
from nn_opt.ir.types import is_static, shape_of
from nn_opt.passes.attention import scale_of
from nn_opt.passes.reshape_last import reshape_patterns, splits


class CombineProductsPass(ModulePass):
    """a @ w + b, a @ v + c  ->  y = a @ [w v] + [b c], slices of y,  if they are read in place

    Queries, keys and values of an attention are such. A slice costs nothing where it is transposed
    or split into heads. What a product can finish itself, it should; and a piece of its own, for
    any other reader, is a copy that costs more than the calls that are saved. Convolutions stay:
    those of Inception are as fast one by one, within 0.2 %, and a part of each would be copied.

    Also reshape(slice(x))  ->  slice(reshape(x))  and  transpose(reshape(x))  ->
    reshape(transpose(x)), so that moves meet each other and what reads them.

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
        rewrite(op, *reshape_patterns())


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
