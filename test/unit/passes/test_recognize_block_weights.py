"""Weights of few bits in blocks: products by them, against ONNX's evaluator, and their memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx_text import parse
from single_op import assert_equal

from nn_opt.compiler import compile
from nn_opt.dialects import graph
from nn_opt.reference.graph import evaluate

Array = NDArray[Any]
random = np.random.default_rng(0)
ROWS, INNER, COLUMNS, BLOCK = 3, 256, 130, 32
FORMS = [
    ("INT4", 0, BLOCK, True),
    ("UINT4", 0, BLOCK, False),
    ("UINT4", 1, BLOCK, True),
    ("INT2", 1, 64, True),
    ("UINT2", 0, 0, False),
    ("INT4", 0, 48, True),  # no whole blocks
]


def parameters(kind: str, axis: int, block: int) -> dict[str, Array]:
    """Return weights [K, N], or [N, K] if the blocks lie along axis 1, and what goes with them."""
    dtype = helper.tensor_dtype_to_np_dtype(getattr(TensorProto, kind))
    shape = [INNER, COLUMNS] if axis == 0 else [COLUMNS, INNER]
    sizes = [COLUMNS] if not block else list(shape)
    if block:
        sizes[axis] = -(-INNER // block)
    high = 4 if "2" in kind else 16

    def bits(shape: list[int]) -> Array:
        return random.integers(0, high, shape).astype(np.uint8).view(dtype)

    return {
        "w": bits(shape),
        "s": random.uniform(0.5, 1, sizes).astype(np.float32),
        "z": bits(sizes),
    }


@pytest.mark.parametrize(("kind", "axis", "block", "zero"), FORMS)
def test_no_floats_are_made_of_weights(kind: str, axis: int, block: int, zero: bool):
    known = parameters(kind, axis, block)
    operands = "w, s, z" if zero else "w, s"
    at = f"axis = {axis if block else 1}, block_size = {block}"
    product = "Gemm<transB = 1>(x, d, b)" if axis else "MatMul(x, d)"
    text = f"""g (float[{ROWS},{INNER}] x) => (float[] y) {{
      d = DequantizeLinear<{at}>({operands})
      p = {product}
      y = Relu(p)
    }}"""
    if not zero:
        del known["z"]
    if axis:
        known["b"] = random.standard_normal(COLUMNS).astype(np.float32)
    model, x = parse(text, 25, known), random.standard_normal((ROWS, INNER)).astype(np.float32)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    compiled = compile(model, cache=False, threads=1)
    np.testing.assert_allclose(compiled(x), expected, rtol=1e-4, atol=1e-4)
    bits = 2 if "2" in kind else 4
    inner = INNER if not block else -(-INNER // block) * block
    packed = inner * COLUMNS * bits // 8
    scales = 2 * 4 * COLUMNS * (-(-INNER // block) if block else 1)
    assert compiled.memory.weight_bytes <= packed + scales + 4 * COLUMNS + 4 * 64
    assert compiled.memory.arena_bytes <= 4 * ROWS * inner  # of rows that are filled up


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("shape", [(2, 3, 16), (16,)])
def test_formula(bits: int, shape: tuple[int, ...]):
    w = random.integers(0, 256, (16 * bits // 8, 5)).astype(np.uint8)
    scale = random.uniform(0.5, 1, (2, 5)).astype(np.float32)
    zero = random.integers(0, 4, (2, 1)).astype(np.float32)
    a = random.standard_normal(shape).astype(np.float16)

    def build(*values: Any) -> graph.BlockMatmulOp:
        return graph.BlockMatmulOp(*values, block=8, bits=bits)

    assert_equal(build, a, w, scale, zero, rtol=1e-2)


def test_gathered_weights_stay_as_they_are():
    """A table of floats would be eight times as large; it is made where it is read."""
    known = {"w": parameters("INT4", 0, BLOCK)["w"], "s": np.float32(0.5)}
    text = f"""g (int64[2] i) => (float[2,{COLUMNS}] y) {{
      d = DequantizeLinear(w, s)
      y = Gather(d, i)
    }}"""
    model = parse(text, 25, {name: np.asarray(array) for name, array in known.items()})
    compiled = compile(model, cache=False, threads=1)
    assert compiled.memory.weight_bytes <= INNER * COLUMNS + 256
    rows = np.array([3, 200])
    expected = known["w"].astype(np.float32)[rows] * np.float32(0.5)
    np.testing.assert_array_equal(compiled(rows), expected)


def test_dequantized_numbers_round_once():
    """In f32, then to the type of the result."""
    w, scale = np.array([[100, -7]], np.int16), np.array([[0.3]], np.float16)
    build = graph.DequantizeOp(
        graph.ConstantOp(w).result,
        graph.ConstantOp(scale).result,
        None,
        graph.ConstantOp(scale).result.type.get_element_type(),
        axis=0,
        block=1,
    )
    expected = (w.astype(np.float32) * scale.astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(evaluate(build, [w, scale])[0], expected)
