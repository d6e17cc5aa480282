"""A compiled model of known sizes, loaded and callable."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from nn_opt.runtime.artifact import Artifact
from nn_opt.runtime.loader import LoadedCode
from nn_opt.runtime.memory import Arenas
from nn_opt.runtime.pool import pool

ENTRY = "nn_main"  # void(inputs, outputs, weights, arena)
Array = NDArray[Any]


class Program:
    """Code, weights and temporaries of one artifact; several threads may run it at once."""

    def __init__(self, artifact: Artifact) -> None:
        """Load the artifact's code.

        Raises: RuntimeFault if it cannot run here.
        """
        self.manifest = artifact.manifest
        self._call = pool().call  # before the code, which refers to the pool
        self._code = LoadedCode(artifact.objects)
        self._entry = self._code.address(ENTRY)
        self._weights = artifact.weights
        self._weights_at = artifact.weights.address
        self._arenas = Arenas(artifact.manifest.arena_bytes)

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        """Compute into `outputs`; all arrays are row-major, of the manifest's types and shapes."""
        arena = self._arenas.take()
        given, wanted = _pointers(inputs), _pointers(outputs)
        self._call(self._entry, given, wanted, self._weights_at, arena.address, threads)
        self._arenas.give(arena)


def _pointers(arrays: Sequence[Array]) -> ctypes.Array[ctypes.c_void_p]:
    addresses = [array.__array_interface__["data"][0] for array in arrays]
    return (ctypes.c_void_p * len(addresses))(*addresses)
