"""Which stages are matrix products, in whatever shape: matmul, convolution, and their like."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nn_opt.dialects.loop import BlockOp, Kind, LoadOp
from nn_opt.schedule.defaults.facts import is_contraction, par_axes, reduce_axes
from nn_opt.schedule.defaults.gpu.groups import is_plain
from nn_opt.schedule.fused_axes import only_index
from nn_opt.schedule.nest import loads_in, read, written
from nn_opt.schedule.padding import keeps_sum
from nn_opt.schedule.reindex import depends_on

COLUMNS = 512  # that are enough for some tiles: axes further out are batches


@dataclass(frozen=True)
class Product:
    """The axes of y[batch, rows, columns] = sum over k of a[batch, rows, k] * b[batch, k, columns].

    `rows_of` and `columns_of` are the operands that rows and columns index.
    """

    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    reduced: tuple[int, ...]
    rows_of: int
    columns_of: int

    def size(self, block: BlockOp, axes: tuple[int, ...]) -> int:
        """Return how many indices some axes have together."""
        return math.prod(block.axis_sizes[axis] for axis in axes)


def product_of(block: BlockOp) -> Product | None:
    """Return how a plain stage is a matrix product, or None if it is none."""
    factors = _factors(block)
    if factors is None:
        return None
    used = [depends_on(factor, block) for factor in factors]
    wide = [axis for axis in par_axes(block) if block.axis_sizes[axis] > 1]
    if not wide or None in used or not any(axis in (used[0] or ()) for axis in wide[-1:]):
        used, order = used[::-1], (1, 0)
    else:
        order = (0, 1)
    lanes, others = used
    if (
        lanes is None
        or others is None
        or any(k not in lanes or k not in others for k in _summed(block))
    ):
        return None
    columns = [axis for axis in wide if axis in lanes and axis not in others]
    rows = [axis for axis in wide if axis in others and axis not in lanes]
    reduced = _summed(block)
    if not columns or wide[-1] not in columns or not reduced:
        return None
    columns, rows = _innermost(block, columns), _innermost(block, rows)
    taken = {*columns, *rows, *reduced}
    batch = tuple(axis for axis in range(len(block.axis_sizes)) if axis not in taken)
    return Product(batch, tuple(rows), tuple(columns), tuple(reduced), order[1], order[0])


def _summed(block: BlockOp) -> list[int]:
    return [axis for axis in reduce_axes(block) if block.axis_sizes[axis] > 1]


def _factors(block: BlockOp) -> tuple[LoadOp, LoadOp] | None:
    """Return the loads of both factors of a sum of products that any order may sum."""
    if not is_plain(block) or not is_contraction(block) or Kind.SEQ in block.axis_kinds:
        return None
    sources = read(block)
    loads = [[load for load in loads_in(block) if load.memref is source] for source in sources]
    if len(sources) != 2 or len(written(block)) != 1 or block.init is None:
        return None
    if any(len(found) != 1 for found in loads) or not keeps_sum(block):
        return None
    if not only_index(block, range(len(block.axis_sizes))):
        return None
    return loads[0][0], loads[1][0]


def _innermost(block: BlockOp, axes: list[int]) -> list[int]:
    """Return the last of some axes that make enough columns or rows together."""
    count, size = 0, 1
    for axis in reversed(axes):
        if size >= COLUMNS:
            break
        size *= block.axis_sizes[axis]
        count += 1
    return axes[len(axes) - count :]
