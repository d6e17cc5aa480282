"""What a case is, and how outputs are judged. Each restates public bug reports, named by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

Array = NDArray[Any]


@dataclass(frozen=True)
class Case:
    """A small model, its inputs, and the outputs or the refusal that are right.

    `refusal` lists words that the error must hold. `agrees` judges outputs that may differ among
    correct compilers; it returns a complaint or ''. With neither and no outputs, any answer or
    error will do as long as the process lives.
    """

    model: ModelProto
    inputs: Mapping[str, Array]
    outputs: Sequence[Array] = ()
    refusal: Sequence[str] = ()
    agrees: Callable[[Sequence[Array]], str] | None = None
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    signed_zeros: bool = False


@dataclass(frozen=True)
class Entry:
    """A case to be built when its test runs, and the reports it restates.

    whole: it is one module before it runs; else a value of its inputs must be known first.
    """

    name: str
    reports: str
    build: Callable[[], Case]
    whole: bool


BOOK: list[Entry] = []


def case(reports: str, *, whole: bool = True):
    """Decorate a function that builds a case; its name says what must hold."""

    def record(build: Callable[[], Case]) -> Callable[[], Case]:
        BOOK.append(Entry(build.__name__, reports, build, whole))
        return build

    return record


def floats(*values: float) -> Array:
    return np.asarray(values, np.float32)


def int64s(*values: int) -> Array:
    return np.asarray(values, np.int64)


def counted(*shape: int, start: int = 0) -> Array:
    """Return start, start + 1, ... as float32 of a shape."""
    return np.arange(start, start + np.prod(shape), dtype=np.float32).reshape(shape)


def judge(made: Case, outputs: Sequence[Array]) -> None:
    """Assert that the outputs are right: shape, dtype, values (NaN equal to NaN)."""
    if made.agrees is not None:
        assert not made.agrees(outputs)
        return
    assert len(outputs) == len(made.outputs)
    for got, want in zip(outputs, made.outputs, strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        if want.dtype.kind in "iub":
            np.testing.assert_array_equal(got, want)
            continue
        # float32 results of a few operations, rounded once each
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
        if made.signed_zeros:
            np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
