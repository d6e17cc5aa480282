"""Loads a library that nn-compile made; needs NumPy, and nothing of nn-opt. Copy this file.

nn-compile model.onnx -o net

from nn_model import Model
model = Model("net")
y = model(x)
"""

import ctypes
import json
from pathlib import Path

import numpy as np

FORMAT = 1


class ModelError(Exception):
    """A library that cannot run here, or inputs that do not fit; the text says why."""


class Model:
    """A model in a library; several threads may call it."""

    def __init__(self, place):
        """Load a folder that nn-compile made, or the .json file beside a library."""
        place = Path(place)
        files = sorted(place.glob("*.json")) if place.is_dir() else [place]
        if len(files) != 1:
            raise ModelError(f"{place} has {len(files)} descriptions (.json), expected one")
        text = files[0].read_text(encoding="utf-8")
        said = json.loads(text)
        if said["format"] != FORMAT:
            raise ModelError(f"{files[0]} has format {said['format']}, expected {FORMAT}")
        self.inputs, self.outputs = said["inputs"], said["outputs"]
        self._name = said["name"]
        self._library = ctypes.CDLL(str((files[0].parent / said["library"]).resolve()))
        self._run = self._function("run")
        self._run.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        for word in ("message", "variant", "description"):
            self._function(word).restype = ctypes.c_char_p
        if self._function("description")().decode() != text:
            # The system also takes a library for one of the same path that was loaded before.
            raise ModelError(f"{said['library']} is another library than {files[0]} describes")

    def _function(self, word):
        return getattr(self._library, f"{self._name}_{word}")

    @property
    def variant(self):
        """The machine whose code runs here, or None."""
        name = self._function("variant")()
        return name.decode() if name else None

    @property
    def threads(self):
        """How many threads a call may use; may be set."""
        return ctypes.c_int.in_dll(self._library, f"{self._name}_threads").value

    @threads.setter
    def threads(self, count):
        ctypes.c_int.in_dll(self._library, f"{self._name}_threads").value = count

    def __call__(self, *arrays, **named):
        """Run on arrays in the order of the inputs, or by their names.

        Return the output, or a tuple of them if there are several.
        """
        names = [info["name"] for info in self.inputs]
        given = dict(zip(names, arrays, strict=False)) | named
        if len(arrays) > len(names) or set(given) != set(names):
            raise ModelError(f"the inputs are {', '.join(names)}")
        inputs = [_fitting(given[info["name"]], info) for info in self.inputs]
        outputs = [np.empty(info["shape"], _dtype(info)) for info in self.outputs]
        code = self._run(_addresses(inputs), _addresses(outputs))
        if code:
            raise ModelError(self._function("message")(code).decode())
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _dtype(info):
    """Return the dtype of an input or output; NumPy has no bfloat16, so its bits stand for it."""
    return np.dtype("uint16" if info["dtype"] == "bfloat16" else info["dtype"])


def _fitting(value, info):
    array = np.asarray(value)
    if array.dtype != _dtype(info) or list(array.shape) != info["shape"]:
        found = f"{array.dtype}{list(array.shape)}"
        raise ModelError(f"{info['name']} is {_dtype(info)}{info['shape']}, not {found}")
    return np.ascontiguousarray(array)


def _addresses(arrays):
    return (ctypes.c_void_p * max(len(arrays), 1))(*[array.ctypes.data for array in arrays])
