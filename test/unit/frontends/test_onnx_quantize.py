"""Quantised operators: exact integers, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_rows import Row, noise, reals
from onnx_text import at_graph_level

x = 4 * noise(3, 4)
halves = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 300, -300], np.float32)
random = np.random.default_rng(0)
bytes_ = random.integers(0, 256, (2, 4, 5, 5)).astype(np.uint8)
filters = random.integers(-128, 128, (3, 4, 3, 3)).astype(np.int8)
left = random.integers(0, 256, (2, 3)).astype(np.uint8)
right = random.integers(-128, 128, (3, 4)).astype(np.int8)


def u8(*values: int) -> np.ndarray:
    return np.array(values if len(values) > 1 else values[0], np.uint8)


def i8(*values: int) -> np.ndarray:
    return np.array(values if len(values) > 1 else values[0], np.int8)


def scale(value: float) -> np.ndarray:
    return np.array(value, np.float32)


ROWS = [
    Row("y = QuantizeLinear(x, s)", {"x": halves}, {"s": scale(1)}, 10, "uint8[] y"),
    Row("y = QuantizeLinear(x, s, z)", {"x": halves}, {"s": scale(1), "z": i8(3)}, 10, "int8[] y"),
    Row(
        "y = QuantizeLinear<axis = 0>(x, s, z)",
        {"x": x},
        {"s": reals(0.1, 0.2, 0.3), "z": u8(10, 128, 200)},
        13,
        "uint8[] y",
    ),
    Row("y = DequantizeLinear(q, s, z)", {"q": left}, {"s": scale(0.1), "z": u8(9)}, 10),
    Row(
        "y = DequantizeLinear<axis = 1>(q, s, z)",
        {"q": left},
        {"s": reals(0.1, 0.2, 0.3), "z": u8(9, 8, 7)},
        13,
    ),
    Row("y = DequantizeLinear(q, s)", {"q": left.astype(np.int32)}, {"s": scale(0.1)}, 13),
    Row(
        "y, s, z = DynamicQuantizeLinear(x)",
        {"x": x},
        opset=11,
        results="uint8[] y, float s, uint8 z",
    ),
    Row("y = MatMulInteger(a, b)", {"a": left, "b": right}, opset=10, results="int32[] y"),
    Row(
        "y = MatMulInteger(a, b, za, zb)",
        {"a": left, "b": right},
        {"za": u8(7), "zb": i8(1, -2, 3, 0)},
        opset=10,
        results="int32[] y",
    ),
    Row(
        "y = ConvInteger<pads = [1, 1, 1, 1]>(x, w, z)",
        {"x": bytes_, "w": filters.view(np.uint8)},
        {"z": u8(7)},
        opset=10,
        results="int32[] y",
    ),
    Row(
        "y = QLinearMatMul(a, sa, za, b, sb, zb, sy, zy)",
        {"a": left, "b": right},
        {
            "sa": scale(0.02),
            "za": u8(113),
            "sb": scale(0.03),
            "zb": i8(-5),
            "sy": scale(0.05),
            "zy": u8(118),
        },
        opset=10,
        results="uint8[] y",
    ),
    Row(
        "y = QLinearConv<strides = [2, 2]>(x, sx, zx, w, sw, zw, sy, zy, b)",
        {"x": bytes_},
        {
            "sx": scale(0.02),
            "zx": u8(100),
            "w": filters,
            "sw": reals(0.01, 0.02, 0.03),
            "zw": np.zeros(3, np.int8),
            "sy": scale(0.2),
            "zy": u8(90),
            "b": np.array([100, -200, 3], np.int32),
        },
        opset=10,
        results="uint8[] y",
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_agrees_with_onnxruntime(row: Row) -> None:
    row.check()


def test_blocks_share_a_scale_and_a_zero_point() -> None:
    """Blocks of 2 along axis 1 of 3: the last block is cut."""
    known = {"s": np.float32([[1, 2], [4, 8]]), "z": u8(1, 2, 3, 4).reshape(2, 2)}
    row = Row("y = DequantizeLinear<axis = 1, block_size = 2>(q, s, z)", {"q": left}, known, 21)
    (got,) = at_graph_level(row.model(), row.inputs)
    scales = np.repeat(known["s"], 2, axis=1)[:, :3]
    zeros = np.repeat(known["z"], 2, axis=1)[:, :3].astype(int)
    np.testing.assert_array_equal(got, (left.astype(int) - zeros) * scales)
