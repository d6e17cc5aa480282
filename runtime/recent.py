"""A table that holds what was asked for last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
MOST_HELD = 64  # programs of one model, or of one part of it


class Recent(Generic[K, V]):
    """The last `size` entries by their last use; to ask for the same one again costs nothing."""

    def __init__(self, size: int = MOST_HELD) -> None:
        self._size = size
        self._held: dict[K, V] = {}
        self._latest: K | None = None

    def __len__(self) -> int:
        return len(self._held)

    def find(self, key: K) -> V | None:
        """Return the entry of a key, None if it is not held."""
        entry = self._held.get(key)
        if entry is not None and key != self._latest:
            self._held.pop(key, None)
            self._held[key] = entry  # the last one now
            self._latest = key
        return entry

    def latest(self) -> V | None:
        """Return the entry that was asked for last, None if there is none."""
        return None if self._latest is None else self._held.get(self._latest)

    def keep(self, key: K, entry: V) -> V:
        """Hold an entry, and let go of the one that was used longest ago if there are too many."""
        self._held[key] = entry
        self._latest = key
        while len(self._held) > self._size:
            self._held.pop(next(iter(self._held)), None)
        return entry

    def items(self) -> Iterator[tuple[K, V]]:
        """Yield keys and entries, the one used last at the end."""
        yield from tuple(self._held.items())
