"""DynamicQuantizeLSTM against onnxruntime: signed and unsigned weights, scales a column, states."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_rows import noise
from onnx_text import Array, at_graph_level, in_onnxruntime, parse

import nn_opt
from nn_opt.frontends.onnx import import_model
from nn_opt.ir.diagnostics import DiagnosticError

TIME, BATCH, FEATURES, HIDDEN = 4, 2, 8, 6
DOMAINS = {"com.microsoft": 1}


def operands(directions: int, dtype: type[np.integer], columns: bool) -> dict[str, Array]:
    """Return seeded operands by their names below."""
    rng = np.random.default_rng(3)
    low = np.iinfo(dtype).min
    shape = (directions, 4 * HIDDEN) if columns else (directions,)
    zero = np.full(shape, 0 if low else 128, dtype)
    codes = {
        name: rng.integers(low, low + 256, (directions, rows, 4 * HIDDEN)).astype(dtype)
        for name, rows in (("w", FEATURES), ("r", HIDDEN))
    }
    scales = {name: rng.uniform(0.002, 0.005, shape).astype(np.float32) for name in ("ws", "rs")}
    return {
        **codes,
        **scales,
        "wz": zero,
        "rz": zero,
        "b": noise(directions, 8 * HIDDEN, seed=1),
        "n": np.array([2, TIME], np.int32),
        "h": noise(directions, BATCH, HIDDEN, seed=2),
        "c": noise(directions, BATCH, HIDDEN, seed=3),
        "p": noise(directions, 3 * HIDDEN, seed=4),
    }


def text(attributes: str, middle: str, direction: str = "bidirectional") -> str:
    return f"""g (float[{TIME},{BATCH},{FEATURES}] x) => (float[] y, float[] z, float[] q) {{
        y, z, q = com.microsoft.DynamicQuantizeLSTM<hidden_size = {HIDDEN}{attributes},
            direction = "{direction}">(x, w, r, {middle}, ws, wz, rs, rz) }}"""


ROWS = {
    "int8": (np.int8, False, "", 'b, "", h, c, ""'),
    "uint8": (np.uint8, False, "", 'b, "", "", "", ""'),
    "scales of columns": (np.int8, True, ", input_forget = 1", '"", "", "", "", ""'),
    "lengths and peepholes": (np.int8, False, ", clip = 2.0", "b, n, h, c, p"),
}


@pytest.mark.parametrize("case", ROWS)
def test_agrees_with_onnxruntime(case: str) -> None:
    dtype, columns, attributes, middle = ROWS[case]
    known = operands(2, dtype, columns)
    used = {
        n: a for n, a in known.items() if n in (*middle.split(", "), *"w r ws wz rs rz".split())
    }
    model = parse(text(attributes, middle), 17, used, DOMAINS)
    inputs = {"x": noise(TIME, BATCH, FEATURES, seed=9)}
    expected = in_onnxruntime(model, inputs)
    # The range of states holds rows of ended sequences, which are garbage in onnxruntime.
    atol = 2e-3 if " n," in middle else 1e-5
    found = [at_graph_level(model, inputs)]
    if case == "int8":
        found.append(list(nn_opt.compile(model, cache=False, threads=1).run(inputs).values()))
    for results in found:
        for got, want in zip(results, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=atol)


def test_weights_of_other_gates_are_refused() -> None:
    known = operands(1, np.int8, False)
    known["r"] = known["r"][:, :, :-1]
    used = {name: known[name] for name in "w r ws wz rs rz".split()}
    model = parse(text("", '"", "", "", "", ""', "forward"), 17, used, DOMAINS)
    with pytest.raises(DiagnosticError, match=r"R has 23 columns a direction, expected 4 \* 6"):
        import_model(model)
