"""A model's inputs in a file; imports nothing that a process under measurement would not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Feeds = Mapping[str, Array]


def save_feeds(path: Path, feeds: Feeds) -> None:
    """Write inputs by name."""
    names = list(feeds)  # an input may have a name that no file in an archive may have
    arrays = {f"array{k}": feeds[name] for k, name in enumerate(names)}
    np.savez(path, names=np.array(names), **arrays)


def load_feeds(path: Path) -> Feeds:
    """Return what `save_feeds` wrote."""
    with np.load(path) as arrays:
        names = arrays["names"].tolist()
        return {name: arrays[f"array{k}"] for k, name in enumerate(names)}
