"""RNN, GRU and LSTM against onnxruntime: directions, biases, states, layouts, activations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from onnx_rows import Row, noise
from onnx_text import Array, at_graph_level, in_onnxruntime

import nn_opt
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
        "e": np.array([0, TIME, 1], np.int32),
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
    for direction in BOTH:
        yield row("GRU", "w r b n h0", "linear_before_reset = 1, clip = 0.7", direction)
        yield row("LSTM", "w r b n h0 c0 p", "clip = 0.7, input_forget = 1", direction)
    yield row("RNN", "w r b e h0", direction="bidirectional")
    yield row("LSTM", "w r b e h0 c0", direction="reverse")
    alpha = "activation_alpha = [0.3, 0.8, 0.5], activation_beta = [0.1, 0.6]"
    yield row("LSTM", "w r b", f'activations = ["HardSigmoid", "Affine", "Elu"], {alpha}')
    alpha = "activation_alpha = [0.3, 0.8, 0.5], activation_beta = [0.6]"
    names = '["LeakyRelu", "Affine", "ThresholdedRelu"]'
    yield row("LSTM", "w r _ n _ _ p", f"activations = {names}, {alpha}")
    yield row("GRU", "w r b", 'activations = ["Softsign", "Softplus"]')
    yield row("GRU", "w r b", 'activations = ["relu", "TANH"]')
    for version in (7, 22):
        yield replace(row("GRU", "w r b n h0", direction="bidirectional"), opset=version)
        yield replace(row("LSTM", "w r b n h0 c0 p", direction="bidirectional"), opset=version)
    yield shown(row("LSTM", "w r b _ h0 c0"), '"", "", c')
    yield shown(row("GRU", "w r b n h0", direction="reverse"), '"", h')
    yield shown(row("RNN", "w r"), "y")


def shown(full: Row, outputs: str) -> Row:
    """Return a row that leaves out the other results of its node."""
    _, call = full.nodes.split(" = ", 1)
    names = [name for name in outputs.split(", ") if name != '""']
    results = ", ".join(f"float[] {name}" for name in names)
    return replace(full, nodes=f"{outputs} = {call}", results=results)


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


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", BOTH)
def test_batch_first_with_lengths(kind: str, direction: str) -> None:
    """Each sequence alone, cut to its length, is the judge; onnxruntime has no layout 1."""
    case = row(kind, "w r b n", "layout = 1", direction)
    x = noise(BATCH, TIME, FEATURES, seed=8)
    got = at_graph_level(Row(case.nodes, {"x": x}, case.known, 14, case.results).model(), {"x": x})
    alone = row(kind, "w r b", "", direction)
    for entry, length in enumerate(case.known["n"]):
        cut = x[entry : entry + 1, :length].transpose(1, 0, 2).copy()
        want = in_onnxruntime(
            Row(alone.nodes, {"x": cut}, alone.known, 14, alone.results).model(), {"x": cut}
        )
        shown = np.zeros(got[0][entry].shape, np.float32)
        shown[:length] = want[0][:, :, 0]
        np.testing.assert_allclose(got[0][entry], shown, rtol=1e-4, atol=1e-6)
        for state, last in zip(got[1:], want[1:], strict=True):
            np.testing.assert_allclose(state[entry], last[:, 0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("time", "batch"), [(0, 2), (3, 0)])
@pytest.mark.parametrize("kind", GATES)
def test_no_steps_and_no_sequences(kind: str, time: int, batch: int) -> None:
    """onnxruntime gives zeros for no steps, and ends the process for no sequences."""
    case = row(kind, "w r b _ h0", direction="bidirectional")
    known = {**case.known, "h0": noise(2, batch, HIDDEN)}
    x = noise(time, batch, FEATURES)
    model = Row(case.nodes, {"x": x}, known, 14, case.results).model()
    if kind == "LSTM":
        first, *states = nn_opt.compile(model, cache=False, threads=1).run({"x": x}).values()
    else:
        first, *states = at_graph_level(model, {"x": x})
    assert first.shape == (time, 2, batch, HIDDEN)
    for state in states:
        assert state.shape == (2, batch, HIDDEN)
        assert not state.any()


FLOATS = [
    ("LSTM", np.float64),
    ("GRU", np.float16),
    ("RNN", ml_dtypes.bfloat16),
    ("LSTM", ml_dtypes.bfloat16),
]


@pytest.mark.parametrize(("kind", "dtype"), FLOATS)
def test_other_floats_compiled(kind: str, dtype: type[np.floating]) -> None:
    """onnxruntime's results in float32 are the judge: it has no others.

    Inputs and weights rounded to bfloat16 alone move those of the RNN by 0.019.
    """
    case = row(kind, "w r b n h0", direction="bidirectional")
    name = {np.float64: "double"}.get(dtype, np.dtype(dtype).name)
    known = {n: a.astype(dtype) if a.dtype.kind == "f" else a for n, a in case.known.items()}
    x = case.inputs["x"].astype(dtype)
    results = case.results.replace("float", name)
    model = Row(case.nodes, {"x": x}, known, 22, results).model()
    got = nn_opt.compile(model, cache=False, threads=1).run({"x": x})
    bound = {"double": 1e-6, "float16": 2e-2, "bfloat16": 5e-2}[name]
    for actual, want in zip(got.values(), in_onnxruntime(case.model(), case.inputs), strict=True):
        assert actual.dtype == dtype
        np.testing.assert_allclose(actual.astype(np.float64), want, rtol=bound, atol=bound)


def test_an_unknown_activation_is_named() -> None:
    with pytest.raises(DiagnosticError, match="activation wobble"):
        import_model(row("RNN", "w r", 'activations = ["Wobble"]').model())
