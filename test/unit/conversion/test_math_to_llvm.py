"""math ops as instructions: what a machine lacks becomes others, never a call."""

import re

import numpy as np
import pytest
from machine import Machine, assembly

from nn_opt.ir.target import host

FMA = """
func.func @k(%x: memref<64xf32>, %y: memref<64xf32>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %x[8 * %i] : memref<64xf32>, vector<8xf32>
    %b = math.fma %a, %a, %a : vector<8xf32>
    loop.store %b, %y[8 * %i] : memref<64xf32>, vector<8xf32>
  }
  %s = loop.load %x[1] : memref<64xf32>
  %t = math.fma %s, %s, %s : f32
  loop.store %t, %y[1] : memref<64xf32>
  func.return
}"""
LDEXP = """
func.func @k(%x: memref<64xf32>, %n: memref<64xi32>, %y: memref<64xf32>) {
  loop.for %i = 0 to 4 {
    %a = loop.load %x[16 * %i] : memref<64xf32>, vector<16xf32>
    %b = loop.load %n[16 * %i] : memref<64xi32>, vector<16xi32>
    %c = loop.ldexp %a, %b : vector<16xf32>, vector<16xi32>
    loop.store %c, %y[16 * %i] : memref<64xf32>, vector<16xf32>
  }
  func.return
}"""


@pytest.mark.parametrize(
    ("target", "instruction"),
    [
        ("x86-64-v2", "mulps"),
        ("x86-64-v3", "vfmadd"),
        ("x86-64-v4", "vfmadd"),
        ("neon", "fmla"),
        ("wasm", "f32x4.mul"),
        ("wasm-relaxed", "f32x4.relaxed_madd"),
        ("armv7", "vmla.f32"),
        ("riscv64", "fmadd.s"),
        ("rvv", "vfma"),
    ],
)
def test_fma_is_an_instruction_or_two_but_no_call(target: str, instruction: str):
    code = assembly(FMA, target)
    assert instruction in code
    assert not re.search(r"^\s(call|bl)\s", code, re.MULTILINE)
    fused = re.search("vfmadd|fmla|relaxed_madd|fmadd|vfma", code) is not None
    assert fused == (target not in ("x86-64-v2", "wasm", "armv7"))


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="runs code for x86")
def test_product_and_sum_are_rounded_each():
    x, y = np.random.default_rng(0).normal(size=64).astype("f"), np.zeros(64, "f")
    Machine(FMA, target="x86-64-v2")("k", x, y)
    np.testing.assert_array_equal(y, x * x + x)


def test_ldexp_is_one_instruction_where_a_machine_has_it():
    code = assembly(LDEXP, "x86-64-v4")
    assert code.count("vscalefps") == 1
    assert "call" not in code


def test_ldexp_rounds_once():
    x = np.random.default_rng(0).normal(size=64).astype("f")
    n, y = np.linspace(-160, 130, 64).astype(np.int32), np.zeros(64, "f")
    Machine(LDEXP)("k", x, n, y)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(y, np.ldexp(x, n))
