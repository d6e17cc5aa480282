"""Blocks of memory: aligned, zero at first, on huge pages where the system offers them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from nn_opt.runtime.memory import Block

HUGE = 2 << 20
SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
OFFERED = SETTING.exists() and "[never]" not in SETTING.read_text()


def huge_bytes(address: int) -> int:
    """Return how much of the mapping around an address is on huge pages."""
    inside = False
    for words in smaps():
        if not words[0].endswith(":"):
            start, end = (int(text, 16) for text in words[0].split("-"))
            inside = start <= address < end
        elif inside and words[0] == "AnonHugePages:":
            return int(words[1]) * 1024
    raise AssertionError(f"nothing is mapped at {address:#x}")


def smaps() -> Iterator[list[str]]:
    return (line.split() for line in Path("/proc/self/smaps").read_text().splitlines())


@pytest.mark.parametrize("size", [0, 1, 4096, HUGE - 1, HUGE, 5 * HUGE + 12345])
def test_a_block_is_aligned_and_zero(size: int):
    block = Block(size)
    assert len(block.bytes) == size
    assert block.address == block.bytes.ctypes.data
    assert not size or block.address % (HUGE if size >= HUGE else 4096) == 0
    assert not block.bytes.any()
    block.bytes[:] = 7


@pytest.mark.skipif(not OFFERED, reason="this system offers no transparent huge pages")
def test_large_blocks_are_on_huge_pages():
    block = Block(16 * HUGE)
    block.bytes[:] = 1
    # Free memory in pieces may leave some of them without; the kernel need not find all.
    assert huge_bytes(block.address) >= HUGE


def test_a_mapped_part_of_a_file_can_be_read_alone(tmp_path: Path):
    path = tmp_path / "weights"
    path.write_bytes(bytes(4096) + bytes(range(100)))
    with path.open("rb", buffering=0) as file:
        block = Block.mapped(file, 4096, 100)
    np.testing.assert_array_equal(block.bytes, np.arange(100))
    with pytest.raises(ValueError, match="read-only"):
        block.bytes[0] = 1
