"""Sums of products by matrix multiplication: the meaning of a compute, only sooner."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from xdsl.dialects import arith
from xdsl.interpreter import Interpreter

from nn_opt.dialects import tensor
from nn_opt.ir.resources import Array
from nn_opt.reference.tensor_grids import POINTS_AT_ONCE, Box, extents, grids


def product_of(op: tensor.ComputeOp) -> arith.MulfOp | None:
    """Return the product that a compute sums and nothing else reads, if that is what it does."""
    assert op.combiner is not None
    if op.combiner.data != "add" or len(op.result) != 1:
        return None
    owner = op.yielded[0].owner
    if not isinstance(owner, arith.MulfOp) or not owner.result.has_one_use():
        return None
    factors = (owner.lhs.owner, owner.rhs.owner)
    plain = all(isinstance(factor, tensor.ReadOp | arith.ExtFOp) for factor in factors)
    return owner if plain else None


def outer_boxes(op: tensor.ComputeOp) -> Iterator[Box]:
    """Cut along the longest result axis, so that no factor has too many points."""
    sizes = op.axis_sizes
    if 0 in sizes:
        return
    if op.rank == 0:
        yield tuple(slice(0, size) for size in sizes)
        return
    longest = max(range(op.rank), key=lambda axis: sizes[axis])
    others = math.prod(sizes) // sizes[longest]
    widest = max(sizes[axis] for axis in range(op.rank) if axis != longest or op.rank == 1)
    step = max(1, POINTS_AT_ONCE * widest // others)
    for start in range(0, sizes[longest], step):
        cut = slice(start, min(start + step, sizes[longest]))
        yield tuple(cut if a == longest else slice(0, size) for a, size in enumerate(sizes))


def contracted(
    interpreter: Interpreter, op: tensor.ComputeOp, product: arith.MulfOp, box: Box
) -> Array:
    """Return the sum over the reduced axes of a product, both factors in float64."""
    left, right = _factors(interpreter, op, product, box)
    letters = "abcdefghijklmnopqrstuvwxyz"[: len(box)]
    terms = [
        "".join(letter for letter, size in zip(letters, factor.shape, strict=True) if size > 1)
        for factor in (left, right)
    ]
    present = set("".join(terms))
    kept = "".join(letter for letter in letters[: op.rank] if letter in present)
    spare = math.prod(
        size
        for letter, size in zip(letters[op.rank :], extents(box)[op.rank :], strict=True)
        if letter not in present
    )
    total = np.einsum(
        f"{terms[0]},{terms[1]}->{kept}", np.squeeze(left), np.squeeze(right), optimize=True
    )
    shape = [
        size if letter in present else 1
        for letter, size in zip(letters[: op.rank], extents(box), strict=False)
    ]
    return np.broadcast_to(total.reshape(shape) * spare, extents(box)[: op.rank])


def _factors(
    interpreter: Interpreter, op: tensor.ComputeOp, product: arith.MulfOp, box: Box
) -> list[Array]:
    """Return both factors over a box, with one axis an axis of the box."""
    block = op.body.block
    interpreter.push_scope("tensor.compute")
    interpreter.set_values(zip(block.args, grids(box), strict=True))
    for inner in block.ops:
        if inner is product:
            break
        results = interpreter.run_op(inner, interpreter.get_values(inner.operands))
        interpreter.set_values(zip(inner.results, results, strict=True))
    factors = interpreter.get_values(product.operands)
    interpreter.pop_scope()
    return [_of_rank(factor, len(box)) for factor in factors]


def _of_rank(factor: Array, rank: int) -> Array:
    """Return a factor as float64; one that no axis indexes has size 1 along all of them."""
    wide = np.asarray(factor, np.float64)
    return wide if wide.ndim == rank else wide.reshape((1,) * rank)
