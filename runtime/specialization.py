"""What a model was compiled for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Specialization:
    """One way through a model that was compiled, or taken from the cache.

    shapes: those of the inputs, by name.
    values: what became constants of the code, by name, as lists and numbers.
    stages: how many programs run one after the other.
    host: the nodes that run on the host between them, as `name: Operator`.
    batches: sizes of chunks that serve any other size of the batch.
    """

    shapes: Mapping[str, tuple[int, ...]]
    values: Mapping[str, Any]
    stages: int = 1
    host: tuple[str, ...] = ()
    batches: tuple[int, ...] = ()
