"""Axes that fused loops walk through together become one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr, IndexType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from nn_opt.dialects.loop import ApplyOp, BlockOp, Kind
from nn_opt.ir.affine import compact, flatten, floordiv, is_sum, modulo
from nn_opt.schedule.nest import ranges_of, set_bindings


def join_reduced_axes(block: BlockOp) -> BlockOp:
    """Return the stage with one reduced axis for all, if only together they are sums of loops.

    (%a = %i floordiv 6 : reduce 3, %b = %i mod 6 : reduce 6) { x[%a, %b] }
      ->  (%k = %i : reduce 18) { x[%k floordiv 6, %k mod 6] }
    """
    reduced = [k for k, kind in enumerate(block.axis_kinds) if kind is Kind.REDUCE]
    exprs = [block.bindings.data.results[k] for k in reduced]
    sizes = [block.axis_sizes[k] for k in reduced]
    joint = flatten(exprs, sizes, ranges_of(block.indices))
    if all(is_sum(expr) for expr in exprs) or not is_sum(joint):
        return block
    return join_axes(block, reduced)


def join_axes(block: BlockOp, axes: Sequence[int]) -> BlockOp:
    """Return the stage with one axis, in the place of the first, for several of the same kind.

    It counts through all of them, the last one fastest. A stage that computes with an axis computes
    it from the new one.
    """
    exprs = [block.bindings.data.results[k] for k in axes]
    sizes = [block.axis_sizes[k] for k in axes]
    joint = flatten(exprs, sizes, ranges_of(block.indices))
    order = [k for k in range(len(block.axis_sizes)) if k == axes[0] or k not in axes]
    variables, conditions = list(block.indices), list(block.conditions.data.results)
    bindings = [joint if k == axes[0] else block.bindings.data.results[k] for k in order]
    init = block.detach_region(block.regions[1]) if block.init is not None else None
    new = BlockOp(
        block.stage.data,
        [],
        AffineMap(0, 0, (AffineExpr.constant(0),) * len(bindings)),
        [math.prod(sizes) if k == axes[0] else block.axis_sizes[k] for k in order],
        [block.axis_kinds[k] for k in order],
        block.detach_region(block.regions[0]),
        init,
    )
    for region in new.regions:
        _join_arguments(list(region.block.args), axes, sizes)
    new.location = block.location
    parent = block.parent
    assert parent is not None
    parent.insert_op_before(new, block)
    block.detach()
    block.drop_all_references()
    set_bindings(new, variables, bindings, conditions)
    return new


def only_index(block: BlockOp, axes: Sequence[int]) -> bool:
    """Return whether a stage uses axes in the places of loads and stores alone."""
    uses = [use for region in block.regions for k in axes for use in region.block.args[k].uses]
    return all("map" in use.operation.properties for use in uses)


def _join_arguments(
    args: Sequence[BlockArgument], axes: Sequence[int], sizes: Sequence[int]
) -> None:
    """Replace some axes of a region, from the first one's place on, by one that counts through."""
    region = args[0].block
    joint = region.insert_arg(IndexType(), axes[0])
    joint.name_hint = "_".join(args[k].name_hint or "r" for k in axes)
    stride = math.prod(sizes)
    for k, size in zip(axes, sizes, strict=True):
        stride //= size
        part = floordiv(AffineExpr.dimension(0), stride)
        expr = part if k == axes[0] else modulo(part, size)
        for op in dict.fromkeys(use.operation for use in args[k].uses):
            if "map" in op.properties:
                _index_by(op, args[k], joint, expr)
            else:
                _compute_with(op, args[k], joint, expr)
        region.erase_arg(args[k])


def _index_by(op: Operation, axis: SSAValue, joint: SSAValue, part: AffineExpr) -> None:
    """Let an access use part(%joint) in the place of %axis."""
    attr = op.properties["map"]
    assert isinstance(attr, AffineMapAttr)
    fixed = len(op.operands) - attr.data.num_dims
    indices = list(op.operands[fixed:])
    indices += [joint] if joint not in indices else []
    part = part.replace_dims_and_symbols([AffineExpr.dimension(indices.index(joint))], ())
    dims = [part if v is axis else AffineExpr.dimension(k) for k, v in enumerate(indices)]
    exprs = [e.replace_dims_and_symbols(dims, ()) for e in attr.data.results]
    values, local = compact(exprs, indices)
    op.operands = [*op.operands[:fixed], *values]
    op.properties["map"] = AffineMapAttr(AffineMap(len(values), 0, tuple(local)))


def _compute_with(op: Operation, axis: SSAValue, joint: SSAValue, part: AffineExpr) -> None:
    """Let an op compute with part(%joint) in the place of %axis."""
    index = ApplyOp(part, [joint])
    index.location = op.location
    block = op.parent
    assert block is not None
    block.insert_op_before(index, op)
    op.operands = [index.result if value is axis else value for value in op.operands]
