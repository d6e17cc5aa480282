"""Casts between all pairs of element types, compiled and in the interpreter, bit by bit.

All values of up to 16 bits, and of longer types those beside which rounding or range changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from onnx.numpy_helper import saturate_cast, to_float8e8m0
from single_op import assert_equal

import nn_opt
from nn_opt.dialects import graph
from nn_opt.ir.dtypes import MLIR_TYPES
from nn_opt.ir.small_types import SMALL_FLOATS, SMALL_INTEGERS, bits_of
from nn_opt.ir.types import mlir_type
from nn_opt.reference.graph import evaluate
from nn_opt.reference.narrow import is_integer, narrowed

Array = NDArray[Any]
BFLOAT = mlir_type(ml_dtypes.bfloat16)
E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)
DTYPES = sorted(MLIR_TYPES, key=lambda dtype: (dtype.itemsize, dtype.name))
FLOATS = [dtype for dtype in DTYPES if not is_integer(dtype) and dtype != np.bool_]
EIGHTS = [np.dtype(getattr(ml_dtypes, name)) for name in SMALL_FLOATS if "8_e" in name][:4]


@cache
def values(dtype: np.dtype[Any]) -> Array:
    """Return all values of a type, or those that are hard to round."""
    if dtype == np.bool_:
        return np.array([False, True])
    if dtype.name in SMALL_FLOATS | SMALL_INTEGERS:
        return np.arange(1 << bits_of(mlir_type(dtype))).astype(np.uint8).view(dtype)
    if dtype.itemsize <= 2:
        return np.arange(1 << 8 * dtype.itemsize).astype(f"u{dtype.itemsize}").view(dtype)
    return _integers(dtype) if is_integer(dtype) else _floats(dtype)


def _integers(dtype: np.dtype[Any]) -> Array:
    """Numbers beside powers of two, and beside those half way between floats of few digits."""
    limits = np.iinfo(dtype)
    found = {0, limits.min, limits.max, 65519, 65520}
    for power in range(1, 8 * dtype.itemsize):
        for half in (0, *(1 << power >> digits for digits in range(2, 12))):
            for near in (-1, 0, 1):
                found |= {(1 << power) + half + near, -(1 << power) - half + near}
    fitting = sorted(n for n in found if limits.min <= n <= limits.max)
    return np.array(fitting, object).astype(dtype)


def _floats(dtype: np.dtype[Any]) -> Array:
    """Each number of a narrow type, the middle between two, and their neighbours."""
    parts = [np.array([np.inf, np.nan, 1e30, 1e-30, 3.4e38, 5e9, 0.0, 1e-45, 6e-39])]
    for narrow in FLOATS:
        if narrow.itemsize <= 2:
            all_ = np.unique(values(narrow).astype(np.float64))
            some = all_[np.isfinite(all_)][:: 1 if narrow.itemsize == 1 else 50]
            parts += [some, (some[:-1] + some[1:]) / 2]
    whole = np.concatenate(parts).astype(dtype)
    whole = np.concatenate([whole, -whole])
    return np.concatenate([whole, *(np.nextafter(whole, dtype.type(end)) for end in (9e37, -9e37))])


def fields(source: np.dtype[Any], target: np.dtype[Any]) -> Iterator[str]:
    """Yield how a cast can be spelled; numbers of few bits become f32 before any of it matters."""
    yield ""
    if source.itemsize < 4 and source != np.float16:
        return
    if target in EIGHTS:
        yield "unsaturated"
    if target == E8M0:
        yield from ("unsaturated", *(f'{f} round_mode "{mode}"' for f, mode in MODES))


MODES = (("", "down"), ("", "nearest"), ("unsaturated", "nearest"))


def casts_of(source: np.dtype[Any]) -> tuple[str, list[np.dtype[Any]]]:
    """Return a program of all casts of a type, and the types of its results."""
    count, lines, targets = len(values(source)), list[str](), list[np.dtype[Any]]()
    for target in DTYPES:
        for field in fields(source, target) if target != source else ():
            types = [f"tensor<{count}x{MLIR_TYPES[dtype]}>" for dtype in (source, target)]
            name = f"%r{len(lines)}"
            lines.append(f"{name} = graph.cast %x {field} : ({types[0]}) -> {types[1]}")
            targets.append(target)
    names = ", ".join(f"%r{k}" for k in range(len(lines)))
    types = ", ".join(f"tensor<{count}x{MLIR_TYPES[target]}>" for target in targets)
    head = f"func.func @main(%x: tensor<{count}x{MLIR_TYPES[source]}>) -> ({types}) {{"
    return "\n".join([head, *lines, f"func.return {names} : {types}", "}"]), targets


def defined(x: Array, target: np.dtype[Any]) -> Array:
    """Return where a cast is defined: floats that an integer type holds, all else."""
    if is_integer(x.dtype) or x.dtype == np.bool_ or not is_integer(target):
        return np.ones(x.shape, np.bool_)
    limits, whole = ml_dtypes.iinfo(target), np.trunc(x.astype(np.float64))
    return (whole >= float(limits.min)) & (whole < 2.0 * (int(limits.max) // 2 + 1))


def assert_same(actual: Array, expected: Array, where: Array) -> None:
    """Assert that the bits are the same, save of what is not a number."""
    assert actual.dtype == expected.dtype
    bits = f"u{actual.itemsize}"
    same = (actual.view(bits) == expected.view(bits)) | ~where
    if actual.dtype in FLOATS:
        nan = [np.isnan(array.astype(np.float64)) for array in (actual, expected)]
        same |= nan[0] & nan[1]
    wrong = np.flatnonzero(~same)[:5]
    assert not len(wrong), (wrong, actual[wrong], expected[wrong])


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow")
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_compiled_casts(source: np.dtype[Any]):
    x = values(source)
    text, _ = casts_of(source)
    ops = [op for op in nn_opt.parse(text).walk() if isinstance(op, graph.CastOp)]
    model = nn_opt.compile(nn_opt.parse(text), cache=False, threads=1)
    for op, actual in zip(ops, model.run({"arg0": x}).values(), strict=True):
        (expected,) = evaluate(op, [x])
        assert_same(actual, expected, defined(x, expected.dtype))


@pytest.mark.parametrize("source", [np.float32, np.float16, ml_dtypes.bfloat16], ids=str)
@pytest.mark.parametrize("target", [d for d in FLOATS if d.itemsize == 1 and d != E8M0], ids=str)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_meaning_is_that_of_ml_dtypes(source: Any, target: np.dtype[Any]):
    """Its casts of floats of up to 32 bits round once; ONNX defines how they saturate."""
    x = values(np.dtype(source))
    with np.errstate(over="ignore"):
        assert_same(narrowed(x, target, saturate=False), x.astype(target), x == x)
    if target in EIGHTS:
        wide = x.astype(np.float32)
        assert_same(narrowed(x, target), saturate_cast(wide, target), x == x)


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
def test_powers_are_those_of_onnx(mode: str):
    """Where numbers are normal: ONNX's own function does not round others."""
    x = values(np.dtype(np.float32))
    x = x[(x >= np.finfo(np.float32).tiny) & np.isfinite(x)]
    for saturate in (True, False):
        expected = to_float8e8m0(x, saturate, mode)
        assert_same(narrowed(x, E8M0, saturate, mode), expected, x == x)


@pytest.mark.parametrize(
    ("x", "up", "lost"),
    [(0.0, 0, 255), (np.inf, 254, 255), (3e38, 254, 255), (1e-39, 0, 255), (np.nan, 255, 255)],
)
def test_special_powers(x: float, up: int, lost: int):
    """Source: the table of the ONNX operator Cast-24."""
    array = np.array([x], np.float32)
    assert narrowed(array, E8M0).view(np.uint8)[0] == up
    assert narrowed(array, E8M0, False, "nearest").view(np.uint8)[0] == lost


def test_halfway_numbers_round_once():
    """1 + 2^-8 + 2^-40 is above the middle of two bf16, which f32 would round it to."""
    x = np.array([1 + 2**-8 + 2**-40])
    op = graph.CastOp(graph.ConstantOp(x).result, BFLOAT)
    assert evaluate(op, [x])[0].astype(np.float64)[0] == 1 + 2**-7


BITS = [
    ("float32", "int32"),
    ("uint64", "float64"),
    ("float16", "bfloat16"),
    ("int16", "float16"),
    ("float8_e4m3fn", "int8"),
    ("uint8", "float8_e5m2"),
    ("int4", "uint4"),
    ("float4_e2m1fn", "int4"),
    ("int2", "uint2"),
]


@pytest.mark.parametrize(("source", "target"), BITS)
def test_bits_stay(source: str, target: str):
    dtypes = [np.dtype(getattr(ml_dtypes, name, name)) for name in (source, target)]
    element = mlir_type(dtypes[1])
    assert_equal(lambda x: graph.BitcastOp(x, element), values(dtypes[0])[:64])


def test_bools_are_bytes():
    element = mlir_type(np.uint8)
    assert_equal(lambda x: graph.BitcastOp(x, element), np.array([True, False]))
    element = mlir_type(np.bool_)
    assert_equal(lambda x: graph.BitcastOp(x, element), np.array([0, 1], np.uint8))


@pytest.mark.parametrize("dtype", EIGHTS, ids=str)
def test_what_is_chosen_stays_what_it_is(dtype: np.dtype[Any]):
    """No conversion in between makes an infinity the largest number."""
    x = values(dtype)
    condition = np.arange(len(x)) % 2 == 0
    assert_equal(graph.WhereOp, condition, x, x[::-1].copy())
