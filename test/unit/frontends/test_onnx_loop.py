"""Loop against onnxruntime: as a scan, unrolled, and what must be left to the host."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto
from onnx_rows import noise
from onnx_text import Array, at_graph_level, in_onnxruntime, parse

import nn_opt
from nn_opt.dialects import graph
from nn_opt.frontends.onnx import import_model
from nn_opt.frontends.onnx.evaluation import NeedsHost, NeedsValue
from nn_opt.ir.diagnostics import DiagnosticError

KNOWN = {"five": np.int64(5), "two": np.int64(2), "yes": np.array(True), "no": np.array(False)}
KNOWN |= {"none": np.int64([0]), "huge": np.int64(2**63 - 1), "many": np.int64(200)}
STEP = "body = f (int64 i, bool c, float[3] s) => (bool d, float[3] n, float[3] y)"
NUMBER = "k = Cast<to = 1>(i) n = Add(s, k) y = Exp(n)"
RESULTS = "(float[3] a) => (float[] s, float[] y)"


def loop(body: str, operands: str, results: str = "s, y", declared: str = RESULTS) -> str:
    return f"g {declared} {{ {results} = Loop<{body}>({operands}) }}"


GROWING = """body = f (int64 i, bool c, float[m,3] s) => (bool d, float[k,3] n) {
               d = Identity(c) q = ReduceSum<keepdims = 1>(s, none) n = Concat<axis = 0>(s, q) }"""
WINDOW = f"""{STEP} {{ d = Identity(c) j = Unsqueeze(i, none) e = Add(j, two) w = Slice(table, j, e)
               t = ReduceSum<keepdims = 0>(w, none) n = Add(s, t) y = Neg(n) }}"""
NESTED = """body = f (int64 i, bool c, float[3] s) => (bool d, float[3] n) { d = Identity(c)
              n = Loop<body = h (int64 j, bool p, float[3] t) => (bool q, float[3] u) {
                    q = Identity(p) k = Cast<to = 1>(j) m = Mul(t, k) u = Add(m, s)
                  }>(i, "", s) }"""
MODELS = {
    "a known count": (loop(f"{STEP} {{ d = Identity(c) {NUMBER} }}", 'five, "", a'), 1),
    "a condition that is given on": (loop(f"{STEP} {{ d = Not(no) {NUMBER} }}", "five, yes, a"), 1),
    "one step": (loop(f"{STEP} {{ d = Identity(c) {NUMBER} }}", 'one, "", a'), 0),
    "no step": (loop(f"{STEP} {{ d = Identity(c) {NUMBER} }}", 'nil, "", a'), 0),
    "a condition that is false": (loop(f"{STEP} {{ d = Identity(c) {NUMBER} }}", "five, no, a"), 0),
    "a condition of the number": (loop(f"{STEP} {{ d = Less(i, two) {NUMBER} }}", '"", yes, a'), 0),
    "... and a count": (loop(f"{STEP} {{ d = Less(i, two) {NUMBER} }}", "huge, yes, a"), 0),
    "states that grow": (
        loop(GROWING, 'five, "", a', "s", "(float[1,3] a) => (float[] s)"),
        0,
    ),
    "slices that move": (loop(WINDOW, 'five, "", a'), 0),
    "loops in loops": (loop(NESTED, 'five, "", a', "s", "(float[3] a) => (float[] s)"), 3),
    "no states": (
        loop(
            "body = f (int64 i, bool c) => (bool d, float y) { d = Identity(c) y = Gather(a, i) }",
            'two, ""',
            "y",
            "(float[3] a) => (float[] y)",
        ),
        1,
    ),
    "numbers of rank 1": (
        loop(
            """body = f (int64[1] i, bool[1] c, float[3] s) => (bool[1] d, float[3] n) {
                 d = Identity(c) k = Cast<to = 1>(i) n = Add(s, k) }""",
            'five, "", a',
            "s",
            "(float[3] a) => (float[] s)",
        ),
        1,
    ),
}


def model_of(text: str) -> ModelProto:
    more = {"one": np.int64(1), "nil": np.int64(0), "table": noise(8, 3, seed=2)}
    return parse(text, 17, {n: a for n, a in (KNOWN | more).items() if n in text})


def scans(model: ModelProto) -> list[graph.ScanOp]:
    return [op for op in import_model(model).walk() if isinstance(op, graph.ScanOp)]


def check(model: ModelProto, inputs: dict[str, Array]) -> None:
    """Compare what is interpreted and what is compiled with onnxruntime's results."""
    expected = in_onnxruntime(model, inputs)
    compiled = nn_opt.compile(model, cache=False, threads=1).run(inputs)
    for results in (at_graph_level(model, inputs), list(compiled.values())):
        for got, want in zip(results, expected, strict=True):
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", MODELS)
def test_agrees_with_onnxruntime(case: str) -> None:
    text, count = MODELS[case]
    model = model_of(text)
    assert len(scans(model)) == count
    check(model, {"a": noise(1, 3) if "float[1,3] a" in text else noise(3)})


IF = """body = f (int64 i, bool c, float[3] s) => (bool d, float[3] n, float[3] y) {
          d = Identity(c) m = ReduceMax<keepdims = 0>(s) k = Cast<to = 1>(i) p = Less(m, k)
          n, y = If(p) <then_branch = t () => (float[3] u, float[3] g) { u = Add(s, k) g = Exp(s) },
                        else_branch = e () => (float[%s] v, float[3] w) { %s w = Neg(s) }> }"""


def test_both_branches_are_computed_where_the_condition_varies() -> None:
    model = model_of(loop(IF % (3, "v = Mul(s, k)"), 'five, "", a'))
    assert len(scans(model)) == 1
    check(model, {"a": noise(3)})


def test_the_first_step_may_change_a_type() -> None:
    text = loop(
        """body = f (int64 i, bool c, float[m] s) => (bool d, float[3] n) {
             d = Identity(c) n = Add(s, a) }""",
        'five, "", b',
        "s",
        "(float[3] a, float[1] b) => (float[] s)",
    )
    (scan,) = scans(model_of(text))
    assert scan.length == 4
    check(model_of(text), {"a": noise(3), "b": noise(1, seed=1)})


@pytest.mark.parametrize(("operands", "name"), [('count, "", a', "count"), ("five, go, a", "go")])
def test_what_a_run_gives_is_asked_for(operands: str, name: str) -> None:
    declared = "(float[3] a, int64 count, bool go) => (float[] s, float[] y)"
    model = model_of(loop(f"{STEP} {{ d = Identity(c) {NUMBER} }}", operands, declared=declared))
    with pytest.raises(NeedsValue) as error:
        import_model(model, shapes={"count": (), "go": ()})
    assert error.value.value == name


def test_a_value_around_the_loop_is_asked_for_by_its_name() -> None:
    """The shape is computed in the loop, of an input."""
    text = loop(
        """body = f (int64 i, bool c, float[3] s) => (bool d, float[3] n) {
             d = Identity(c) t = Add(count, none) x = ConstantOfShape(t)
             r = ReduceSum<keepdims = 0>(x) n = Add(s, r) }""",
        'five, "", a',
        "s",
        "(float[3] a, int64[1] count) => (float[] s)",
    )
    with pytest.raises(NeedsValue) as error:
        import_model(model_of(text))
    assert error.value.value == "count"


HOST = {
    "a condition of the data": (
        loop(
            f"{STEP} {{ {NUMBER} m = ReduceMax<keepdims = 0>(n) d = Less(m, k) }}", "huge, yes, a"
        ),
        "Loop: its condition depends on what its steps compute",
    ),
    "many steps that differ": (
        loop(GROWING, 'many, "", a', "s", "(float[1,3] a) => (float[] s)"),
        "Loop: its steps differ from each other after 64 of them",
    ),
    "sizes of the data": (
        loop(
            f"""{STEP} {{ d = Identity(c) w = ReduceMax<keepdims = 1>(s) t = Cast<to = 7>(w)
                  x = ConstantOfShape(t) r = ReduceSum<keepdims = 0>(x) n = Add(s, r) y = Neg(n)
                }}""",
            'five, "", a',
        ),
        "Loop: node 'Loop_0/ConstantOfShape_3': ConstantOfShape: operand 0 ('t') must be known at"
        " compile time, but it depends on the model's inputs",
    ),
    "branches of different types": (
        loop(IF % (1, "v = ReduceMax<keepdims = 1>(s)"), 'five, "", a'),
        "Loop: node 'Loop_0/If_4': If: its condition changes from step to step, and so do the"
        " types of results",
    ),
    "a loop of the host in it": (
        loop(
            """body = f (int64 i, bool c, float[3] s) => (bool d, float[3] n) {
                 d = Identity(c)
                 n = Loop<body = h (int64 j, bool p, float[3] t) => (bool q, float[3] u) {
                       u = Neg(t) m = ReduceMax<keepdims = 0>(u) o = ReduceMin<keepdims = 0>(t)
                       q = Less(m, o) }>("", yes, s) }""",
            'five, "", a',
            "s",
            "(float[3] a) => (float[] s)",
        ),
        "Loop: node 'Loop_0/Loop_1': Loop: its condition depends on what its steps compute",
    ),
}


@pytest.mark.parametrize("case", HOST)
def test_other_loops_are_left_to_the_host(case: str) -> None:
    text, reason = HOST[case]
    with pytest.raises(NeedsHost) as error:
        import_model(model_of(text))
    assert error.value.node == "s"
    assert str(error.value).splitlines()[0] == f"g: error: node 'Loop_0': {reason}"


FAULTS = {
    loop(f"{STEP} {{ d = Identity(c) {NUMBER} }}", 'pair, "", a'): (
        "the trip count has 2 elements, expected one"
    ),
    loop(f"{STEP} {{ d = Identity(c) {NUMBER} }}", "five, both, a"): (
        "the condition has 2 elements, expected one"
    ),
    loop(f"{STEP} {{ d = Identity(c) {NUMBER} }}", 'five, ""'): ("body has 3 inputs, expected 2"),
    loop(
        "body = f (int64 i, bool c, float[3] s) => (bool d) { d = Identity(c) }", 'five, "", a', "s"
    ).replace("(float[] s, float[] y)", "(float[] s)"): ("body has 1 outputs, expected at least 2"),
    loop(
        "body = f (int64 i, bool c, float[3] s) => (bool d, float[3] n) "
        "{ d = Identity(c) n = Neg(s) }",
        'five, "", a',
    ): "has 2 outputs, its body 2",
    loop(
        """body = f (int64 i, bool c, float[m,3] s) => (bool d, float[k,3] n, float[k,3] y) {
             d = Identity(c) n = Concat<axis = 0>(s, s) y = Neg(n) }""",
        'five, "", a',
        declared="(float[1,3] a) => (float[] s, float[] y)",
    ): "steps add slices of different types: 1x2x3xf32 and 1x4x3xf32",
    loop(
        """body = f (int64 i, bool c, float[3] s) => (bool d, float[3] n, float[3] y) {
             d = Identity(c) n = Neg(s) y = Neg(n) }""",
        '"", "", a',
    ): "it has no trip count, and no condition that ends it",
    loop(f"{STEP} {{ d = Identity(c) {NUMBER} }}", 'huge, "", a'): (
        f"{2**63 - 1} steps, and no condition that ends them, are absurd"
    ),
}


@pytest.mark.parametrize("text", FAULTS)
def test_the_reason_is_said(text: str) -> None:
    wrong = {"pair": np.int64([1, 2]), "both": np.array([True, True])}
    model = parse(text, 17, {n: a for n, a in (KNOWN | wrong).items() if n in text})
    with pytest.raises(DiagnosticError) as error:
        import_model(model)
    assert str(error.value) == f"g: error: node 'Loop_0': Loop: {FAULTS[text]}"
