"""Small models as files, each with an input and what onnxruntime makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from bench import models


@dataclass(frozen=True)
class Sample:
    """A model's file, one input, and the output that belongs to it."""

    path: Path
    name: str  # of the input
    x: NDArray[np.float32]
    y: NDArray[np.float32]


def sample_of(kind: str, folder: Path, file: str) -> Sample:
    """Write a small model of bench.models into a folder."""
    path = folder / file
    path.write_bytes(models.build_small(kind).SerializeToString())
    session = onnxruntime.InferenceSession(str(path))
    (given,) = session.get_inputs()
    x = np.random.default_rng(0).normal(size=given.shape).astype(np.float32)
    (y,) = session.run(None, {given.name: x})
    return Sample(path, given.name, x, np.asarray(y))
