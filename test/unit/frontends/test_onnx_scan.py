"""Scan against onnxruntime and the specification: axes, directions, states, captures, opset 8."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto
from onnx_rows import noise
from onnx_text import Array, at_graph_level, in_onnxruntime, parse

import nn_opt
from nn_opt.dialects import graph
from nn_opt.frontends.onnx import import_model
from nn_opt.ir.diagnostics import DiagnosticError

THREE, FOUR, ROWS = noise(3), noise(4, 3, seed=1), noise(2, 4, 3, seed=2)

MODELS = {
    "axes and directions": (
        """g (float[3] h, float[3,4] x, float[4,3] z) => (float[] s, float[] a, float[] b) {
             s, a, b = Scan<num_scan_inputs = 2, scan_input_axes = [-1, 0],
               scan_input_directions = [1, 0], scan_output_axes = [-1, 0],
               scan_output_directions = [0, 1],
               body = f (float[3] h, float[3] x, float[3] z) => (float[3] n, float[3] o, float m) {
                 p = Mul(h, x) n = Add(p, z) o = Sub(n, x) m = ReduceMax<keepdims = 0>(n)
             }>(h, x, z) }""",
        {"h": THREE, "x": noise(3, 4, seed=3), "z": FOUR},
    ),
    "all backwards": (
        """g (float[3] h, float[4,3] x) => (float[] s, float[] a, float[] b) {
             s, a, b = Scan<num_scan_inputs = 1, scan_input_directions = [1],
               scan_output_directions = [1, 0],
               body = f (float[3] h, float[3] x) => (float[3] n, float[3] o, float[3] q) {
                 n = Add(h, x) o = Exp(n) q = Neg(n)
             }>(h, x) }""",
        {"h": THREE, "x": FOUR},
    ),
    "no state": (
        """g (float[4,3] x) => (float[] y) {
             y = Scan<num_scan_inputs = 1, body = f (float[3] x) => (float[3] y) { y = Exp(x) }>(x)
           }""",
        {"x": FOUR},
    ),
    "states change places": (
        """g (float[3] a, float[3] b, float[4,3] x) => (float[] c, float[] d, float[] y) {
             c, d, y = Scan<num_scan_inputs = 1,
               body = f (float[3] a, float[3] b, float[3] x) => (float[3] c, float[3] d, float[3] y)
               { c = Identity(b) d = Identity(a) y = Add(a, x) }>(a, b, x) }""",
        {"a": THREE, "b": FOUR[0], "x": FOUR},
    ),
    "values from around it": (
        """g (float[3] h, float[4,3] x, float[3] w) => (float[] s, float[] y) {
             n = Exp(w)
             s, y = Scan<num_scan_inputs = 1,
               body = f (float[3] h, float[3] e) => (float[3] t, float[3] v) {
                 m = Mul(h, n) t = Add(m, e) v = Identity(n)
             }>(h, x) }""",
        {"h": THREE, "x": FOUR, "w": THREE},
    ),
    "integers and truth": (
        """g (int64[1] c, bool[1] z, int64[4,1] x) => (int64[] d, bool[] w, bool[] y) {
             d, w, y = Scan<num_scan_inputs = 1,
               body = f (int64[1] c, bool[1] z, int64[1] x) => (int64[1] d, bool[1] w, bool[1] y) {
                 d = Add(c, x) g = Greater(d, c) w = Xor(z, g) y = Identity(w)
             }>(c, z, x) }""",
        {"c": np.int64([3]), "z": np.array([True]), "x": np.int64([[1], [-2], [0], [5]])},
    ),
    "scans in scans": (
        """g (float[3] h, float[4,2,3] x) => (float[] s, float[] y) {
             s, y = Scan<num_scan_inputs = 1,
               body = f (float[3] h, float[2,3] x) => (float[3] s, float[2,3] y) {
                 s, y = Scan<num_scan_inputs = 1,
                   body = k (float[3] a, float[3] e) => (float[3] b, float[3] c) {
                     m = Mul(a, h) b = Add(m, e) c = Sigmoid(b)
                 }>(h, x) }>(h, x) }""",
        {"h": THREE, "x": noise(4, 2, 3)},
    ),
    "a shift register": (
        """g (float[4] h, float[5] x) => (float[] s, float[] y) {
             s, y = Scan<num_scan_inputs = 1,
               body = f (float[4] h, float e) => (float[4] n, float o)
               <int64[1] none = {0}, int64[1] one = {1}, int64[1] end = {4}> {
                 u = Unsqueeze(e, none) t = Slice(h, one, end) n = Concat<axis = 0>(t, u)
                 o = ReduceMean<keepdims = 0>(n)
             }>(h, x) }""",
        {"h": noise(4), "x": noise(5, seed=4)},
    ),
    "rows of a table": (
        """g (float[3] h, int64[4,2] i) => (float[] s, float[] y) {
             s, y = Scan<num_scan_inputs = 1,
               body = f (float[3] h, int64[2] i) => (float[3] n, float[3] r) {
                 k = Gather(w, i) m = MatMul(k, v) q = Softmax(m)
                 r = ReduceSum<keepdims = 0>(q, none) n = Add(h, r)
             }>(h, i) }""",
        {"h": THREE, "i": np.int64([[0, 1], [2, 2], [-1, 3], [1, 1]])},
    ),
}
OLD = """g (float[2,3] h, float[2,4,3] x, int64[2] n) => (float[] s, float[] y) {
           s, y = Scan<num_scan_inputs = 1, directions = [%d],
             body = f (float[3] h, float[3] x) => (float[3] s, float[3] y) {
               s = Add(h, x) y = Relu(s)
           }>(%s, h, x) }"""
WEIGHTS = {"w": noise(4, 3, seed=5), "v": noise(3, 3, seed=6), "none": np.int64([0])}


def check(model: ModelProto, inputs: dict[str, Array], expected: list[Array]) -> None:
    """Compare what is interpreted and what is compiled with the expected results."""
    compiled = nn_opt.compile(model, cache=False, threads=1).run(inputs)
    for results in (at_graph_level(model, inputs), list(compiled.values())):
        for got, want in zip(results, expected, strict=True):
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", MODELS)
def test_agrees_with_onnxruntime(case: str) -> None:
    text, inputs = MODELS[case]
    used = {name: array for name, array in WEIGHTS.items() if case == "rows of a table"}
    model = parse(text, 17, used)
    check(model, inputs, in_onnxruntime(model, inputs))


@pytest.mark.parametrize("backwards", [0, 1])
@pytest.mark.parametrize("lengths", ["n", '""'])
def test_opset_8_scans_each_entry_of_a_batch(backwards: int, lengths: str) -> None:
    model = parse(OLD % (backwards, lengths), 8)
    inputs = {"h": FOUR[:2], "x": ROWS, "n": np.int64([2, 4])}
    check(model, inputs, in_onnxruntime(model, inputs))


def test_what_a_step_takes_it_may_give_on() -> None:
    """onnxruntime leaves such results zero."""
    text = """g (float[3] h, float[4,3] x) => (float[] s, float[] y, float[] z) {
                s, y, z = Scan<num_scan_inputs = 1,
                  body = f (float[3] h, float[3] x) => (float[3] h, float[3] x, float[3] h) {
                }>(h, x) }"""
    check(parse(text), {"h": THREE, "x": FOUR}, [THREE, FOUR, np.stack([THREE] * 4)])


def test_nothing_to_scan_leaves_the_states() -> None:
    """onnxruntime refuses an axis of size 0."""
    text = """g (float[3] h, float[0,3] x) => (float[] s, float[] y) {
                s, y = Scan<num_scan_inputs = 1, scan_output_axes = [1],
                  body = f (float[3] h, float[3] x) => (float[3] n, float[3] y) {
                    n = Add(h, x) y = Relu(n)
                }>(h, x) }"""
    empty = np.zeros((0, 3), np.float32)
    check(parse(text), {"h": THREE, "x": empty}, [THREE, empty.T])


def test_a_step_is_located_by_the_node_around_it() -> None:
    text, _ = MODELS["no state"]
    (scan,) = (op for op in import_model(parse(text)).walk() if isinstance(op, graph.ScanOp))
    assert "Scan_0/Exp_0" in str(scan.body.block.first_op.location)


BODY = "body = f (float[3] h, float[3] x) => (float[3] n, float[3] y)"
STEP = "{ n = Add(h, x) y = Relu(n) }"
FAULTS = {
    f"num_scan_inputs = 0, {BODY} {STEP}": "num_scan_inputs is 0, of 2 operands",
    f"num_scan_inputs = 3, {BODY} {STEP}": "num_scan_inputs is 3, of 2 operands",
    f"num_scan_inputs = 1, scan_input_axes = [0, 1], {BODY} {STEP}": (
        "scan_input_axes has 2 numbers, expected 1"
    ),
    f"num_scan_inputs = 1, scan_input_directions = [2], {BODY} {STEP}": (
        "scan_input_directions is [2], expected 0 or 1 for each"
    ),
    f"num_scan_inputs = 1, scan_output_axes = [2], {BODY} {STEP}": (
        "axis 2 is out of range for rank 2"
    ),
    f"num_scan_inputs = 2, {BODY} {STEP}": (
        "operands of shapes [[3], [4, 3]] have no common size along axis 0"
    ),
    "num_scan_inputs = 1, body = f (float[3] h) => (float[3] n, float[3] y) "
    "{ n = Neg(h) y = Relu(n) }": "graph 'f' has 1 inputs, expected 2",
    f"num_scan_inputs = 1, {BODY} {{ n = Concat<axis = 0>(h, x) y = Relu(n) }}": (
        "state 0 ('n') is 6xf32 after a step, expected 3xf32"
    ),
    f"num_scan_inputs = 1, {BODY} {{ n = Cast<to = 11>(h) y = Relu(x) }}": (
        "state 0 ('n') is 3xf64 after a step, expected 3xf32"
    ),
    "num_scan_inputs = 1, body = f (float[3] h, float[3] x) => (float[3] n) { n = Add(h, x) }": (
        "has 2 outputs, its body 1"
    ),
}


def complaint(text: str, opset: int = 17) -> str:
    with pytest.raises(DiagnosticError) as error:
        import_model(parse(text, opset))
    return str(error.value)


@pytest.mark.parametrize("attributes", FAULTS)
def test_the_reason_is_said(attributes: str) -> None:
    text = "g (float[3] h, float[4,3] x) => (float[] s, float[] y)"
    text += f" {{ s, y = Scan<{attributes}>(h, x) }}"
    assert complaint(text) == f"g: error: node 'Scan_0': Scan: {FAULTS[attributes]}"


def test_states_without_results_are_refused() -> None:
    text = """g (float[3] h, float[3] k, float[4,3] x) => (float[] s) {
                s = Scan<num_scan_inputs = 1,
                  body = f (float[3] h, float[3] k, float[3] x) => (float[3] n) { n = Add(h, x) }
                >(h, k, x) }"""
    expected = "body has 1 outputs, expected at least 2 states"
    assert complaint(text) == f"g: error: node 'Scan_0': Scan: {expected}"


def test_a_fault_in_a_step_names_the_node_there() -> None:
    text = """g (float[3] h, float[4,3] x) => (float[] s, float[] y) {
                s, y = Scan<num_scan_inputs = 1,
                  body = f (float[3] h, float[3] x) => (float[3] n, float[3] y) {
                    n = Add(h, x) y = Softmax<axis = 5>(n)
                }>(h, x) }"""
    problem = "node 'Scan_0/Softmax_1': Softmax: axis 5 is out of range for rank 1"
    assert complaint(text) == f"g: error: {problem}"


def test_an_unsupported_node_in_a_step_is_named() -> None:
    text = """g (float[4,3] x) => (float[] y) {
                y = Scan<num_scan_inputs = 1,
                  body = f (float[3] x) => (float[3] y) { y = com.acme.Magic(x) }>(x) }"""
    with pytest.raises(DiagnosticError, match="Scan_0/Magic_0") as error:
        import_model(parse(text, domains={"com.acme": 3}))
    assert "operator is not supported" in str(error.value)
