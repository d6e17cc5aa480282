"""A model as WebAssembly, run by wasmtime in this process."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from nn_opt.runtime.artifact import Artifact
from nn_opt.runtime.loader import RuntimeFault, Unloadable

Array = NDArray[Any]
NAMES = ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf",
         "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "tan",
         "tanh", "fmod", "atan2f", "cbrtf")  # fmt: skip


class WasmProgram:
    """An instance of a module with its memory; one run at a time."""

    def __init__(self, artifact: Artifact) -> None:
        """Compile the module and fill in its weights.

        Raises: RuntimeFault if there is no wasmtime, Unloadable if it refuses the module.
        """
        self.manifest = artifact.manifest
        self._lock = threading.Lock()
        wasmtime = _wasmtime()
        engine = wasmtime.Engine()
        self._store = wasmtime.Store(engine)
        try:
            module = wasmtime.Module(engine, artifact.code)
            instance = wasmtime.Instance(self._store, module, self._imports(wasmtime, module))
        except (wasmtime.WasmtimeError, wasmtime.Trap) as error:
            said = str(error).splitlines()[0]
            raise Unloadable(f"error: wasmtime refuses the module: {said}") from error
        self._exports: Any = instance.exports(self._store)
        self._run: Any = self._exports["run"]
        self._memory: Any = self._exports["memory"]
        inputs, outputs = self.manifest.inputs, self.manifest.outputs
        self._inputs = [self._place(f"input{k}") for k in range(len(inputs))]
        self._outputs = [self._place(f"output{k}") for k in range(len(outputs))]
        self._fill(artifact.weights.bytes)

    def _imports(self, wasmtime: Any, module: Any) -> list[Any]:
        """Return the functions of float64 that a module asks for."""
        made: list[Any] = []
        for wanted in module.imports:
            if wanted.name not in NAMES:
                raise Unloadable(f"error: the module needs {wanted.name!r}, which is not here")
            made.append(wasmtime.Func(self._store, wanted.type, _exact(wanted.name)))
        return made

    def _place(self, name: str) -> int:
        place: int = self._exports[name].value(self._store)
        return place

    def _base(self) -> int:
        """Return where the module's memory begins in this process."""
        return ctypes.addressof(self._memory.data_ptr(self._store).contents)

    def _fill(self, weights: Array) -> None:
        ctypes.memmove(self._base() + self._place("weights"), weights.ctypes.data, weights.nbytes)

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        """Compute into `outputs`, in one thread; all arrays are row-major, of the manifest's types.

        Raises: RuntimeFault if the code stops at a fault.
        """
        with self._lock:
            base = self._base()
            for place, array in zip(self._inputs, inputs, strict=True):
                ctypes.memmove(base + place, array.ctypes.data, array.nbytes)
            self._call()
            for place, array in zip(self._outputs, outputs, strict=True):
                ctypes.memmove(array.ctypes.data, base + place, array.nbytes)

    def _call(self) -> None:
        wasmtime = _wasmtime()
        try:
            self._run(self._store)
        except (wasmtime.WasmtimeError, wasmtime.Trap) as error:
            said = str(error).splitlines()[-1].strip()
            raise RuntimeFault(f"error: the WebAssembly code stopped: {said}") from error


def _wasmtime() -> Any:
    try:
        import wasmtime
    except ImportError as error:
        raise RuntimeFault(
            "error: WebAssembly runs through wasmtime, which is not installed"
            "\n  hint: pip install 'nn-opt[wasm]'"
        ) from error
    return wasmtime


def _exact(name: str) -> Any:
    """Return Python's function of this name, which has a value where Python raises."""
    function = getattr(math, name.removesuffix("f") if name in ("atan2f", "cbrtf") else name)

    def call(*values: float) -> float:
        try:
            return function(*values)
        except ValueError:
            return _edge(name, values[0])
        except OverflowError:
            return math.inf

    return call


def _edge(name: str, value: float) -> float:
    """Return the value at a pole, or that of what has none."""
    if value == 0 and name in ("log", "log2", "log10"):
        return -math.inf
    if name == "log1p" and value == -1:
        return -math.inf
    if name == "atanh" and abs(value) == 1:
        return math.copysign(math.inf, value)
    return math.nan
