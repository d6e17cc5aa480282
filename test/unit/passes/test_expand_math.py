"""How far expand-math's functions are from the truth, in units in the last place."""

import math

import numpy as np
import pytest
from machine import Machine, lowered
from xdsl.dialects.math import ExpOp

from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.target import host
from nn_opt.passes.expand_math import FUNCTIONS, ExpandMathPass
from nn_opt.reference import make_interpreter

COUNT = 1 << 17
TRUTH = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": np.vectorize(math.erf, otypes=[float]),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
}
RANGES = {  # where samples are evenly spaced
    "acos": [(-1, 1), (0.99, 1)],
    "acosh": [(1, 1.001), (1, 9)],
    "asin": [(-1, 1), (0.99, 1)],
    "asinh": [(-3, 3), (-1e-3, 1e-3)],
    "atan": [(-9, 9), (-0.1, 0.1)],
    "atanh": [(-1, 1), (-0.01, 0.01)],
    "cos": [(-7, 7), (-1e5, 1e5)],
    "cosh": [(-90, 90), (-1, 1)],
    "erf": [(-4.5, 4.5), (-1.1, 1.1), (-1e-3, 1e-3)],
    "exp": [(-104, -86), (-87, 88.7), (-1, 1)],
    "exp2": [(-151, 129), (-1, 1)],
    "expm1": [(-18, 88), (-1, 1)],
    "log": [(1e-3, 10), (0.5, 2)],
    "log10": [(1e-3, 10), (0.5, 2)],
    "log1p": [(-0.999, 5), (-0.1, 0.1)],
    "log2": [(1e-3, 10), (0.5, 2)],
    "rsqrt": [(1e-3, 10), (0.5, 2)],
    "sin": [(-7, 7), (-1e5, 1e5)],
    "sinh": [(-90, 90), (-0.1, 0.1)],
    "tan": [(-7, 7), (-1e5, 1e5)],
    "tanh": [(-10, 10), (-0.7, 0.7), (-1e-3, 1e-3)],
}
PRECISE = {  # what promises less than 2 ulp, and a little for the sample
    **dict.fromkeys(("exp", "log"), 1.1),
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh", "tan"), 0.6),
    **dict.fromkeys(("cosh", "exp2", "log10", "log2"), 0.6),
    "sinh": 0.7,
}
SPECIAL = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, 1, -1, 3e38, -3e38, 88.73, -103.98],
    np.float32,
)
# The closest that a binary32 comes to a multiple of pi / 2, 1.6e-9, and others nearly as close.
CLOSE_TO_QUARTERS = [
    *(7.729178919452902e28, 21999384576, 1.5458357838905804e29, 252.89820861816406, 42781604),
    *(4.71238899230957, 52516.43359375, 1011.5928344726562, 1.623525327812912e23, 4.638183e25),
]
# Machines whose code this one runs, if it has what the last one has.
MACHINES = [
    name
    for name, feature in (("x86-64-v2", "sse4.2"), ("x86-64-v3", "avx2"))
    if host().triple.startswith("x86_64") and host().has(feature)
]


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
    with np.errstate(all="ignore"):
        rounded = wanted.astype(np.float32)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(actual[~finite], rounded[~finite])
    unit = np.maximum(np.spacing(np.abs(rounded[finite])), np.float32(1.4e-45)).astype(float)
    return float(np.max(np.abs(actual[finite] - wanted[finite]) / unit))


def anything(count: int, seed: int = 3) -> np.ndarray:
    """Any bits: every exponent, subnormal numbers, NaN."""
    bits = np.random.default_rng(seed).integers(0, 1 << 32, count, dtype=np.uint64)
    return bits.astype(np.uint32).view("f")


def every_exponent(each: int) -> np.ndarray:
    """The same mantissas with every sign and exponent, the least and largest among them."""
    mantissas = np.linspace(0, (1 << 23) - 1, each).astype(np.uint32)
    tops = np.arange(512, dtype=np.uint32) << 23
    return (tops[:, None] | mantissas).reshape(-1).view("f")


def samples(op: str) -> np.ndarray:
    """The numbers that go wrong, then any bits, then evenly spaced where it matters."""
    parts = [np.linspace(*span, COUNT // 5).astype("f") for span in RANGES[op]]
    first = [SPECIAL, np.array(CLOSE_TO_QUARTERS, "f"), every_exponent(32), anything(COUNT // 5)]
    return np.concatenate([*first, *parts, np.ones(COUNT, "f")])[:COUNT]


@pytest.mark.parametrize("op", list(TRUTH))
def test_every_function_is_within_two_ulp(op: str):
    x, y = samples(op), np.zeros(COUNT, "f")
    Machine(kernel(op, 16), [ExpandMathPass()], "host")("k", x, y)
    with np.errstate(all="ignore"):
        wanted = TRUTH[op](x.astype(float))
        assert error_in_ulp(y, wanted) <= PRECISE.get(op, 2.0)
        same_sign = np.signbit(y) == np.signbit(wanted)
    assert same_sign[~np.isnan(wanted)].all()


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("op", list(TRUTH))
def test_functions_are_as_precise_on_other_machines(op: str, machine: str):
    x, y = samples(op), np.zeros(COUNT, "f")
    Machine(kernel(op, 8), [ExpandMathPass()], machine)("k", x, y)
    with np.errstate(all="ignore"):
        wanted = TRUTH[op](x.astype(float))
    # Without fused multiply-adds each product is rounded, too.
    assert error_in_ulp(y, wanted) <= (2.0 if machine != "x86-64-v2" else 3.5)


@pytest.mark.parametrize("name", [name for name in TRUTH if name != "rsqrt"])
def test_the_interpreter_computes_the_same(name: str):
    count = 512
    x, y, z = samples(name)[:: COUNT // count].copy(), np.zeros(count, "f"), np.zeros(count, "f")
    Machine(kernel(name, 16, count=count), [ExpandMathPass()], "host")("k", x, y)
    module = parse_module(make_context(), kernel(name, 16, count=count), "test.mlir")
    ExpandMathPass().apply(make_context(), module)
    module.verify()
    make_interpreter(module).call_op("k", (x, z))
    np.testing.assert_array_equal(y, z)


POW = """
func.func @k(%x: memref<N>, %y: memref<N>, %z: memref<N>) {
  loop.for %i = 0 to COUNT {
    %a = loop.load %x[16 * %i] : memref<N>, vector<16xf32>
    %b = loop.load %y[16 * %i] : memref<N>, vector<16xf32>
    %c = math.powf %a, %b : vector<16xf32>
    loop.store %c, %z[16 * %i] : memref<N>, vector<16xf32>
  }
  func.return
}"""
POWERS = [
    *(0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1.5, -1.5, math.inf, -math.inf, math.nan),
    *(1e-45, -1e-45, 3e38, -3e38, 1 + 2.0**-23, 1 - 2.0**-24),
    *(16777216, 16777219, -16777215, 8388608.5, 4194303.5),  # the last ones that are odd, or halves
]


def test_pow_has_every_special_case_and_one_ulp():
    rng = np.random.default_rng(5)
    grid = np.array(np.meshgrid(POWERS, POWERS)).reshape(2, -1)
    near_one = 1 + rng.uniform(-1e-3, 1e-3, COUNT // 4)
    bases = [grid[0], anything(COUNT // 4), np.exp(rng.uniform(-80, 80, COUNT // 4)), near_one]
    powers = [grid[1], anything(COUNT // 4, 4), rng.uniform(-3, 3, COUNT // 4)]
    powers.append(rng.uniform(-8e4, 8e4, COUNT // 4))
    few = rng.uniform(-9, 9, COUNT), rng.integers(-40, 40, COUNT)
    with np.errstate(all="ignore"):
        x = np.concatenate([*bases, few[0]])[:COUNT].astype("f")
        y = np.concatenate([*powers, few[1]])[:COUNT].astype("f")
    z = np.zeros(COUNT, "f")
    text = POW.replace("COUNT", str(COUNT // 16)).replace("<N>", f"<{COUNT}xf32>")
    Machine(text, [ExpandMathPass()], "host")("k", x, y, z)
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(float), y.astype(float))
        assert error_in_ulp(z, wanted) <= 0.6
    same_sign = np.signbit(z) == np.signbit(wanted)
    assert same_sign[~np.isnan(wanted)].all()


def test_approximate_erf_is_close_beside_one():
    x, y = samples("erf"), np.zeros(COUNT, "f")
    text = kernel("erf", 16).replace("math.erf %a", "math.erf %a fastmath<afn>")
    Machine(text, [ExpandMathPass()])("k", x, y)
    known = ~np.isnan(x)
    assert np.isnan(y[~known]).all()
    assert np.abs(y[known] - TRUTH["erf"](x[known].astype(float))).max() < 3.3e-7
    assert set(y[known & (np.abs(x) > 3.95)]) == {-1.0, 1.0}


@pytest.mark.parametrize("machine", ["host", *MACHINES])
def test_approximate_exp_is_right_where_results_are_normal(machine: str):
    x, y = samples("exp"), np.zeros(COUNT, "f")
    text = kernel("exp", 16).replace("math.exp %a", "math.exp %a fastmath<afn>")
    Machine(text, [ExpandMathPass()], machine)("k", x, y)
    with np.errstate(all="ignore"):
        wanted = np.exp(x.astype(float))
    inside = (wanted >= 2.0**-125.999) & (wanted < 2.0**127) | np.isnan(x)
    assert error_in_ulp(y[inside], wanted[inside]) <= (1.1 if machine != "x86-64-v2" else 1.5)
    assert y[wanted < 2.0**-125.999].max() <= 2.0**-125
    assert y[wanted >= 2.0**127].min() >= 2.0**126


@pytest.mark.parametrize("op", list(TRUTH))
def test_scalars_get_the_same_bits_as_vectors(op: str):
    x, scalar, vector = samples(op)[:2048], np.zeros(2048, "f"), np.zeros(2048, "f")
    Machine(kernel(op, 1, count=2048), [ExpandMathPass()], "host")("k", x, scalar)
    Machine(kernel(op, 8, count=2048), [ExpandMathPass()], "host")("k", x, vector)
    np.testing.assert_array_equal(scalar, vector)


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_narrow_floats_are_computed_in_binary32(element: str):
    module = lowered(kernel("sin", 16, element, 16), [ExpandMathPass()])
    assert "llvm.call @" not in str(module)


def test_no_call_is_left_of_any_function():
    names = [kind.name.removeprefix("math.") for kind in FUNCTIONS]
    assert {*names} == {*TRUTH, "powf", "arith.remf"} - {"rsqrt"}
    for op in TRUTH:
        module = lowered(kernel(op, 16, count=16), [ExpandMathPass()])
        assert "llvm.call @" not in str(module)


def test_what_has_no_polynomial_stays():
    module = parse_module(make_context(), kernel("exp", 4, "f64", 4), "test.mlir")
    ExpandMathPass().apply(make_context(), module)
    assert any(isinstance(inner, ExpOp) for inner in module.walk())
