"""Rounding to bf16: exact, or by the machine's instruction where denormals may become zeros."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from nn_opt.backends.llvm import print_module
from nn_opt.backends.llvm.object import emit_assembly
from nn_opt.compiler import compile
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.target import flush_denormals, host, set_target, target_named
from nn_opt.pipelines import expand, run_passes

TEXT = """
func.func @main(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %y = graph.cast %x : (tensor<4096xf32>) -> tensor<4096xbf16>
  %z = graph.cast %y : (tensor<4096xbf16>) -> tensor<4096xf32>
  func.return %z : tensor<4096xf32>
}"""
INSTRUCTION = "vcvtneps2bf16"
SMALLEST = np.float32(2.0**-126)
CAN_RUN = pytest.mark.skipif(not host().has("avx512bf16"), reason="this processor has no bf16")


def numbers() -> NDArray[np.float32]:
    """Return floats of all bits: infinities, NaN and denormals are among them."""
    bits = np.random.default_rng(0).integers(0, 1 << 32, 4096, np.uint32)
    special = [
        0,
        1 << 31,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0x7F7FFFFF,
        1,
        0x3F808000,
        0x3F818000,
    ]
    bits[: len(special)] = special
    return bits.view(np.float32)


def assembly(*, flush: bool, target: str = "zen4") -> str:
    module = parse_module(make_context(), TEXT, "halves")
    set_target(module, target)
    if flush:
        flush_denormals(module)
    run_passes(make_context(), module, expand("compile"))
    return emit_assembly(print_module(module), target_named(target))


def test_the_instruction_is_used_where_denormals_may_become_zeros():
    assert INSTRUCTION in assembly(flush=True)
    assert INSTRUCTION not in assembly(flush=False)
    assert INSTRUCTION not in assembly(flush=True, target="x86-64-v4")


@CAN_RUN
@pytest.mark.parametrize("flush", [False, True])
def test_rounding_has_the_bits_of_ieee_but_for_denormals(flush: bool):
    module = parse_module(make_context(), TEXT, "halves")
    if flush:
        flush_denormals(module)
    x = numbers()
    with np.errstate(invalid="ignore"):
        expected = x.astype(ml_dtypes.bfloat16).astype(np.float32)
    if flush:
        expected = np.where(np.abs(x) < SMALLEST, np.copysign(np.float32(0), x), expected)
    got = compile(module, cache=False)(x)
    isnan = np.isnan(x)
    assert np.isnan(got[isnan]).all()
    np.testing.assert_array_equal(got.view(np.uint32)[~isnan], expected.view(np.uint32)[~isnan])
