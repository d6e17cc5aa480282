"""Weights of few bits in panels of words: what the operation means, and what is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from single_op import assert_equal

from nn_opt.compiler import compile
from nn_opt.dialects import graph
from nn_opt.passes.pack_blocks import in_panels, words_of

Array = NDArray[Any]
random = np.random.default_rng(0)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("shape", [(2, 3, 32), (32,)])
def test_formula(bits: int, shape: tuple[int, ...]):
    w = random.integers(0, 256, (32 * bits // 8, 6)).astype(np.uint8)
    scale = random.uniform(0.5, 1, (2, 6)).astype(np.float32)
    zero = random.integers(0, 4, (2, 1)).astype(np.uint8)
    a = random.standard_normal(shape).astype(np.float32)

    def build(*values: Any) -> graph.BlockMatmulOp:
        return graph.BlockMatmulOp(*values, block=16, bits=bits)

    panels = (in_panels(words_of(w), 3), in_panels(scale, 3), in_panels(zero, 3))
    assert_equal(build, a, *panels, rtol=1e-4, atol=1e-4)


def exact(a: Array, w: Array, scale: Array, zero: Array | None, bits: int) -> Array:
    """Return the product in f64; weights are [N, blocks, bytes], parameters [N, blocks]."""
    parts = [(w >> bits * part) & ((1 << bits) - 1) for part in range(8 // bits)]
    numbers = np.stack(parts, -1).reshape(*w.shape[:2], -1).astype(np.float64)
    numbers -= (1 << bits - 1) if zero is None else zero[..., None]
    return a.astype(np.float64) @ (numbers * scale[..., None]).reshape(len(w), -1).T


@pytest.mark.parametrize(
    ("shape", "columns", "bits", "zero"),
    [
        ((1, 256), 256, 4, True),
        ((1, 256), 208, 4, False),  # panels of one vector
        ((2, 3, 256), 256, 4, True),
        ((9, 256), 256, 4, True),  # rows that tiles do not divide
        ((17, 256), 256, 2, False),
        ((3, 256), 128, 8, True),
    ],
)
def test_compiled(shape: tuple[int, ...], columns: int, bits: int, zero: bool):
    inner, block = shape[-1], 32
    blocks = inner // block
    w = random.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8)
    scale = random.uniform(0.5, 1, (columns, blocks)).astype(np.float32)
    points = random.integers(0, 1 << bits, (columns, blocks)).astype(np.float32)
    known = {"w": w, "s": scale.reshape(-1), **({"z": points} if zero else {})}
    node = helper.make_node(
        "MatMulNBits",
        ["a", *known],
        ["y"],
        domain="com.microsoft",
        K=inner,
        N=columns,
        block_size=block,
        bits=bits,
    )
    model = helper.make_model(
        helper.make_graph(
            [node],
            "g",
            [helper.make_tensor_value_info("a", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(array, name) for name, array in known.items()],
        ),
        opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)],
    )
    a = random.standard_normal(shape).astype(np.float32)
    (y,) = compile(model, cache=False, threads=1).run({"a": a}).values()
    expected = exact(a, w, scale, points if zero else None, bits)
    tolerance = 2e-6 * np.abs(expected).max() * 4
    np.testing.assert_allclose(y, expected, rtol=0, atol=tolerance)
