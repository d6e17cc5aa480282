"""How many rows and vectors of columns the register tile of a matrix product has."""

from __future__ import annotations

import math
from functools import lru_cache

from nn_opt.ir.target import Target

TALLEST = 8  # rows: those of a wide matrix lie at equal places of a cache that has eight of each
WIDEST = 8  # vectors
CHAINS = 8  # sums at once that keep the multipliers busy: cycles a product takes, times them
MISSED = 0.25  # of a cycle, for each vector of the right side; rows stay in the first cache
BORROWED = 2  # registers for what is repeated over a row's vectors


@lru_cache(maxsize=256)
def product_tile(rows: int, columns: int, target: Target) -> tuple[int, int]:
    """Return rows and vectors of the tile that takes the fewest cycles for all of a product."""
    rows, columns = max(rows, 1), max(columns, 1)  # of an empty matrix any tile is as good
    lanes = min(target.lanes, columns)
    across = -(-columns // lanes)
    tall = 2 * TALLEST - 2 if across == 1 else TALLEST
    shapes = [
        (r, v)
        for r in sorted({even(rows, most) for most in range(1, tall + 1)})
        for v in range(1, min(across, WIDEST) + 1)
        if r * v + v + BORROWED <= target.vector_registers
    ]
    return min(shapes, key=lambda shape: _cost(rows, across, *shape))


def even(size: int, most: int) -> int:
    """Return the part <= most that cuts `size` into near-equal parts."""
    return math.ceil(size / math.ceil(size / most))


def _cost(rows: int, across: int, r: int, v: int) -> float:
    """Return the cycles of one step of the sum, over all tiles."""
    high, wide = _cut(rows, r), _cut(across, v)
    return sum(m * n * _cycles(h, w) for h, m in high.items() for w, n in wide.items())


def _cycles(r: int, v: int) -> float:
    """Return a tile's cycles: products, sums that wait, or vectors from the next cache."""
    return max(r * v, CHAINS, 2 * v) + MISSED * (r / 4 + v)


def _cut(size: int, part: int) -> dict[int, int]:
    """Return the parts of a size that is cut from one end, and how many there are of each."""
    whole, rest = divmod(size, part)
    return {k: n for k, n in ((part, whole), (rest, 1)) if k and n}
