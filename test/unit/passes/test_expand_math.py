"""How far expand-math's polynomials are from the truth, in units in the last place."""

import math

import numpy as np
import pytest
from machine import Machine, lowered
from xdsl.dialects.math import ExpOp, SinOp

from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.passes.expand_math import FUNCTIONS, ExpandMathPass

COUNT = 1 << 17
TRUTH = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=[float]),
}
RANGES = {
    "exp": [(-104, -86), (-87, 88.7), (-1, 1)],
    "expm1": [(-18, 88), (-1, 1)],
    "log": [(1e-3, 10), (0.5, 2)],
    "log1p": [(-0.999, 5), (-0.1, 0.1)],
    "tanh": [(-10, 10), (-0.7, 0.7)],
    "erf": [(-4.5, 4.5), (-1.1, 1.1)],
}
SPECIAL = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, 1, -1, 3e38, -3e38, 88.73, -103.98],
    np.float32,
)


def kernel(op: str, lanes: int, element: str = "f32", count: int = COUNT) -> str:
    kind = element if lanes == 1 else f"vector<{lanes}x{element}>"
    suffix = "" if lanes == 1 else f", {kind}"
    return f"""
    func.func @k(%x: memref<{count}x{element}>, %y: memref<{count}x{element}>) {{
      loop.for %i = 0 to {count // lanes} {{
        %a = loop.load %x[{lanes} * %i] : memref<{count}x{element}>{suffix}
        %b = math.{op} %a : {kind}
        loop.store %b, %y[{lanes} * %i] : memref<{count}x{element}>{suffix}
      }}
      func.return
    }}"""


def error_in_ulp(actual: np.ndarray, wanted: np.ndarray) -> float:
    """The largest error; what is not finite must be the same."""
    rounded = wanted.astype(np.float32)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(actual[~finite], rounded[~finite])
    unit = np.maximum(np.spacing(np.abs(rounded[finite])), np.float32(1.4e-45)).astype(float)
    return float(np.max(np.abs(actual[finite] - wanted[finite]) / unit))


def samples(op: str) -> np.ndarray:
    """Evenly spaced where it matters, then any bits, then the numbers that go wrong."""
    rng = np.random.default_rng(3)
    anywhere = rng.integers(0, 1 << 32, COUNT // 4, dtype=np.uint64).astype(np.uint32).view("f")
    parts = [np.linspace(*span, COUNT // 4).astype("f") for span in RANGES[op]]
    return np.concatenate([SPECIAL, anywhere, *parts, np.ones(COUNT, "f")])[:COUNT]


@pytest.mark.parametrize("op", list(TRUTH))
def test_every_function_is_within_two_ulp(op: str):
    x, y = samples(op), np.zeros(COUNT, "f")
    Machine(kernel(op, 16), [ExpandMathPass()])("k", x, y)
    with np.errstate(all="ignore"):
        wanted = TRUTH[op](x.astype(float))
        # 2 ulp is what the functions promise; exp and log promise 1 and a rounding of the sample.
        assert error_in_ulp(y, wanted) <= (1.1 if op in ("exp", "log") else 2.0)
        same_sign = np.signbit(y) == np.signbit(wanted)
    assert same_sign[~np.isnan(wanted)].all()


def test_approximate_erf_is_close_beside_one():
    x, y = samples("erf"), np.zeros(COUNT, "f")
    text = kernel("erf", 16).replace("math.erf %a", "math.erf %a fastmath<afn>")
    Machine(text, [ExpandMathPass()])("k", x, y)
    known = ~np.isnan(x)
    assert np.isnan(y[~known]).all()
    assert np.abs(y[known] - TRUTH["erf"](x[known].astype(float))).max() < 3.3e-7
    assert set(y[known & (np.abs(x) > 3.95)]) == {-1.0, 1.0}


def test_approximate_exp_is_right_where_results_are_normal():
    x, y = samples("exp"), np.zeros(COUNT, "f")
    text = kernel("exp", 16).replace("math.exp %a", "math.exp %a fastmath<afn>")
    Machine(text, [ExpandMathPass()])("k", x, y)
    with np.errstate(all="ignore"):
        wanted = np.exp(x.astype(float))
    inside = (wanted >= 2.0**-125.999) & (wanted < 2.0**127) | np.isnan(x)
    assert error_in_ulp(y[inside], wanted[inside]) <= 1.1
    assert y[wanted < 2.0**-125.999].max() <= 2.0**-125
    assert y[wanted >= 2.0**127].min() >= 2.0**126


@pytest.mark.parametrize("op", list(TRUTH))
def test_scalars_get_the_same_bits_as_vectors(op: str):
    x, scalar, vector = samples(op)[:2048], np.zeros(2048, "f"), np.zeros(2048, "f")
    Machine(kernel(op, 1, count=2048), [ExpandMathPass()])("k", x, scalar)
    Machine(kernel(op, 8, count=2048), [ExpandMathPass()])("k", x, vector)
    np.testing.assert_array_equal(scalar, vector)


def test_no_call_is_left_of_any_function():
    names = [kind.name.removeprefix("math.") for kind in FUNCTIONS]
    assert set(names) == set(TRUTH)
    for op in names:
        module = lowered(kernel(op, 16, count=16), [ExpandMathPass()])
        assert "llvm.call @" not in str(module)


@pytest.mark.parametrize(("op", "element"), [("exp", "f64"), ("sin", "f32")])
def test_what_has_no_polynomial_stays(op: str, element: str):
    module = parse_module(make_context(), kernel(op, 4, element, 4), "test.mlir")
    ExpandMathPass().apply(make_context(), module)
    kinds = {type(inner) for inner in module.walk()}
    assert kinds & {ExpOp, SinOp}
