"""Inputs for a run: files the user names, and seeded random values for the rest."""

from __future__ import annotations

import math
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nn_opt.driver.models import fail
from nn_opt.runtime.manifest import TensorInfo

Array = NDArray[Any]
# Integers are mostly indices, kinds or masks: the random ones stay valid for nearly all models;
# what is an index of fewer elements is told when the model runs.
_FEW, _SOME = 2, 10
_MOST_BYTES = 1 << 33  # of one input; its values are made in float64


def read_arrays(texts: Sequence[str]) -> dict[str, Array]:
    """Return arrays by name, of texts such as x=x.npy."""
    arrays: dict[str, Array] = {}
    for text in texts:
        name, equals, file = text.partition("=")
        if not equals:
            fail(f"error: --input is {text!r}, expected NAME=FILE.npy")
        arrays[name] = _read(Path(file))
    return arrays


def _read(path: Path) -> Array:
    try:
        array: Any = np.load(path, allow_pickle=False)
    except OSError as error:
        fail(f"{path}: error: {error.strerror or error}")
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        fail(f"{path}: error: this is no .npy file: {error}")
    if not hasattr(array, "dtype"):
        fail(f"{path}: error: this holds several arrays\n  hint: save one with numpy.save")
    return array


def random_inputs(
    infos: Sequence[TensorInfo], given: Mapping[str, Array], seed: int
) -> dict[str, Array]:
    """Return all inputs: those given, and N(0, 1), small integers or coin tosses for the others."""
    generator = np.random.default_rng(seed)
    inputs: dict[str, Array] = dict(given)
    for info in infos:
        if info.name not in inputs:
            inputs[info.name] = _random(info, _sizes(info, infos, given), generator)
    return inputs


def _sizes(
    info: TensorInfo, infos: Sequence[TensorInfo], given: Mapping[str, Array]
) -> tuple[int, ...]:
    """Return the sizes of an input; given arrays bind names, and a batch is 1 by default."""
    if info.kind != "tensor":
        fail(f"error: input {info}: there are no random ones\n  hint: run it from Python")
    if info.shape is None:
        hint = f"--shape {info.name}=1x3x8x8"
        fail(f"error: the rank of input {info.name!r} is unknown\n  hint: {hint}")
    bound = _named_sizes(infos, given)
    sizes: list[int] = []
    for axis, size in enumerate(info.shape):
        if isinstance(size, str) and size not in bound:
            flag = f"--shape {info.name}=..." if "." in size else f"--dim {size}=8"
            if axis:
                fail(f"error: input {info}: size {size!r} is unknown\n  hint: {flag}")
            sys.stderr.write(f"note: {size!r} of {info.name!r} is taken as 1; {flag} sets it\n")
            bound[size] = 1
        sizes.append(bound[size] if isinstance(size, str) else size)
    return tuple(sizes)


def _named_sizes(infos: Sequence[TensorInfo], given: Mapping[str, Array]) -> dict[str, int]:
    bound: dict[str, int] = {}
    for info in infos:
        shape = given[info.name].shape if info.name in given else ()
        for name, size in zip(info.shape or (), shape, strict=False):
            if isinstance(name, str):
                bound.setdefault(name, size)
    return bound


def _random(info: TensorInfo, sizes: tuple[int, ...], generator: np.random.Generator) -> Array:
    if math.prod(sizes) * info.dtype.itemsize > _MOST_BYTES:
        problem = f"input {info} is too large for random values: {list(sizes)}"
        fail(f"error: {problem}\n  hint: --input {info.name}=FILE.npy")
    if info.dtype == np.bool_:
        return generator.integers(0, 2, sizes).astype(np.bool_)
    if np.issubdtype(info.dtype, np.integer):
        few = any(word in info.name.lower() for word in ("mask", "type", "segment"))
        return generator.integers(0, _FEW if few else _SOME, sizes).astype(info.dtype)
    return generator.standard_normal(sizes).astype(info.dtype)
