"""Operators of com.microsoft that step through sequences or read packed weights."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_rows import Row, noise
from onnx_text import Array, at_graph_level, in_onnxruntime
from test_onnx_contrib import NONE, i32, random, row

GQA = "num_heads = 4, kv_num_heads = 2"
caches = {"c": np.cos(noise(8, 8)), "s": np.sin(noise(8, 8))}


def _grouped(attrs: str, length: int, past: int, total: int, lasts: tuple[int, ...]) -> Row:
    """Return a row of GroupQueryAttention: heads of 16 elements, a cache of `past` places."""
    batch = len(lasts)
    given = {
        "q": noise(batch, length, 64),
        "k": noise(batch, length, 32, seed=1),
        "v": noise(batch, length, 32, seed=2),
        "pk": noise(batch, 2, past, 16, seed=3),
        "pv": noise(batch, 2, past, 16, seed=4),
        "n": i32(*lasts),
    }
    known = {"t": np.asarray(total, np.int32), **(caches if "rotary" in attrs else {})}
    angles = "c, s" if "rotary" in attrs else '"", ""'
    return row(
        f"y, z, w = GroupQueryAttention<{GQA}{attrs}>(q, k, v, pk, pv, n, t, {angles})",
        given,
        known,
        "float[] y, float[] z, float[] w",
    )


GROUPED = [
    _grouped("", 1, 4, 5, (4, 4)),
    _grouped(", do_rotary = 1, softcap = 3.0", 1, 6, 5, (4, 4)),
    _grouped(", do_rotary = 1, rotary_interleaved = 1", 3, 4, 7, (6,)),
    _grouped(", do_rotary = 1", 1, 6, 6, (5, 2)),
    _grouped(", local_window_size = 2, scale = 0.2", 1, 6, 6, (5, 5)),
    _grouped(", smooth_softmax = 1", 1, 4, 5, (4, 4)),
    _grouped(", do_rotary = 1", 4, 6, 4, (3, 3)),
]


@pytest.mark.parametrize("case", GROUPED, ids=str)
def test_grouped_attention_with_a_cache(case: Row) -> None:
    """What the caches hold behind a sequence is nobody's business."""
    got, want = at_graph_level(case.model(), case.inputs), in_onnxruntime(case.model(), case.inputs)
    np.testing.assert_allclose(got[0], want[0], rtol=2e-5, atol=5e-6)
    for mine, theirs in zip(got[1:], want[1:], strict=True):
        assert mine.shape == theirs.shape
        for batch, last in enumerate(case.inputs["n"]):
            ours, others = mine[batch, :, : last + 1], theirs[batch, :, : last + 1]
            np.testing.assert_allclose(ours, others, rtol=2e-5, atol=5e-6)


def test_grouped_attention_of_packed_projections_with_a_bias() -> None:
    given = {"q": noise(2, 3, 128), "n": i32(2, 2), "a": noise(1, 4, 3, 3)}
    operands = 'q, "", "", "", "", n, t, c, s, "", a'
    row(
        f"y, z, w = GroupQueryAttention<{GQA}, do_rotary = 1>({operands})",
        given,
        {**caches, "t": np.asarray(3, np.int32)},
        "float[] y, float[] z, float[] w",
    ).check(rtol=2e-5, atol=5e-6)


def _packed(numbers: Array, bits: int) -> Array:
    """Return numbers of some bits, the first in the lowest bits of each byte."""
    parts = numbers.reshape(*numbers.shape[:-1], -1, 8 // bits).astype(np.int64)
    return (parts << (bits * np.arange(8 // bits))).sum(axis=-1).astype(np.uint8)


@pytest.mark.parametrize("count", [2, 9])
@pytest.mark.parametrize(
    ("bits", "zeros"), [(4, "none"), (4, "packed"), (4, "real"), (8, "packed"), (8, "none")]
)
def test_product_with_weights_of_some_bits(bits: int, zeros: str, count: int) -> None:
    """K = 40 in blocks of 16: the last one is not full."""
    numbers = random.integers(0, 1 << bits, (5, 3, 16))
    zero = random.integers(0, 1 << bits, (5, 4))
    known = {"b": _packed(numbers, bits), "s": noise(5, 3), "c": noise(5)}
    known |= {"packed": {"z": _packed(zero, bits)[:, : -(-3 * bits // 8)]}, "none": NONE}.get(
        zeros, {"z": noise(5, 3)}
    )
    operand = '""' if zeros == "none" else "z"
    nodes = f"""y = MatMulNBits<K = 40, N = 5, bits = {bits}, block_size = 16>
      (a, b, s, {operand}, "", c)"""
    row(nodes, {"a": noise(count, 40)}, known).check(rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("zeros", [False, True])
def test_rows_of_weights_of_some_bits(zeros: bool) -> None:
    """32 numbers of 4 bits a row, in 2 blocks."""
    numbers, zero = random.integers(0, 16, (5, 32)), random.integers(0, 16, (5, 2))
    known = {"w": _packed(numbers, 4), "s": noise(5, 2), "z": _packed(zero, 4)}
    nodes = f"""y = GatherBlockQuantized<quantize_axis = 1, block_size = 16, bits = 4>
      (w, i, s{", z" if zeros else ""})"""
    row(nodes, {"i": np.int64([[3, 0], [4, 4]])}, known).check()
