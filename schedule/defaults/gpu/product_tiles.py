"""How much of a matrix product a block of threads computes, and how much each of its threads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nn_opt.ir.target import Gpu

LANES = 4  # 32-bit numbers that a thread loads at once, of all GPUs
ENOUGH = 128  # blocks that keep a large GPU busy
PAD = 4  # elements between rows of shared memory, so that columns are in other banks
BANKS = 32  # of 4 bytes


@dataclass(frozen=True)
class ProductTile:
    """Blocks of `down` x `across` threads of `rows` x LANES results, `depth` terms a step."""

    down: int
    across: int
    rows: int
    depth: int
    double: bool = True

    @property
    def height(self) -> int:
        """Rows of a block."""
        return self.down * self.rows

    @property
    def width(self) -> int:
        """Columns of a block."""
        return self.across * LANES

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.down * self.across

    def shared_bytes(self, element: int) -> int:
        """Bytes of shared memory that a block takes, of elements of so many bytes."""
        places = 2 if self.double else 1
        return (self.height + PAD + self.width) * self.depth * places * element


# From the one that computes most with what it loads to those for few rows or columns.
TILES = (
    ProductTile(8, 32, 16, 8),
    ProductTile(16, 16, 8, 8),
    ProductTile(8, 16, 8, 16),
    ProductTile(16, 16, 4, 16),
    ProductTile(8, 8, 4, 16),
    ProductTile(2, 32, 8, 32, double=False),
    ProductTile(2, 32, 4, 16),
    ProductTile(1, 32, 4, 32),
    ProductTile(32, 2, 4, 16),
)


def choose_tile(batch: int, rows: int, columns: int, element: int, gpu: Gpu) -> ProductTile:
    """Return the tile that is estimated to take the least time."""
    fitting = [tile for tile in map(lambda t: _fitted(t, element, gpu), TILES) if tile is not None]
    assert fitting, "the smallest tiles fit into any GPU"
    return min(fitting, key=lambda tile: _cost(tile, batch, rows, columns))


def _fitted(tile: ProductTile, element: int, gpu: Gpu) -> ProductTile | None:
    """Return a tile as the GPU can have it: with one place instead of two, or not at all."""
    if tile.threads > gpu.threads:
        return None
    single = replace(tile, double=False)
    return next((t for t in (tile, single) if t.shared_bytes(element) <= gpu.shared_bytes), None)


def _cost(tile: ProductTile, batch: int, rows: int, columns: int) -> float:
    """Return the time of all blocks, in that of one product when all of a GPU is busy."""
    down, across = -(-rows // tile.height), -(-columns // tile.width)
    work = down * across * tile.height * tile.width
    loads = 1 + 16 / tile.height + 16 / tile.width + 2 / tile.rows  # shared and global, of each
    idle = max(1.0, ENOUGH / (batch * down * across))
    return work * loads * idle
