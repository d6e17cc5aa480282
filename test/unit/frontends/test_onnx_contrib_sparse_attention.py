"""SparseAttention and attention of one query, against onnxruntime, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx_rows import Row, noise
from onnx_text import Array, at_graph_level, in_onnxruntime

from nn_opt.ir.diagnostics import DiagnosticError

MICROSOFT = {"com.microsoft": 1}
HEADS, GROUPS, SIZE, BLOCK, LONGEST = 4, 2, 16, 16, 48
# Two layouts of three by three blocks.
ENDS = np.asarray([[0, 1, 3, 5], [0, 1, 2, 5]], np.int32)
COLUMNS = np.asarray([[0, 0, 1, 1, 2], [0, 1, 0, 1, 2]], np.int32)
ATTRS = f"num_heads = {HEADS}, kv_num_heads = {GROUPS}, sparse_block_size = {BLOCK}"
RESULTS = "float[] y, float[] a, float[] b"


def i32(*numbers: int) -> Array:
    return np.asarray(numbers, np.int32)


def case(length: int, total: int, lengths: Array, attrs: str = "", more: str = "") -> Row:
    cache = (2, GROUPS, LONGEST, SIZE)
    filled = [
        noise(*cache, seed=k) * (np.arange(LONGEST)[:, None] < total - length) for k in (3, 4)
    ]
    inputs: dict[str, Any] = {
        "q": noise(2, length, HEADS * SIZE),
        "k": noise(2, length, GROUPS * SIZE, seed=1),
        "v": noise(2, length, GROUPS * SIZE, seed=2),
        "pk": filled[0].astype(np.float32),
        "pv": filled[1].astype(np.float32),
        "n": lengths,
    }
    known = {"e": ENDS, "c": COLUMNS, "t": i32(total)}
    known |= {"cos": np.cos(noise(LONGEST, SIZE // 2)), "sin": np.sin(noise(LONGEST, SIZE // 2))}
    if not more:
        del known["cos"], known["sin"]
    text = f"y, a, b = com.microsoft.SparseAttention<{ATTRS}{attrs}>"
    text += f"(q, k, v, pk, pv, e, c, t, n{more})"
    return Row(text, inputs, known, 17, RESULTS, MICROSOFT)


def shared(row: Row) -> list[Array]:
    """Return what onnxruntime computes where it writes the caches, which it does in place."""
    session: Any = onnxruntime.InferenceSession(row.model().SerializeToString())
    values = {n: onnxruntime.OrtValue.ortvalue_from_numpy(a) for n, a in row.inputs.items()}
    binding: Any = session.io_binding()
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for name, cache in (("a", "pk"), ("b", "pv")):
        binding.bind_ortvalue_output(name, values[cache])
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    a, b, y = binding.copy_outputs_to_cpu()  # in the order in which they were bound
    return [y, a, b]


@pytest.mark.parametrize(
    ("length", "total", "lengths", "attrs", "more"),
    [
        (40, 40, (40, 40), "", ""),
        (1, 37, (37, 37), "", ""),
        (40, 40, (40, 40), ", do_rotary = 1", ", cos, sin"),
        (1, 37, (37, 37), ", do_rotary = 1, rotary_interleaved = 1", ", cos, sin"),
    ],
)
def test_agrees_with_onnxruntime(
    length: int, total: int, lengths: tuple[int, int], attrs: str, more: str
) -> None:
    row = case(length, total, i32(*lengths), attrs, more)
    mine = at_graph_level(row.model(), row.inputs)
    for got, want in zip(mine, shared(row), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_sequences_of_different_lengths() -> None:
    """Of the second one, whose query is at place 19, heads see blocks 0 and 1, or 1 alone."""
    row = case(1, 37, i32(37, 20))
    y, keys, values = at_graph_level(row.model(), row.inputs)
    assert (keys[1, :, 19].ravel() == row.inputs["k"][1, 0]).all()
    queries = row.inputs["q"][1, 0].reshape(HEADS, SIZE).astype(np.float64)
    for head in range(HEADS):
        group, seen = head * GROUPS // HEADS, slice(16 * (head % 2), 20)
        scores = keys[1, group, seen] @ queries[head] / 4
        weights = np.exp(scores) / np.exp(scores).sum()
        want = weights @ values[1, group, seen]
        got = y[1, 0, head * SIZE : (head + 1) * SIZE]
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_layouts_that_heads_do_not_share() -> None:
    row = case(1, 37, i32(37, 20))
    ends = np.concatenate([ENDS, ENDS[:1]])
    row = Row(row.nodes, row.inputs, {**row.known, "e": ends}, 17, RESULTS, MICROSOFT)
    with pytest.raises(DiagnosticError, match="whose number divides that of heads"):
        at_graph_level(row.model(), row.inputs)


MASKED = "y, a, b = com.microsoft.DecoderMaskedMultiHeadAttention<num_heads = 2{}>"
QUERY = {"q": noise(2, 1, 8), "k": noise(2, 1, 8, seed=1), "v": noise(2, 1, 8, seed=2)}
QUERY |= {"pk": noise(2, 2, 3, 4, seed=3), "pv": noise(2, 2, 3, 4, seed=4)}
QUERY |= {"m": np.asarray([[1, 1, 0, 1], [0, 1, 1, 1]], np.int32)}


def test_one_query() -> None:
    """onnxruntime has it for shared caches alone; otherwise it is MultiHeadAttention."""
    nodes = MASKED.format("") + "(q, k, v, m, , pk, pv, , , , bias)"
    known = {"bias": noise(24)}
    got = at_graph_level(Row(nodes, QUERY, known, 17, RESULTS, MICROSOFT).model(), QUERY)
    nodes = "y, a, b = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v, bias, m, , pk, pv)"
    want = in_onnxruntime(Row(nodes, QUERY, known, 17, RESULTS, MICROSOFT).model(), QUERY)
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("attrs", "operands", "words"),
    [
        (", output_qk = 1", "q, k, v", "output_qk = 1"),
        ("", "q, k, v, , , pk, pv, , m", "caches that beams share"),
    ],
)
def test_what_is_refused(attrs: str, operands: str, words: str) -> None:
    row = Row(MASKED.format(attrs) + f"({operands})", QUERY, {}, 17, RESULTS, MICROSOFT)
    with pytest.raises(DiagnosticError, match=words):
        at_graph_level(row.model(), row.inputs)
