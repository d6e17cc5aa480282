"""A compiled model of known sizes, loaded and callable."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import addressof, c_char
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
        manifest = artifact.manifest
        counts = len(manifest.inputs), len(manifest.outputs)
        self._arenas = Arenas(manifest.arena_bytes, *counts)

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        """Compute into `outputs`; all arrays are row-major, of the manifest's types and shapes."""
        arena = self._arenas.take()
        for k, array in enumerate(inputs):
            arena.inputs[k] = _address(array)
        for k, array in enumerate(outputs):
            arena.outputs[k] = _address(array)
        given, wanted = arena.inputs_at, arena.outputs_at
        self._call(self._entry, given, wanted, self._weights_at, arena.address, threads)
        self._arenas.give(arena)


def _address(array: Any) -> int:
    """Return where an array's elements are: by the way that takes a quarter of a microsecond."""
    try:
        return addressof(c_char.from_buffer(array))
    except (TypeError, ValueError):  # read-only, empty, or of a type that no buffer has
        return array.__array_interface__["data"][0]
