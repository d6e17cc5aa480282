"""Mixtures of experts against onnxruntime, and what is said of wrong ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx_rows import Row, noise
from onnx_text import Array, at_graph_level

from nn_opt.ir.diagnostics import DiagnosticError

MICROSOFT = {"com.microsoft": 1}
REAL = {"w": noise(4, 12, 8), "b": noise(4, 12, seed=1), "v": noise(4, 8, 12, seed=2)}
REAL |= {"c": noise(4, 8, seed=3), "u": noise(4, 24, 8, seed=4), "d": noise(4, 24, seed=5)}


def row(nodes: str, inputs: dict[str, Array], known: dict[str, Array]) -> Row:
    nodes = nodes.replace("= ", "= com.microsoft.", 1)
    known = {name: array for name, array in known.items() if f" {name}" in nodes}
    return Row(nodes, inputs, known, 17, "float[] y", MICROSOFT)


def given(rows: int, width: int = 8) -> dict[str, Array]:
    return {"x": noise(rows, width, seed=6), "p": noise(rows, 4, seed=7)}


SWIGLU = 'activation_type = "swiglu", swiglu_fusion = 1'


@pytest.mark.parametrize("count", [1, 5])  # rows whose experts are gathered, and all experts
@pytest.mark.parametrize(
    "nodes",
    [
        "y = MoE<k = 2>(x, p, w, , v)",
        'y = MoE<k = 2, activation_type = "silu", normalize_routing_weights = 1>(x, p, w, b, v, c)',
        'y = MoE<k = 1, activation_type = "gelu">(x, p, w, b, v, c)',
        f"y = MoE<k = 3, {SWIGLU}, activation_alpha = 1.7, activation_beta = 1.0,"
        " swiglu_limit = 0.5>(x, p, u, d, v, c)",
    ],
)
def test_real_weights(nodes: str, count: int) -> None:
    row(nodes, given(count), REAL).check(1e-4, 1e-5)


def packed(numbers: Array, bits: int) -> Array:
    return (
        numbers if bits == 8 else (numbers[..., ::2] | (numbers[..., 1::2] << 4)).astype(np.uint8)
    )


def quantised(bits: int, blocks: int, seed: int = 0) -> dict[str, Array]:
    random = np.random.default_rng(seed)
    known: dict[str, Array] = {}
    for letter, columns in (("w", 64), ("v", 32)):
        numbers = random.integers(0, 1 << bits, (4, columns, 32)).astype(np.uint8)
        scale = np.abs(noise(4, columns, blocks, seed=seed)) / (1 << bits)
        zeros = random.integers(0, 1 << bits, (4, columns, blocks)).astype(np.uint8)
        known |= {letter: packed(numbers, bits), f"{letter}z": packed(zeros, bits)}
        known[f"{letter}s"] = scale if blocks > 1 else scale[..., 0]
    return known | {"b": noise(4, 64), "c": noise(4, 32)}


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize(
    ("bits", "blocks", "zeros"), [(4, 1, False), (8, 1, False), (4, 2, False), (4, 2, True)]
)
def test_quantised_weights(bits: int, blocks: int, zeros: bool, count: int) -> None:
    more = ", , , , wz, vz" if zeros else ""
    size = f", block_size = {32 // blocks}" if blocks > 1 else ""
    attrs = f"k = 2, expert_weight_bits = {bits}, {SWIGLU}, normalize_routing_weights = 1{size}"
    nodes = f"y = QMoE<{attrs}>(x, p, w, ws, b, v, vs, c{more})"
    row(nodes, given(count, 32), quantised(bits, blocks)).check(1e-4, 1e-4)


def test_three_layers_are_a_fused_one() -> None:
    """onnxruntime has no third layer on processors."""
    known = REAL | {"u": np.stack([REAL["w"], REAL["w"] + 1], 2).reshape(4, 24, 8)}
    apart = {"w": REAL["w"], "v": REAL["v"], "t": REAL["w"] + 1}
    fused = row(f"y = MoE<k = 2, {SWIGLU}>(x, p, u, , v)", given(5), known)
    other = 'y = MoE<k = 2, activation_type = "swiglu">(x, p, w, , v, , t)'
    sides = {"u": np.concatenate([REAL["w"], REAL["w"] + 1], 1), "v": REAL["v"]}
    halves = 'y = MoE<k = 2, activation_type = "swiglu", swiglu_fusion = 2>(x, p, u, , v)'
    fused.check(1e-4, 1e-5)
    (want,) = at_graph_level(fused.model(), fused.inputs)
    for case in (row(other, given(5), apart), row(halves, given(5), sides)):
        (got,) = at_graph_level(case.model(), case.inputs)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_weights_of_experts_that_are_given() -> None:
    known = quantised(8, 1)
    inputs = given(5, 32) | {"r": np.abs(noise(5, 4, seed=9)) + 0.1}
    for normal in (0, 1):
        attrs = f"k = 2, expert_weight_bits = 8, {SWIGLU}, normalize_routing_weights = {normal}"
        nodes = f"y = QMoE<{attrs}>(x, p, w, ws, b, v, vs, c, , , , , , , r)"
        row(nodes, inputs, known).check(1e-4, 1e-4)


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ("y = MoE<k = 9>(x, p, w, , v)", "k is 9, of scores [5, 4], expected [rows, experts]"),
        ('y = MoE<activation_type = "swiglu">(x, p, u, , v)', "swiglu_fusion is 0, with no third"),
        (
            "y = QMoE<expert_weight_bits = 3>(x, p, w, b, , v, c)",
            "weights of 3 bits, expected 2, 4 or 8",
        ),
        ('y = QMoE<quant_type = "fp8">(x, p, w, b, , v, c)', "quant_type = fp8"),
        ("y = QMoE<weights_prepacked = 1>(x, p, w, b, , v, c)", "weights_prepacked = 1"),
        (
            "y = QMoE<expert_weight_bits = 8>(x, p, q, t, , q, t)",
            "rows of 8 elements do not divide into 3 blocks",
        ),
    ],
)
def test_what_is_refused(nodes: str, words: str) -> None:
    more: dict[str, Any] = {"q": np.zeros((4, 8, 8), np.uint8), "t": noise(4, 8, 3)}
    case = row(nodes, given(5), REAL | more)
    with pytest.raises(DiagnosticError) as error:
        at_graph_level(case.model(), case.inputs)
    assert words in str(error.value)
