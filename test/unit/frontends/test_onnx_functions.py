"""Operators that ONNX defines by a function, and a model's own functions, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx.parser import parse_model
from onnx_rows import Row, ints, noise
from onnx_text import at_graph_level, parse
from xdsl.dialects.builtin import NameLoc

from nn_opt.frontends.onnx import import_model
from nn_opt.ir.diagnostics import DiagnosticError

q, k, v = (noise(2, 3, 4, 8, seed=seed) for seed in range(3))
scores, labels = noise(4, 3), ints(0, 2, 1, 2)

ROWS = [
    Row("y = Attention(q, k, v)", {"q": q, "k": k, "v": v}, opset=23),
    Row("y = Attention<is_causal = 1, scale = 0.2>(q, k, v)", {"q": q, "k": k, "v": v}, opset=23),
    Row(
        "y = Attention<q_num_heads = 4, kv_num_heads = 2>(q, k, v)",
        {"q": q[0], "k": k[0, :, :, :4], "v": v[0, :, :, 4:]},
        opset=23,
    ),
    Row("y = NegativeLogLikelihoodLoss(x, t)", {"x": scores, "t": labels}, opset=13),
    *(
        Row(f'y = SoftmaxCrossEntropyLoss<reduction = "{kind}">(x, t)', {"x": scores, "t": labels})
        for kind in ("none", "sum", "mean")
    ),
    Row("y = CenterCropPad<axes = [0, 1]>(x, s)", {"x": scores}, {"s": ints(2, 6)}, opset=18),
    Row(
        "y = RotaryEmbedding(x, c, s)",
        {"x": q},
        {"c": noise(2, 4, 4), "s": noise(2, 4, 4, seed=1)},
        opset=23,
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_agrees_with_onnxruntime(row: Row) -> None:
    row.check()


def test_swiglu_is_swish_times_a_gate() -> None:
    text = "g (float[4,3] x, float[4,3] g) => (float[] y) { y = SwiGLU(x, g) }"
    (got,) = at_graph_level(parse(text, 28), {"x": scores, "g": scores + 1})
    np.testing.assert_allclose(got, scores / (1 + np.exp(-scores)) * (scores + 1), rtol=1e-5)


def test_inlined_nodes_are_named_after_their_call() -> None:
    text = """
    g (float[2] x) => (float[2] y) { a = local.double(x) [last] b = local.double(a) y = Neg(b) }
    <domain: "local", opset_import: ["" : 17]>
    double (a) => (c) { b = Abs(a) [sum] c = Add(a, b) }"""
    module = import_model(parse(text, domains={"local": 1}))
    places = [op.location.desc.data for op in module.walk() if isinstance(op.location, NameLoc)]
    assert places[:2] == ["double_0/Abs", "double_0/sum__1"]
    assert places[2:] == ["last/Abs", "last/sum__2", "Neg_2"]


FUNCTION = """<ir_version: 10, opset_import: ["": 22, "local": 1]>
g (float[2,3] x) => (float[2,3] y) { y = local.f(x) }
<opset_import: ["": VERSION], domain: "local">
f (a) => (b) { n = Neg(a) b = Softmax(n) }"""


def test_functions_of_another_operator_set_whose_operators_are_the_same() -> None:
    """Converters write the operator set that they know in functions, and a newer one beside."""
    x = scores[:2]
    (got,) = at_graph_level(parse_model(FUNCTION.replace("VERSION", "18")), {"x": x})
    grown = np.exp(-x)
    np.testing.assert_allclose(got, grown / grown.sum(1, keepdims=True), rtol=1e-5)


def test_functions_whose_operators_mean_something_else_are_refused() -> None:
    """Softmax of operator set 11 has another default axis; the ONNX checker sees the versions."""
    with pytest.raises(DiagnosticError, match="is not compatible with the version imported"):
        import_model(parse_model(FUNCTION.replace("VERSION", "11")))


def test_causal_convolution_sees_the_past_alone() -> None:
    """CausalConvWithState: depthwise over [N, C, T], the state is the last k - 1 steps."""
    text = (
        "g (float[1,2,5] x) => (float[] y, float[] state) { y, state = CausalConvWithState(x, w) }"
    )
    x, w = noise(1, 2, 5), noise(2, 1, 3, seed=1)
    y, state = at_graph_level(parse(text, 27, {"w": w}), {"x": x})
    padded = np.pad(x[0], ((0, 0), (2, 0)))
    want = [[padded[c, t : t + 3] @ w[c, 0] for t in range(5)] for c in range(2)]
    np.testing.assert_allclose(y[0], want, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(state, x[:, :, 3:])
