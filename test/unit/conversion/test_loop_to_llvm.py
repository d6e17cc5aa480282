"""What convert-loop-to-llvm computes: kernels run on this machine against NumPy."""

import ctypes
import math

import llvmlite.binding as binding
import ml_dtypes
import numpy as np
import pytest
from machine import Machine, assembly, llvm_text, lowered, run, vector_spills
from upstream import NEWER, require_tools, tool
from xdsl.utils.exceptions import PassFailedException

RNG = np.random.default_rng(7)


def normal(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def test_an_elementwise_kernel_with_vectors_and_a_tail():
    text = """
    func.func @k(%x: memref<37xf32>, %y: memref<37xf32>) {
      loop.for %i = 0 to 2 {
        %a = loop.load %x[16 * %i] : memref<37xf32>, vector<16xf32>
        %b = arith.mulf %a, %a : vector<16xf32>
        loop.store %b, %y[16 * %i] : memref<37xf32>, vector<16xf32>
      }
      loop.for %i = 0 to 5 {
        %a = loop.load %x[%i + 32] : memref<37xf32>
        %b = arith.mulf %a, %a : f32
        loop.store %b, %y[%i + 32] : memref<37xf32>
      }
      func.return
    }"""
    x, y = normal(37), np.zeros(37, "f")
    run(text, "k", x, y)
    np.testing.assert_array_equal(y, x * x)


def test_a_branch_guards_the_tail():
    text = """
    func.func @k(%x: memref<10xi32>, %y: memref<10xi32>) {
      loop.for %i = 0 to 4 {
        loop.for %j = 0 to 3 {
          loop.if (9 - 3 * %i - %j >= 0) {
            %a = loop.load %x[3 * %i + %j] : memref<10xi32>
            %c = arith.constant 3 : i32
            %b = arith.muli %a, %c : i32
            loop.store %b, %y[9 - 3 * %i - %j] : memref<10xi32>
          }
        }
      }
      func.return
    }"""
    x, y = np.arange(10, dtype=np.int32), np.zeros(10, np.int32)
    run(text, "k", x, y)
    np.testing.assert_array_equal(y, x[::-1] * 3)


def test_a_scalar_load_outside_gives_the_default():
    text = """
    func.func @k(%x: memref<5x4xf32>, %y: memref<7x6xf32>) {
      loop.for %i = 0 to 7 {
        loop.for %j = 0 to 6 {
          %a = loop.load %x[%i - 1, %j - 1] or -2.5 : memref<5x4xf32>
          loop.store %a, %y[%i, %j] : memref<7x6xf32>
        }
      }
      func.return
    }"""
    x, y = normal(5, 4), np.zeros((7, 6), "f")
    run(text, "k", x, y)
    np.testing.assert_array_equal(y, np.pad(x, 1, constant_values=-2.5))


def test_a_vector_load_outside_gives_the_default_lane_by_lane():
    text = """
    func.func @k(%x: memref<5x12xf32>, %y: memref<7x16xf32>) {
      loop.for %i = 0 to 7 {
        %a = loop.load %x[%i - 1, -2] or 0.5 : memref<5x12xf32>, vector<16xf32>
        loop.store %a, %y[%i, 0] : memref<7x16xf32>, vector<16xf32>
      }
      func.return
    }"""
    x, y = normal(5, 12), np.zeros((7, 16), "f")
    run(text, "k", x, y)
    np.testing.assert_array_equal(y, np.pad(x, ((1, 1), (2, 2)), constant_values=0.5))


@pytest.mark.parametrize(("default", "pad"), [("", 0), ("or 1.5", 1)])
def test_a_strided_vector_load_gathers_along_a_row_or_a_column(default: str, pad: int):
    text = f"""
    func.func @k(%x: memref<8x20xf32>, %row: memref<8x8xf32>, %column: memref<20x8xf32>) {{
      loop.for %i = 0 to 8 {{
        %a = loop.load %x[%i, {3 - 4 * pad}] {default} stride 2 : memref<8x20xf32>, vector<8xf32>
        loop.store %a, %row[%i, 0] : memref<8x8xf32>, vector<8xf32>
      }}
      loop.for %j = 0 to 20 {{
        %a = loop.load %x[{-2 * pad}, %j] {default} stride 20 : memref<8x20xf32>, vector<8xf32>
        loop.store %a, %column[%j, 0] : memref<20x8xf32>, vector<8xf32>
      }}
      func.return
    }}"""
    x, row, column = normal(8, 20), np.zeros((8, 8), "f"), np.zeros((20, 8), "f")
    run(text, "k", x, row, column)
    wide = np.pad(x, ((2, 2), (1, 9)), constant_values=1.5)
    np.testing.assert_array_equal(row, wide[2:10, 4 - 4 * pad :: 2][:, :8])
    np.testing.assert_array_equal(column, wide[2 - 2 * pad :][:8, 1:21].T)


def test_a_vector_wider_than_its_buffer_takes_the_default():
    text = """
    func.func @k(%x: memref<1x1xf32>, %i: memref<1xi64>, %y: memref<2x8xf32>) {
      %n = loop.load %i[0] : memref<1xi64>
      %j = arith.index_cast %n : i64 to index
      %a = loop.load %x[0, 0] or 9.0 : memref<1x1xf32>, vector<8xf32>
      %b = loop.load %x[0, %j] or 9.0 : memref<1x1xf32>, vector<8xf32>
      loop.store %a, %y[0, 0] : memref<2x8xf32>, vector<8xf32>
      loop.store %b, %y[1, 0] : memref<2x8xf32>, vector<8xf32>
      func.return
    }"""
    y = np.zeros((2, 8), "f")
    run(text, "k", np.full((1, 1), 3, "f"), np.array([-2], np.int64), y)
    np.testing.assert_array_equal(y, [[3] + [9] * 7, [9, 9, 3] + [9] * 5])


@pytest.mark.parametrize("step", [2, 3, 4, 5, -1])
@pytest.mark.parametrize("lanes", [2, 3, 8, 16])
def test_a_strided_load_touches_nothing_beyond_its_elements(step: int, lanes: int):
    reach = abs(step) * (lanes - 1) + 1
    first = reach - 1 if step < 0 else 0
    text = f"""
    func.func @k(%x: memref<{reach}xf32>, %y: memref<{lanes}xf32>) {{
      %a = loop.load %x[{first}] stride {step} : memref<{reach}xf32>, vector<{lanes}xf32>
      loop.store %a, %y[0] : memref<{lanes}xf32>, vector<{lanes}xf32>
      func.return
    }}"""
    x, y = normal(reach), np.zeros(lanes, "f")
    run(text, "k", x, y)
    np.testing.assert_array_equal(y, x[first + step * np.arange(lanes)])


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


def test_a_strided_vector_store_scatters():
    text = """
    func.func @k(%x: memref<8x4xf32>, %y: memref<4x8xf32>) {
      loop.for %i = 0 to 8 {
        %a = loop.load %x[%i, 0] : memref<8x4xf32>, vector<4xf32>
        loop.store %a, %y[0, %i] stride 8 : memref<4x8xf32>, vector<4xf32>
      }
      func.return
    }"""
    x, y = normal(8, 4), np.zeros((4, 8), "f")
    run(text, "k", x, y)
    np.testing.assert_array_equal(y, x.T)


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


def test_an_index_read_from_memory_gathers_rows():
    text = """
    func.func @k(%t: memref<9x16xf32>, %ids: memref<6xi32>, %y: memref<6x16xf32>) {
      loop.for %i = 0 to 6 {
        %n = loop.load %ids[%i] : memref<6xi32>
        %r = arith.index_cast %n : i32 to index
        loop.for %j = 0 to 16 {
          %v = loop.load %t[%r, %j] or 0.0 : memref<9x16xf32>
          loop.store %v, %y[%i, %j] : memref<6x16xf32>
        }
      }
      func.return
    }"""
    t, ids, y = normal(9, 16), np.array([8, 0, 3, -1, 9, 3], np.int32), np.zeros((6, 16), "f")
    run(text, "k", t, ids, y)
    wanted = np.where(((ids >= 0) & (ids < 9))[:, None], t[np.clip(ids, 0, 8)], 0)
    np.testing.assert_array_equal(y, wanted)


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


def test_a_reduction_keeps_its_accumulator_in_registers_through_rolled_loops():
    text = """
    func.func @k(%x: memref<6x64xf32>, %y: memref<6xf32>) {
      loop.for %i = 0 to 6 {
        %acc = loop.alloc "acc" : memref<2x16xf32, "register">
        loop.for %u = 0 to 2 unroll {
          %z = arith.constant dense<0.0> : vector<16xf32>
          loop.store %z, %acc[%u, 0] : memref<2x16xf32, "register">, vector<16xf32>
        }
        loop.for %j = 0 to 2 {
          loop.for %u = 0 to 2 unroll {
            %v = loop.load %x[%i, 32 * %j + 16 * %u] : memref<6x64xf32>, vector<16xf32>
            %o = loop.load %acc[%u, 0] : memref<2x16xf32, "register">, vector<16xf32>
            %s = arith.addf %o, %v : vector<16xf32>
            loop.store %s, %acc[%u, 0] : memref<2x16xf32, "register">, vector<16xf32>
          }
        }
        %p = loop.load %acc[0, 0] : memref<2x16xf32, "register">, vector<16xf32>
        %q = loop.load %acc[1, 0] : memref<2x16xf32, "register">, vector<16xf32>
        %r = arith.addf %p, %q : vector<16xf32>
        %t = vector.reduction <add>, %r : vector<16xf32> into f32
        loop.store %t, %y[%i] : memref<6xf32>
      }
      func.return
    }"""
    x, y = normal(6, 64), np.zeros(6, "f")
    run(text, "k", x, y)
    np.testing.assert_allclose(y, x.astype(float).sum(1), rtol=1e-5, atol=1e-5)


def test_a_narrow_access_is_the_first_lanes_of_a_register():
    text = """
    func.func @k(%x: memref<22xf32>, %y: memref<8xf32>) {
      %acc = loop.alloc "acc" : memref<8xf32, "register">
      %v = loop.load %x[0] : memref<22xf32>, vector<8xf32>
      loop.store %v, %acc[0] : memref<8xf32, "register">, vector<8xf32>
      loop.for %i = 0 to 2 {
        %a = loop.load %x[5 * %i + 8] : memref<22xf32>, vector<5xf32>
        %o = loop.load %acc[0] : memref<8xf32, "register">, vector<5xf32>
        %s = arith.addf %o, %a : vector<5xf32>
        loop.store %s, %acc[0] : memref<8xf32, "register">, vector<5xf32>
      }
      %b = loop.load %x[21] : memref<22xf32>
      %p = loop.load %acc[0] : memref<8xf32, "register">
      %t = arith.addf %p, %b : f32
      loop.store %t, %acc[0] : memref<8xf32, "register">
      %r = loop.load %acc[0] : memref<8xf32, "register">, vector<8xf32>
      loop.store %r, %y[0] : memref<8xf32>, vector<8xf32>
      func.return
    }"""
    x, y = normal(22), np.zeros(8, "f")
    run(text, "k", x, y)
    wanted = x[:8].astype(float)
    wanted[:5] += x[8:13].astype(float) + x[13:18]
    wanted[0] += x[21]
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-6)


def test_a_register_written_in_a_branch_keeps_its_value_when_the_branch_is_not_taken():
    text = """
    func.func @k(%x: memref<8xi32>, %y: memref<2xi32>) {
      %r = loop.alloc "r" : memref<2xi32, "register">
      %z = arith.constant 0 : i32
      loop.store %z, %r[0] : memref<2xi32, "register">
      loop.store %z, %r[1] : memref<2xi32, "register">
      loop.for %i = 0 to 8 {
        %a = loop.load %x[%i] : memref<8xi32>
        loop.if (%i - 3 >= 0, 5 - %i >= 0) {
          %o = loop.load %r[0] : memref<2xi32, "register">
          %s = arith.addi %o, %a : i32
          loop.store %s, %r[0] : memref<2xi32, "register">
        }
        %p = loop.load %r[0] : memref<2xi32, "register">
        %q = loop.load %r[1] : memref<2xi32, "register">
        %t = arith.addi %p, %q : i32
        loop.store %t, %r[1] : memref<2xi32, "register">
      }
      %c = loop.load %r[0] : memref<2xi32, "register">
      %d = loop.load %r[1] : memref<2xi32, "register">
      loop.store %c, %y[0] : memref<2xi32>
      loop.store %d, %y[1] : memref<2xi32>
      func.return
    }"""
    x, y = np.arange(1, 9, dtype=np.int32), np.zeros(2, np.int32)
    run(text, "k", x, y)
    partial = np.cumsum(np.where((np.arange(8) >= 3) & (np.arange(8) <= 5), x, 0))
    np.testing.assert_array_equal(y, [partial[-1], partial.sum()])


PARALLEL = """
    func.func @k(%x: memref<3x5x16xf32>, %y: memref<3x5x16xf32>) {
      %two = arith.constant 2.0 : f32
      %s = loop.load %x[2, 4, 15] : memref<3x5x16xf32>
      %t = loop.alloc "t" : memref<16xf32, "stack">
      loop.for %u = 0 to 16 {
        %a = arith.mulf %s, %two : f32
        loop.store %a, %t[%u] : memref<16xf32, "stack">
      }
      loop.for %n = 0 to 1 parallel {
        loop.for %i = 0 to 3 parallel {
          loop.for %j = 0 to 5 parallel {
            %tmp = loop.alloc "tmp" : memref<16xf32, "stack">
            loop.for %u = 0 to 16 {
              %a = loop.load %x[%i, %j, %u] : memref<3x5x16xf32>
              %b = loop.load %t[%u] : memref<16xf32, "stack">
              %c = arith.addf %a, %b : f32
              %d = arith.addf %c, %s : f32
              loop.store %d, %tmp[15 - %u] : memref<16xf32, "stack">
            }
            %v = loop.load %tmp[0] : memref<16xf32, "stack">, vector<16xf32>
            loop.store %v, %y[%i, %j, 0] : memref<3x5x16xf32>, vector<16xf32>
          }
        }
      }
      func.return
    }"""


def test_a_nest_of_parallel_loops_is_one_call_of_the_pool():
    x, y = normal(3, 5, 16), np.zeros((3, 5, 16), "f")
    machine = Machine(PARALLEL)
    machine("k", x, y)
    s = x[2, 4, 15]
    np.testing.assert_array_equal(y, ((x + s * np.float32(2)) + s)[..., ::-1])
    assert machine.llvm.count("call void @nn_parallel") == 1
    assert "i64 15)" in machine.llvm


def test_a_large_constant_of_a_kernel_is_a_private_global():
    text = """
    func.func @k(%y: memref<2x2xf32>, %z: memref<3xi1>) {
      %c = loop.constant dense<[[1.0, 2.0], [3.0, 4.5]]> : tensor<2x2xf32> to memref<2x2xf32>
      %m = loop.constant dense<[true, false, true]> : tensor<3xi1> to memref<3xi1>
      loop.copy %c to %y : memref<2x2xf32> to memref<2x2xf32>
      loop.for %i = 0 to 3 {
        %b = loop.load %m[%i] : memref<3xi1>
        loop.store %b, %z[%i] : memref<3xi1>
      }
      func.return
    }"""
    y, z = np.zeros((2, 2), "f"), np.zeros(3, bool)
    run(text, "k", y, z)
    np.testing.assert_array_equal(y, [[1, 2], [3, 4.5]])
    np.testing.assert_array_equal(z, [True, False, True])


MAIN = """
    func.func private @step(%h: memref<4xf32>, %x: memref<4xf32>, %w: memref<4xf32>,
        %o: memref<4xf32>) attributes {kernel, num_outputs = 1 : i64} {
      loop.for %i = 0 to 4 {
        %a = loop.load %h[%i] : memref<4xf32>
        %b = loop.load %x[%i] : memref<4xf32>
        %c = loop.load %w[%i] : memref<4xf32>
        %d = math.fma %a, %c, %b : f32
        loop.store %d, %o[%i] : memref<4xf32>
      }
      func.return
    }
    func.func @main(%x: memref<5x4xf32>, %y: memref<5x4xf32>, %last: memref<4xf32>)
        attributes {num_outputs = 2 : i64} {
      %w = loop.constant dense<[0.5, 0.25, 2.0, 1.0]> : tensor<4xf32> to memref<4xf32>
      %h0 = loop.constant dense<1.0> : tensor<4xf32> to memref<4xf32>
      %arena = loop.arena : memref<128xi8>
      %h = loop.view %arena offset 64 : memref<128xi8> to memref<4xf32>
      loop.copy %h0 to %h : memref<4xf32> to memref<4xf32>
      loop.for %t = 0 to 5 {
        %xt = loop.view %x offset 4 * %t : memref<5x4xf32> to memref<4xf32>
        %yt = loop.view %y offset 4 * %t : memref<5x4xf32> to memref<4xf32>
        func.call @step(%h, %xt, %w, %yt)
          : (memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
        loop.copy %yt to %h : memref<4xf32> to memref<4xf32>
      }
      loop.copy %h to %last : memref<4xf32> to memref<4xf32>
      func.return
    }"""


def test_main_takes_tables_of_pointers_weights_and_an_arena():
    module = lowered(MAIN)
    offsets = list(module.attributes["nn.weight_offsets"].iter_values())
    assert module.attributes["nn.arena_bytes"].value.data == 128
    assert offsets == [0, 64]
    w = np.array([0.5, 0.25, 2, 1], "f")
    weights = np.zeros(128 // 4, "f")
    weights[:4], weights[16:20] = w, 1
    x, y, last = normal(5, 4), np.zeros((5, 4), "f"), np.zeros(4, "f")
    arena = np.zeros(128, np.uint8)
    machine = Machine(MAIN)
    table = ctypes.c_void_p * 2
    inputs, outputs = table(x.ctypes.data), table(y.ctypes.data, last.ctypes.data)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(machine.code.address("nn_main"))
    function(
        ctypes.addressof(inputs), ctypes.addressof(outputs), weights.ctypes.data, arena.ctypes.data
    )
    h = np.ones(4)
    for t in range(5):
        h = h * w + x[t]
        np.testing.assert_allclose(y[t], h, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(last, y[-1])


def test_a_store_is_seen_by_a_later_load_of_the_same_place():
    text = """
    func.func @k(%x: memref<4xf32>, %y: memref<4xf32>) {
      loop.for %i = 0 to 4 {
        %a = loop.load %y[0] : memref<4xf32>
        %b = loop.load %x[%i] : memref<4xf32>
        %c = arith.addf %a, %b : f32
        loop.store %c, %y[0] : memref<4xf32>
        %d = loop.load %y[0] : memref<4xf32>
        loop.store %d, %y[3] : memref<4xf32>
      }
      func.return
    }"""
    x, y = np.arange(4, dtype="f"), np.zeros(4, "f")
    run(text, "k", x, y)
    np.testing.assert_array_equal(y, [6, 0, 0, 6])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            """loop.for %i = 0 to 4 {
          loop.store %z, %r[%i] : memref<4xf32, "register">
        }""",
            "register buffer 'r' depends on loop %i",
        ),
        (
            """loop.store %z, %r[1] : memref<4xf32, "register">
        %v = loop.load %r[0] : memref<4xf32, "register">, vector<4xf32>""",
            "vector<4xf32> at element 0 and f32 at 1 overlap",
        ),
        ('%g = loop.alloc "g" : memref<4xf32>', "global buffer 'g' has no place yet"),
        ("loop.for %i = 0 to 4 vector {\n}", "is still a loop over lanes"),
    ],
)
def test_mistakes_are_named(body: str, message: str):
    text = f"""
    func.func @k(%x: memref<4xf32>) {{
        %r = loop.alloc "r" : memref<4xf32, "register">
        %z = arith.constant 0.0 : f32
        {body}
        func.return
    }}"""
    with pytest.raises(PassFailedException, match=message.replace("(", r"\(")):
        lowered(text)


def test_what_is_of_no_use_to_llvm_is_refused():
    text = """
    func.func @k(%x: memref<4xf32>) {
      func.return
    }
    %t = tensor.constant dense<1.0> : tensor<4xf32> to tensor<4xf32>"""
    with pytest.raises(PassFailedException, match=r"tensor\.constant: --convert-loop"):
        lowered(text)


def matmul(rows: int, lanes: int, chunks: int) -> str:
    """A register tile of rows x (chunks vectors), reduced over 64 steps in fours."""
    vector, n = f"vector<{lanes}xf32>", lanes * chunks
    acc = f'memref<{rows}x{n}xf32, "register">'
    return f"""
    func.func @k(%a: memref<{rows}x64xf32>, %b: memref<64x{n}xf32>, %c: memref<{rows}x{n}xf32>) {{
      %acc = loop.alloc "acc" : {acc}
      %z = arith.constant dense<0.0> : {vector}
      loop.for %i = 0 to {rows} unroll {{
        loop.for %j = 0 to {chunks} unroll {{
          loop.store %z, %acc[%i, {lanes} * %j] : {acc}, {vector}
        }}
      }}
      loop.for %k = 0 to 16 {{
        loop.for %u = 0 to 4 unroll {{
          loop.for %i = 0 to {rows} unroll {{
            loop.for %j = 0 to {chunks} unroll {{
              %x = loop.load %a[%i, 4 * %k + %u] : memref<{rows}x64xf32>
              %xs = vector.broadcast %x : f32 to {vector}
              %y = loop.load %b[4 * %k + %u, {lanes} * %j] : memref<64x{n}xf32>, {vector}
              %o = loop.load %acc[%i, {lanes} * %j] : {acc}, {vector}
              %s = math.fma %xs, %y, %o : {vector}
              loop.store %s, %acc[%i, {lanes} * %j] : {acc}, {vector}
            }}
          }}
        }}
      }}
      loop.for %i = 0 to {rows} unroll {{
        loop.for %j = 0 to {chunks} unroll {{
          %o = loop.load %acc[%i, {lanes} * %j] : {acc}, {vector}
          loop.store %o, %c[%i, {lanes} * %j] : memref<{rows}x{n}xf32>, {vector}
        }}
      }}
      func.return
    }}"""


@pytest.mark.parametrize(
    ("rows", "lanes", "chunks", "target"),
    [(14, 16, 2, "x86-64-v4"), (8, 16, 3, "x86-64-v4"), (6, 8, 2, "x86-64-v3")],
)
def test_a_register_tile_does_not_spill(rows: int, lanes: int, chunks: int, target: str):
    text = matmul(rows, lanes, chunks)
    code = assembly(text, target)
    assert vector_spills(code) == 0
    assert code.count("vfmadd") == 4 * rows * chunks
    a, b, c = normal(rows, 64), normal(64, lanes * chunks), np.zeros((rows, lanes * chunks), "f")
    run(text, "k", a, b, c)
    np.testing.assert_allclose(c, a.astype(float) @ b.astype(float), rtol=1e-5, atol=1e-5)


def convolution(tile: int, lanes: int) -> str:
    """A 3x3 convolution of blocked layout, 56 pixels a row; the tile is `tile` pixels."""
    vector, acc = f"vector<{lanes}xf32>", f'memref<{tile}x{lanes}xf32, "register">'
    x, w = f"memref<2x10x58x{lanes}xf32>", f"memref<2x2x3x3x{lanes}x{lanes}xf32>"
    b, y = f"memref<2x{lanes}xf32>", f"memref<2x8x56x{lanes}xf32>"
    return f"""
    func.func @k(%x: {x}, %w: {w}, %b: {b}, %y: {y}) {{
      loop.for %fo = 0 to 2 {{ loop.for %p = 0 to 8 {{ loop.for %qo = 0 to {56 // tile} {{
        %acc = loop.alloc "acc" : {acc}
        %z = arith.constant dense<0.0> : {vector}
        loop.for %qi = 0 to {tile} unroll {{
          loop.store %z, %acc[%qi, 0] : {acc}, {vector}
        }}
        loop.for %co = 0 to 2 {{ loop.for %r = 0 to 3 {{ loop.for %s = 0 to 3 {{
          loop.for %cu = 0 to {lanes // 4} {{
            loop.for %cv = 0 to 4 unroll {{
              loop.for %qi = 0 to {tile} unroll {{
                %k = loop.load %w[%fo, %co, %r, %s, 4 * %cu + %cv, 0] : {w}, {vector}
                %a = loop.load %x[%co, %p + %r, {tile} * %qo + %qi + %s, 4 * %cu + %cv] : {x}
                %v = vector.broadcast %a : f32 to {vector}
                %o = loop.load %acc[%qi, 0] : {acc}, {vector}
                %m = math.fma %v, %k, %o : {vector}
                loop.store %m, %acc[%qi, 0] : {acc}, {vector}
              }}
            }}
          }}
        }} }} }}
        loop.for %qi = 0 to {tile} unroll {{
          %o = loop.load %acc[%qi, 0] : {acc}, {vector}
          %bias = loop.load %b[%fo, 0] : {b}, {vector}
          %s = arith.addf %o, %bias : {vector}
          %m = arith.maximumf %s, %z : {vector}
          loop.store %m, %y[%fo, %p, {tile} * %qo + %qi, 0] : {y}, {vector}
        }}
      }} }} }}
      func.return
    }}"""


@pytest.mark.parametrize(
    ("tile", "lanes", "target"), [(14, 16, "x86-64-v4"), (28, 16, "x86-64-v4"), (7, 8, "x86-64-v3")]
)
def test_a_convolution_tile_does_not_spill(tile: int, lanes: int, target: str):
    text = convolution(tile, lanes)
    code = assembly(text, target)
    assert vector_spills(code) == 0
    assert code.count("vfmadd") == 4 * tile
    x, w, b = normal(2, 10, 58, lanes), normal(2, 2, 3, 3, lanes, lanes), normal(2, lanes)
    y = np.zeros((2, 8, 56, lanes), "f")
    run(text, "k", x, w, b, y)
    wanted = np.zeros(y.shape)
    for r in range(3):
        for s in range(3):
            part = x[:, r : r + 8, s : s + 56].astype(float)
            wanted += np.einsum("cpqi,fcio->fpqo", part, w[:, :, r, s].astype(float))
    wanted = np.maximum(wanted + b[:, None, None], 0)
    np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-4)


def test_what_does_not_change_in_a_loop_is_computed_before_it():
    text = """
    func.func @k(%x: memref<8x8x64xf32>, %y: memref<8x64xf32>) {
      loop.for %i = 0 to 8 {
        loop.for %j = 0 to 64 {
          %a = loop.load %x[%i, 3, %j] : memref<8x8x64xf32>
          loop.store %a, %y[%i, %j] : memref<8x64xf32>
        }
      }
      func.return
    }"""
    inner = llvm_text(text).split("b2:")[1].split("b3:")[0]
    assert inner.count("getelementptr") == 3  # one step along each buffer, and the constant
    assert " mul " not in inner


@pytest.mark.parametrize(
    "text",
    [MAIN, PARALLEL, convolution(14, 16), matmul(6, 8, 2)],
    ids=["main", "parallel", "convolution", "matmul"],
)
def test_upstream_translates_the_same_dialect(text: str):
    require_tools()
    translated = tool("mlir-translate", "--mlir-to-llvmir", text=str(lowered(text)))
    binding.parse_assembly(NEWER.sub("", translated)).verify()
