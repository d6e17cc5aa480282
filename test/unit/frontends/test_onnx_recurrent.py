"""RNN, GRU and LSTM against onnxruntime: directions, biases, states, layouts, activations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from onnx_rows import Row, noise
from onnx_text import Array, at_graph_level

from nn_opt.frontends.onnx import import_model
from nn_opt.ir.diagnostics import DiagnosticError

TIME, BATCH, FEATURES, HIDDEN = 5, 3, 4, 2
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
OUTPUTS = {"RNN": "y, h", "GRU": "y, h", "LSTM": "y, h, c"}
BOTH = ("forward", "reverse", "bidirectional")


def operands(kind: str, directions: int) -> dict[str, Array]:
    """Return seeded weights and states by the names that rows use."""
    rows = GATES[kind] * HIDDEN
    return {
        "w": noise(directions, rows, FEATURES, seed=1),
        "r": noise(directions, rows, HIDDEN, seed=2),
        "b": noise(directions, 2 * rows, seed=3),
        "n": np.array([2, TIME, 3], np.int32),
        "h0": noise(directions, BATCH, HIDDEN, seed=4),
        "c0": noise(directions, BATCH, HIDDEN, seed=5),
        "p": noise(directions, 3 * HIDDEN, seed=6),
    }


def row(kind: str, used: str, attributes: str = "", direction: str = "forward") -> Row:
    """Return a node with the operands named in `used`; '_' leaves one out."""
    known = operands(kind, 2 if direction == "bidirectional" else 1)
    names = ["" if name == "_" else name for name in used.split()]
    extra = f", {attributes}" if attributes else ""
    outputs = OUTPUTS[kind]
    node = f'{outputs} = {kind}<hidden_size = {HIDDEN}, direction = "{direction}"{extra}>'
    results = ", ".join(f"float[] {name}" for name in outputs.split(", "))
    kept = {name: known[name] for name in names if name}
    text = f"{node}(x, {', '.join(names)})"
    return Row(text, {"x": noise(TIME, BATCH, FEATURES)}, kept, opset=14, results=results)


def rows() -> Iterator[Row]:
    for kind in GATES:
        for direction in BOTH:
            yield row(kind, "w r", direction=direction)
            yield row(kind, "w r b _ h0", direction=direction)
            yield row(kind, "w r b n h0", direction=direction)
        yield row(kind, "w r b", "clip = 0.4")
    for direction in BOTH:
        yield row("GRU", "w r b _ h0", "linear_before_reset = 1", direction)
        yield row("LSTM", "w r b n h0 c0", direction=direction)
        yield row("LSTM", "w r b _ h0 c0 p", direction=direction)
    yield row("LSTM", "w r b", "input_forget = 1")
    yield row("LSTM", "w r b", 'activations = ["HardSigmoid", "Softsign", "Relu"]')
    yield row("RNN", "w r", 'activations = ["Relu"]')
    yield row("RNN", "w r b", 'activations = ["LeakyRelu"], activation_alpha = [0.3]')
    parameters = "activation_alpha = [0.3, 0.8], activation_beta = [0.1, 0.6]"
    yield row("GRU", "w r b", f'activations = ["HardSigmoid", "ScaledTanh"], {parameters}')
    two = 'activations = ["Tanh", "Sigmoid"]'
    yield row("RNN", "w r b", two, "bidirectional")


@pytest.mark.parametrize("case", list(rows()), ids=str)
def test_agrees_with_onnxruntime(case: Row) -> None:
    case.check()


@pytest.mark.parametrize("kind", GATES)
def test_batch_first_is_the_transposed_computation(kind: str) -> None:
    """onnxruntime refuses layout 1, so it is compared with layout 0."""
    plain = row(kind, "w r b _ h0")
    first = row(kind, "w r b _ h0", "layout = 1")
    known = {**first.known, "h0": plain.known["h0"].transpose(1, 0, 2).copy()}
    turned = {"x": plain.inputs["x"].transpose(1, 0, 2).copy()}
    batch_first = Row(first.nodes, turned, known, first.opset, first.results)
    want = at_graph_level(plain.model(), plain.inputs)
    got = at_graph_level(batch_first.model(), turned)
    perms = [(2, 0, 1, 3), *([(1, 0, 2)] * (len(want) - 1))]
    for actual, expected, perm in zip(got, want, perms, strict=True):
        np.testing.assert_allclose(actual, expected.transpose(perm), rtol=1e-6)


def test_an_unknown_activation_is_named() -> None:
    with pytest.raises(DiagnosticError, match="activation wobble"):
        import_model(row("RNN", "w r", 'activations = ["Wobble"]').model())
