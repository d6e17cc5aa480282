"""Numbers of all types by convert-loop-to-llvm: kernels run on this machine against NumPy."""

import math

import ml_dtypes
import numpy as np
import pytest
from machine import RNG, assembly, normal, run


@pytest.mark.parametrize(("word", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_a_double_becomes_a_half_float_by_one_rounding(word: str, dtype: type):
    text = f"""
    func.func @k(%x: memref<4096xf64>, %h: memref<4096x{word}>) {{
      loop.for %i = 0 to 512 {{
        %a = loop.load %x[8 * %i] : memref<4096xf64>, vector<8xf64>
        %b = arith.truncf %a : vector<8xf64> to vector<8x{word}>
        loop.store %b, %h[8 * %i] : memref<4096x{word}>, vector<8x{word}>
      }}
      func.return
    }}"""
    # Just above the middle of two half floats, by less than a single can show.
    steps = 11 if word == "f16" else 8
    middles = 1 + (2 * RNG.integers(0, 1 << (steps - 1), 4096) + 1) / float(1 << steps)
    x = middles * (1 + RNG.choice([-1, 0, 1], 4096) * 2.0**-40) * RNG.choice([-1.0, 1.0], 4096)
    x[:6] = [np.inf, -np.inf, np.nan, 0.0, 65519.999, -1e300]
    h = np.zeros(4096, dtype)
    run(text, "k", x, h)
    if word == "f16":
        with np.errstate(over="ignore"):
            wanted = x.astype(np.float16).astype(float)
    else:  # ml_dtypes rounds twice; exact arithmetic does not
        wanted = np.round(x * 2.0**7) / 2.0**7
        wanted[:6] = [np.inf, -np.inf, np.nan, 0.0, 65536.0, -np.inf]
    np.testing.assert_array_equal(h.astype(float), wanted)


@pytest.mark.parametrize("number", [0.0, -1.5, float("inf")])
def test_the_maximum_with_a_number_is_one_instruction(number: float):
    text = f"""
    func.func @k(%x: memref<16xf32>, %y: memref<16xf32>, %z: memref<16xf32>) {{
      %c = arith.constant dense<{number if number < 99 else "0x7F800000"}> : vector<16xf32>
      %a = loop.load %x[0] : memref<16xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      %d = arith.minimumf %c, %a : vector<16xf32>
      loop.store %b, %y[0] : memref<16xf32>, vector<16xf32>
      loop.store %d, %z[0] : memref<16xf32>, vector<16xf32>
      func.return
    }}"""
    x, y, z = normal(16) * 2, np.zeros(16, "f"), np.zeros(16, "f")
    x[:4] = [np.nan, np.inf, -np.inf, -0.0]
    run(text, "k", x, y, z)
    np.testing.assert_array_equal(y, np.maximum(x, np.float32(number)))
    np.testing.assert_array_equal(z, np.minimum(x, np.float32(number)))
    code = assembly(text, "x86-64-v4")
    assert (code.count("vmaxps"), code.count("vminps")) == (1, 1)
    assert "vcmp" not in code


@pytest.mark.parametrize("lanes", [2, 3, 6, 7, 16])
@pytest.mark.parametrize("where", [None, 0, -1])
def test_the_maximum_of_all_lanes_keeps_nan(lanes: int, where: int | None):
    text = f"""
    func.func @k(%x: memref<{lanes}xf32>, %y: memref<2xf32>) {{
      %v = loop.load %x[0] : memref<{lanes}xf32>, vector<{lanes}xf32>
      %s = vector.reduction <maximumf>, %v : vector<{lanes}xf32> into f32
      %t = vector.reduction <minimumf>, %v, %s : vector<{lanes}xf32> into f32
      loop.store %s, %y[0] : memref<2xf32>
      loop.store %t, %y[1] : memref<2xf32>
      func.return
    }}"""
    x, y = normal(lanes), np.zeros(2, "f")
    if where is not None:
        x[where] = np.nan
    run(text, "k", x, y)
    np.testing.assert_array_equal(y, [x.max(), x.min()])


def test_floordiv_and_mod_of_loop_variables_that_go_below_zero():
    text = """
    func.func @k(%q: memref<20x2xi64>, %m: memref<20x2xi64>) {
      loop.for %i = 0 to 20 {
        %a = loop.apply (%i - 9) floordiv 3
        %b = loop.apply (%i - 9) mod 3
        %c = loop.apply (%i - 9) floordiv 4
        %d = loop.apply (%i - 9) mod 4
        %e = arith.index_cast %a : index to i64
        %f = arith.index_cast %b : index to i64
        %g = arith.index_cast %c : index to i64
        %h = arith.index_cast %d : index to i64
        loop.store %e, %q[%i, 0] : memref<20x2xi64>
        loop.store %f, %m[%i, 0] : memref<20x2xi64>
        loop.store %g, %q[%i, 1] : memref<20x2xi64>
        loop.store %h, %m[%i, 1] : memref<20x2xi64>
      }
      func.return
    }"""
    q, m = np.zeros((20, 2), np.int64), np.zeros((20, 2), np.int64)
    run(text, "k", q, m)
    i = np.arange(20) - 9
    np.testing.assert_array_equal(q, np.stack([i // 3, i // 4], 1))
    np.testing.assert_array_equal(m, np.stack([i % 3, i % 4], 1))


def test_bools_are_bytes():
    text = """
    func.func @k(%x: memref<20xf32>, %b: memref<20xi1>, %y: memref<20xi1>) {
      %z = arith.constant 0.0 : f32
      %zs = vector.broadcast %z : f32 to vector<16xf32>
      %v = loop.load %x[0] : memref<20xf32>, vector<16xf32>
      %c = "arith.cmpf"(%v, %zs) {predicate = 2 : i64}
        : (vector<16xf32>, vector<16xf32>) -> vector<16xi1>
      %d = loop.load %b[0] : memref<20xi1>, vector<16xi1>
      %e = arith.andi %c, %d : vector<16xi1>
      loop.store %e, %y[0] : memref<20xi1>, vector<16xi1>
      loop.for %i = 0 to 4 {
        %s = loop.load %x[%i + 16] : memref<20xf32>
        %t = arith.cmpf ogt, %s, %z : f32
        %u = loop.load %b[%i + 16] : memref<20xi1>
        %w = arith.andi %t, %u : i1
        loop.store %w, %y[%i + 16] : memref<20xi1>
      }
      func.return
    }"""
    x, b, y = normal(20), RNG.random(20) > 0.5, np.zeros(20, bool)
    run(text, "k", x, b, y)
    np.testing.assert_array_equal(y, (x > 0) & b)
    assert y.view(np.uint8).max() == 1


def test_integers_of_both_signs():
    text = """
    func.func @k(%a: memref<8xi8>, %b: memref<8xi8>, %s: memref<8xi8>, %u: memref<8xi8>,
                 %m: memref<8xi32>, %w: memref<8xi32>) {
      loop.for %i = 0 to 8 {
        %x = loop.load %a[%i] : memref<8xi8>
        %y = loop.load %b[%i] : memref<8xi8>
        %d = arith.divsi %x, %y : i8
        %e = arith.divui %x, %y : i8
        %f = arith.extsi %x : i8 to i32
        %g = arith.extui %x : i8 to i32
        %n = arith.maxsi %x, %y : i8
        %o = arith.extsi %n : i8 to i32
        %p = arith.muli %f, %g : i32
        loop.store %d, %s[%i] : memref<8xi8>
        loop.store %e, %u[%i] : memref<8xi8>
        loop.store %o, %m[%i] : memref<8xi32>
        loop.store %p, %w[%i] : memref<8xi32>
      }
      func.return
    }"""
    a = np.array([7, -7, 100, -128, 127, -1, 0, 50], np.int8)
    b = np.array([2, 2, -3, 5, -10, 7, 9, 50], np.int8)
    s, u = np.zeros(8, np.int8), np.zeros(8, np.int8)
    m, w = np.zeros(8, np.int32), np.zeros(8, np.int32)
    run(text, "k", a, b, s, u, m, w)
    np.testing.assert_array_equal(
        s, [int(p / q) for p, q in zip(a.tolist(), b.tolist(), strict=True)]
    )
    np.testing.assert_array_equal(u.view(np.uint8), a.view(np.uint8) // b.view(np.uint8))
    np.testing.assert_array_equal(m, np.maximum(a, b))
    np.testing.assert_array_equal(w, a.astype(np.int32) * a.view(np.uint8).astype(np.int32))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("lanes", [1, 8])
def test_half_floats_round_to_nearest_even(dtype: type, lanes: int):
    word = {np.float16: "f16"}.get(dtype, "bf16")
    short, long = (word, "f32") if lanes == 1 else (f"vector<8x{word}>", "vector<8xf32>")
    suffix = "" if lanes == 1 else f", {short}"
    wide = "" if lanes == 1 else f", {long}"
    text = f"""
    func.func @k(%x: memref<4096xf32>, %h: memref<4096x{word}>, %y: memref<4096xf32>) {{
      loop.for %i = 0 to {4096 // lanes} {{
        %a = loop.load %x[{lanes} * %i] : memref<4096xf32>{wide}
        %b = arith.truncf %a : {long} to {short}
        loop.store %b, %h[{lanes} * %i] : memref<4096x{word}>{suffix}
        %c = loop.load %h[{lanes} * %i] : memref<4096x{word}>{suffix}
        %d = arith.extf %c : {short} to {long}
        loop.store %d, %y[{lanes} * %i] : memref<4096xf32>{wide}
      }}
      func.return
    }}"""
    x = (normal(4096) * np.exp2(RNG.integers(-20, 14, 4096))).astype("f")
    x[:6] = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-40]
    h, y = np.zeros(4096, dtype), np.zeros(4096, "f")
    run(text, "k", x, h, y)
    np.testing.assert_array_equal(h.astype("f"), x.astype(dtype).astype("f"))
    np.testing.assert_array_equal(y, x.astype(dtype).astype("f"))


@pytest.mark.parametrize("lanes", [1, 16])
def test_maximum_and_minimum_keep_nan(lanes: int):
    kind, suffix = ("f32", "") if lanes == 1 else ("vector<16xf32>", ", vector<16xf32>")
    text = f"""
    func.func @k(%x: memref<16xf32>, %y: memref<16xf32>, %a: memref<16xf32>, %b: memref<16xf32>) {{
      loop.for %i = 0 to {16 // lanes} {{
        %p = loop.load %x[{lanes} * %i] : memref<16xf32>{suffix}
        %q = loop.load %y[{lanes} * %i] : memref<16xf32>{suffix}
        %m = arith.maximumf %p, %q : {kind}
        %n = arith.minimumf %p, %q : {kind}
        loop.store %m, %a[{lanes} * %i] : memref<16xf32>{suffix}
        loop.store %n, %b[{lanes} * %i] : memref<16xf32>{suffix}
      }}
      func.return
    }}"""
    x = np.array([1, np.nan, 2, -0.0, 0.0, np.inf, -np.inf, np.nan] * 2, "f")
    y = np.array([2, 1, np.nan, 0.0, -0.0, 1, 1, np.nan] * 2, "f")
    a, b = np.zeros(16, "f"), np.zeros(16, "f")
    run(text, "k", x, y, a, b)
    np.testing.assert_array_equal(a, np.maximum(x, y))
    np.testing.assert_array_equal(b, np.minimum(x, y))


@pytest.mark.parametrize(
    ("op", "function", "low", "high"),
    [
        ("exp", math.exp, -20, 20),
        ("log", math.log, 1e-3, 50),
        ("sin", math.sin, -9, 9),
        ("cos", math.cos, -9, 9),
        ("tan", math.tan, -1, 1),
        ("tanh", math.tanh, -3, 3),
        ("erf", math.erf, -3, 3),
        ("expm1", math.expm1, -1, 1),
        ("log1p", math.log1p, -0.5, 2),
        ("asin", math.asin, -1, 1),
        ("acosh", math.acosh, 1, 9),
        ("atanh", math.atanh, -0.9, 0.9),
        ("floor", math.floor, -9, 9),
        ("ceil", math.ceil, -9, 9),
        ("trunc", math.trunc, -9, 9),
        ("roundeven", round, -9, 9),
        ("sqrt", math.sqrt, 0, 99),
        ("rsqrt", lambda v: 1 / math.sqrt(v), 0.01, 99),
        ("absf", abs, -9, 9),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_as_scalars_and_lane_by_lane(op, function, low, high, dtype):
    word = "f32" if dtype == "float32" else "f64"
    text = f"""
    func.func @k(%x: memref<8x{word}>, %y: memref<8x{word}>, %z: memref<8x{word}>) {{
      %v = loop.load %x[0] : memref<8x{word}>, vector<8x{word}>
      %w = math.{op} %v : vector<8x{word}>
      loop.store %w, %z[0] : memref<8x{word}>, vector<8x{word}>
      loop.for %i = 0 to 8 {{
        %a = loop.load %x[%i] : memref<8x{word}>
        %b = math.{op} %a : {word}
        loop.store %b, %y[%i] : memref<8x{word}>
      }}
      func.return
    }}"""
    x = np.linspace(low, high, 8).astype(dtype)
    y, z = np.zeros(8, dtype), np.zeros(8, dtype)
    run(text, "k", x, y, z)
    wanted = [function(float(value)) for value in x]
    # Two roundings of the working precision: the C library's own bound is one.
    np.testing.assert_allclose(y, wanted, rtol=2 * np.finfo(dtype).eps, atol=1e-30)
    np.testing.assert_array_equal(z, y)


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [("add", np.sum), ("mul", np.prod), ("maximumf", np.max), ("minimumf", np.min)],
)
def test_lanes_are_combined(kind, wanted):
    text = f"""
    func.func @k(%x: memref<16xf32>, %y: memref<1xf32>) {{
      %v = loop.load %x[0] : memref<16xf32>, vector<16xf32>
      %s = vector.reduction <{kind}>, %v : vector<16xf32> into f32
      loop.store %s, %y[0] : memref<1xf32>
      func.return
    }}"""
    x, y = normal(16), np.zeros(1, "f")
    run(text, "k", x, y)
    np.testing.assert_allclose(y[0], wanted(x.astype(float)), rtol=1e-6)
