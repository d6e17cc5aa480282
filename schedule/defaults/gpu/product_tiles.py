"""How much of a matrix product a block of threads computes, and how much each of its threads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nn_opt.ir.target import Gpu

LANES = 4  # 32-bit numbers that a thread loads at once, of all GPUs
ENOUGH = 128  # blocks that keep a large GPU busy
PAD = 4  # elements between rows of shared memory, so that columns are in other banks
BANKS = 32  # of 4 bytes
PARTS = (1, 2, 4, 8, 16)  # that blocks of their own sum, for a second kernel to add
LEAST_STEPS = 8  # of a part
LAUNCH = 1e8  # terms that a large GPU sums in the 3 us in which another kernel starts
STORED = 60  # terms that it sums while it writes a number and reads it again


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


@dataclass(frozen=True)
class Sizes:
    """Of a product: how many batches, rows and columns, and terms in each sum."""

    batch: int
    rows: int
    columns: int
    terms: int


def choose_tile(sizes: Sizes, element: int, gpu: Gpu) -> tuple[ProductTile, int]:
    """Return the tile, and the number of parts of each sum, that are estimated to be fastest."""
    fitting = [tile for tile in map(lambda t: fitted(t, element, gpu), TILES) if tile is not None]
    assert fitting, "the smallest tiles fit into any GPU"
    choices = [
        (tile, parts) for tile in fitting for parts in PARTS if _may_have(tile, parts, sizes)
    ]
    return min(choices, key=lambda choice: _cost(*choice, sizes))


def _may_have(tile: ProductTile, parts: int, sizes: Sizes) -> bool:
    return parts == 1 or sizes.terms >= parts * tile.depth * LEAST_STEPS


def fitted(tile: ProductTile, element: int, gpu: Gpu) -> ProductTile | None:
    """Return a tile as the GPU can have it: with one place instead of two, or not at all."""
    if tile.threads > gpu.threads:
        return None
    single = replace(tile, double=False)
    return next((t for t in (tile, single) if t.shared_bytes(element) <= gpu.shared_bytes), None)


def _cost(tile: ProductTile, parts: int, sizes: Sizes) -> float:
    """Return the time of all blocks, in that of one term when all of a GPU is busy."""
    down, across = -(-sizes.rows // tile.height), -(-sizes.columns // tile.width)
    results = sizes.batch * down * across * tile.height * tile.width
    loads = 1 + 16 / tile.height + 16 / tile.width + 2 / tile.rows  # shared and global, of each
    idle = max(1.0, ENOUGH / (sizes.batch * down * across * parts))
    joining = 0 if parts == 1 else LAUNCH + results * parts * STORED
    return results * sizes.terms * loads * idle + joining
