"""What a compiled model says of itself: inputs, outputs, memory, kernels; and its JSON form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from nn_opt.runtime.index_ranges import IndexRange

FORMAT = 1  # raise when the meaning of a field changes
OF_NUMPY = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
    "object",  # texts, and what is no tensor
)
OF_ML_DTYPES = (
    "bfloat16",
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
    *("int4", "uint4", "int2", "uint2"),
)
Dim = int | str  # a size, or the name of one that is not known before the first call


class ManifestError(Exception):
    """A manifest that says something impossible; the text says what."""


@dataclass(frozen=True)
class TensorInfo:
    """One input or output of a model; unknown sizes are names, and None is an unknown rank.

    kind: "tensor"; or "string", a tensor of objects; or of what it is a "sequence of ", a list, or
    an "optional ", which may be None.
    """

    name: str
    shape: tuple[Dim, ...] | None
    dtype: np.dtype[Any]
    kind: str = "tensor"

    def __str__(self) -> str:
        if self.kind == "tensor":
            return f"{self.name}: {self.dtype.name}{shape_text(self.shape)}"
        of = "" if self.dtype.hasobject else f" of {self.dtype.name}"
        return f"{self.name}: {self.kind}{of}"

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The shape, which must be known."""
        assert self.is_static, f"the shape of {self} is not known"
        return tuple(size for size in self.shape or () if isinstance(size, int))

    @cached_property
    def is_static(self) -> bool:
        """Whether every size is known."""
        return self.shape is not None and all(isinstance(size, int) for size in self.shape)


@dataclass(frozen=True)
class Kernel:
    """One function of a model, the nodes it covers, and its arithmetic operations a call.

    `factors` is the type of the numbers whose products it sums, such as int8; "" if it sums none.
    """

    name: str
    nodes: tuple[str, ...] = ()
    flops: int = 0
    factors: str = ""


@dataclass(frozen=True)
class Region:
    """A temporary's place in the arena, in bytes, and the steps between which it is alive."""

    name: str
    offset: int
    size: int
    first: int
    last: int


@dataclass(frozen=True)
class Manifest:
    """All that must be known to run a model besides its code and weights."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    arena_bytes: int = 0
    weight_bytes: int = 0
    target: str = ""
    cpu: str = ""
    compiler: str = ""
    kernels: tuple[Kernel, ...] = ()
    arena_plan: tuple[Region, ...] = ()
    external: Mapping[str, str] | None = None  # weight files beside the model: name to SHA-256
    object_sizes: tuple[int, ...] = ()  # bytes of each object file in the code; () for one
    launches: int = 0  # kernels that a call launches on a device
    hosted: bool = False  # whether the host runs nodes of the model, between programs
    index_ranges: tuple[IndexRange, ...] = ()  # what inputs that are indices may hold
    cut: str = ""  # where a model is cut that needs values of a run, as JSON; "" for a program

    @property
    def is_static(self) -> bool:
        """Whether every size of the inputs is known."""
        return all(info.is_static for info in self.inputs)


def shape_text(shape: tuple[Dim, ...] | None) -> str:
    """Return a shape as text, such as [N, 3, 224, 224]."""
    return "[...]" if shape is None else f"[{', '.join(map(str, shape))}]"


def dtype_named(name: str) -> np.dtype[Any]:
    """Return a NumPy dtype; those that NumPy lacks come from ml_dtypes.

    Raises: ValueError for any other name: NumPy takes far more than names for one.
    """
    if name in OF_ML_DTYPES:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    if name not in OF_NUMPY:
        raise ValueError(f"no element type is called {name!r}")
    return np.dtype(name)


def to_json(manifest: Manifest) -> bytes:
    """Return the manifest as JSON."""
    record = asdict(manifest) | {"format": FORMAT}
    for key in ("inputs", "outputs"):
        record[key] = [[i.name, i.shape, i.dtype.name, i.kind] for i in getattr(manifest, key)]
    return json.dumps(record, sort_keys=True).encode()


def from_json(text: bytes) -> Manifest:
    """Read a manifest, trusting nothing.

    Raises: ManifestError.
    """
    try:
        record: Any = json.loads(text)
        if record.pop("format") != FORMAT:
            raise ManifestError("written by another version")
        for key in ("inputs", "outputs"):
            record[key] = tuple(_tensor(*entry) for entry in record[key])
        record["kernels"] = tuple(
            Kernel(k["name"], tuple(k["nodes"]), k["flops"], k.get("factors", ""))
            for k in record["kernels"]
        )
        record["arena_plan"] = tuple(Region(**region) for region in record["arena_plan"])
        record["object_sizes"] = tuple(record["object_sizes"])
        record["index_ranges"] = tuple(map(_index_range, record.get("index_ranges", ())))
        manifest = Manifest(**record)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ManifestError(f"not a manifest: {error}") from error
    _check_types(manifest)
    return manifest


def _tensor(name: str, shape: list[Dim] | None, dtype: str, kind: str = "tensor") -> TensorInfo:
    sizes_fit = all(isinstance(d, str) or (type(d) is int and d >= 0) for d in shape or ())
    if type(name) is not str or type(kind) is not str or not sizes_fit:
        raise ManifestError(f"not a tensor: {name!r} {shape!r}")
    return TensorInfo(name, None if shape is None else tuple(shape), dtype_named(dtype), kind)


def _index_range(record: Any) -> IndexRange:
    cuts = tuple((axis, start, stop, step) for axis, start, stop, step in record.pop("cuts"))
    return IndexRange(**record, cuts=cuts)


def _check_types(manifest: Manifest) -> None:
    """Sizes are used as they stand, so they must be sizes."""
    sizes = [
        (f.name, getattr(manifest, f.name)) for f in fields(manifest) if f.name[-6:] == "_bytes"
    ]
    sizes += [("object_sizes", size) for size in manifest.object_sizes]
    for name, value in sizes:
        if not (type(value) is int and 0 <= value < 1 << 48):
            raise ManifestError(f"{name} is {value!r}, expected a number of bytes")
    for known in manifest.index_ranges:
        if not (known.is_sound and known.input < len(manifest.inputs)):
            raise ManifestError(f"not the range of an index: {known}")
    if type(manifest.cut) is not str or type(manifest.hosted) is not bool:
        raise ManifestError(f"cut is {manifest.cut!r}, expected a text")
    if type(manifest.launches) is not int or manifest.launches < 0:
        raise ManifestError(f"launches is {manifest.launches!r}, expected a number of launches")
