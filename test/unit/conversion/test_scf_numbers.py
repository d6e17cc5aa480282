"""convert-loop-to-scf: what upstream has no op for is as exact as where one instruction does it."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tensor_kernels import apply, parse
from upstream import require_tools, run_upstream, tool

from nn_opt.conversion.loop_to_scf import ConvertLoopToScfPass

LDEXP = """
func.func @main(%x: memref<{n}x{t}>, %e: memref<{n}xi32>, %y: memref<{n}x{t}>) {{
  loop.for %i = 0 to {n} {{
    %a = loop.load %x[%i] : memref<{n}x{t}>
    %b = loop.load %e[%i] : memref<{n}xi32>
    %c = loop.ldexp %a, %b : {t}, i32
    loop.store %c, %y[%i] : memref<{n}x{t}>
  }}
  func.return
}}
"""
VALUES = [0.0, -0.0, 1.0, -1.5, 1 + 2**-23, 1.9999999, 3.4e38, 2.0**-126, 2.0**-149, np.inf, np.nan]
EXPONENTS = [
    *range(-160, -120),
    -3000,
    -1100,
    -1075,
    -300,
    -1,
    0,
    1,
    127,
    128,
    254,
    276,
    2147483647,
]


@pytest.mark.parametrize(("text", "dtype"), [("f32", np.float32), ("f64", np.float64)])
def test_powers_of_two_round_once(text: str, dtype: type):
    require_tools()
    values = [*VALUES, *([5e-324, 1.1e-308, 1.7e308, 1 + 2**-52] if text == "f64" else [])]
    exponents = [*EXPONENTS, *range(-1080, -1020), 2000, 2098, -2098, -(2**31)]
    x = np.repeat(np.array(values, dtype), len(exponents))
    e = np.tile(np.array(exponents, np.int32), len(values))
    y = np.full_like(x, 7)
    module = apply(parse(LDEXP.format(n=x.size, t=text)), ConvertLoopToScfPass())
    run_upstream(module, "main", [x, e, y])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(y, np.ldexp(x, e))
    assert np.array_equal(np.signbit(y), np.signbit(x))


def test_powers_of_two_of_vectors():
    text = """
    func.func @main(%x: vector<8xf32>, %n: vector<8xi32>) -> vector<8xf32> {
      %y = loop.ldexp %x, %n : vector<8xf32>, vector<8xi32>
      func.return %y : vector<8xf32>
    }"""
    require_tools()
    printed = tool("mlir-opt", text=str(apply(parse(text), ConvertLoopToScfPass())))
    assert "arith.truncf %" in printed
    assert "vector<8xf64> to vector<8xf32>" in printed


DOT = """
func.func @main(%a: memref<{k}x{t}>, %b: memref<{kl}x{t}>, %c: memref<{lanes}x{acc}>) {{
  %x = loop.load %a[0] : memref<{k}x{t}>, vector<{k}x{t}>
  %y = loop.load %b[0] : memref<{kl}x{t}>, vector<{kl}x{t}>
  %z = loop.load %c[0] : memref<{lanes}x{acc}>, vector<{lanes}x{acc}>
  %d = loop.dot {flags} %z, %x, %y : vector<{lanes}x{acc}>, vector<{k}x{t}>
  loop.store %d, %c[0] : memref<{lanes}x{acc}>, vector<{lanes}x{acc}>
  func.return
}}
"""


def run_dot(k: int, types: tuple[str, str], flags: str, *buffers: np.ndarray) -> None:
    lanes = buffers[2].size
    text = DOT.format(k=k, kl=k * lanes, lanes=lanes, t=types[0], acc=types[1], flags=flags)
    run_upstream(apply(parse(text), ConvertLoopToScfPass()), "main", buffers)


@pytest.mark.parametrize("unsigned", [False, True])
def test_products_of_bytes(unsigned: bool):
    require_tools()
    random = np.random.default_rng(4)
    a = np.array([-128, 127, -1, 3], np.int8)
    b = random.integers(-128, 128, 64, np.int8)
    c = random.integers(-(2**31), 2**31, 16, np.int32)
    left = a.view(np.uint8) if unsigned else a
    wanted = c + (left.astype(np.int64) * b.reshape(16, 4)).sum(1)
    run_dot(4, ("i8", "i32"), "unsigned" if unsigned else "", a, b, c)
    np.testing.assert_array_equal(c, wanted.astype(np.int32))


def test_products_of_singles_are_summed_in_doubles():
    require_tools()
    a = np.array([2048, 1], np.float32)
    b = np.tile(np.array([2048, 2**-20], np.float32), 4)
    c = np.full(4, -(2.0**22), np.float32)
    run_dot(2, ("f32", "f32"), "", a, b, c)
    np.testing.assert_array_equal(c, np.full(4, 2.0**-20, np.float32))


def test_pairs_of_bf16_are_rounded_from_the_last_to_the_first_without_denormals():
    require_tools()
    # acc + a[1] * b[1] rounds 2**-30 away; a[0] * b[0] then takes 1 away.
    a = np.array([-1, 2**-30], ml_dtypes.bfloat16)
    b = np.array([1, 1, 0, 0, 2.0**-130, 0, -1, 0], ml_dtypes.bfloat16)
    c = np.array([1, 2.0**-130, 2.0**-126, 0], np.float32)
    run_dot(2, ("bf16", "f32"), "", a.view(np.uint16), b.view(np.uint16), c)
    np.testing.assert_array_equal(c, np.array([0, 0, 2.0**-126, 1], np.float32))
