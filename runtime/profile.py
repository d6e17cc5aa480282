"""Time by kernel, of code compiled with a time stamp after each."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nn_opt.runtime.manifest import Kernel
from nn_opt.runtime.pool import pool
from nn_opt.runtime.program import Program

_lock = threading.Lock()  # the time stamps go to one table of the process


@dataclass(frozen=True)
class KernelTime:
    """A kernel and how long all its calls in one run of the model took."""

    kernel: Kernel
    seconds: float

    @property
    def gflops(self) -> float:
        """Arithmetic speed in GFLOP/s; 0 where the operations were not counted."""
        return self.kernel.flops / self.seconds / 1e9 if self.seconds else 0.0


def measure(
    program: Program,
    inputs: Sequence[NDArray[Any]],
    outputs: Sequence[NDArray[Any]],
    threads: int,
    repeat: int,
) -> list[KernelTime]:
    """Run `repeat` times and return each kernel's median, in the order of the model's calls."""
    kernels = program.manifest.kernels
    runs: list[NDArray[np.int64]] = []
    with _lock:
        for _ in range(repeat + 1):
            table = np.zeros(max(len(kernels), 1), np.int64)
            pool().profile(table.ctypes.data, len(kernels))
            program.run(inputs, outputs, threads)
            runs.append(table)
        pool().profile(None, 0)
    warm = runs[1:]
    return [
        KernelTime(kernel, statistics.median(int(table[k]) for table in warm) / 1e9)
        for k, kernel in enumerate(kernels)
    ]
