"""Steps of the host: what ONNX's own tests leave out, and errors."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from staged_models import check, compiled, counting, ints, parsed, reals

import nn_opt
from nn_opt.frontends.onnx.support import ON_HOST
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.staged.host import HOST_OPS

X = np.arange(10, dtype=np.float32).reshape(2, 5)


def refuses(text: str, words: str, *inputs: Any, opset: int = 20) -> None:
    """Expect an error of compiling or running."""
    with pytest.raises(DiagnosticError, match=words):
        compiled(text, opset)(*inputs)


def test_compiled_code_around_sequences():
    model = check(
        """g (float[2,5] x, int64[k] split) => (float[2,n] y, int64 l) {
          a = Exp(x)
          s = SplitToSequence<axis=1>(a, split)
          one = Constant<value_int=-1>()
          b = SequenceAt(s, one)
          l = SequenceLength(s)
          y = Neg(b)
        }""",
        {"x": X, "split": ints(2, 3)},
        {"x": X, "split": ints(1, 0, 4)},
    )
    (way,) = model.specializations
    assert way.host == (
        "SplitToSequence_1: SplitToSequence",
        "SequenceAt_3: SequenceAt",
        "SequenceLength_4: SequenceLength",
    )
    assert way.stages == 2  # before and behind them
    assert str(model.inputs[1]) == "split: int64[k]"


def test_sequences_in_and_out():
    text = """g (seq(float[n]) s, int64 at) => (seq(float[n]) t, float[a,b] c) {
      zero = Constant<value_int=0>()
      first = SequenceAt(s, zero)
      r = Relu(first)
      t = SequenceInsert(s, r, at)
      c = ConcatFromSequence<axis=0, new_axis=1>(t)
    }"""
    model = compiled(text)
    assert repr(model) == (
        "Model(s: sequence of tensor of float32; at: int64[] ->"
        " t: sequence of tensor of float32; c: float32[a, b])"
    )
    given = [reals(-1, 2), reals(3, 4)]
    t, c = model(given, np.asarray(-1))
    assert [row.tolist() for row in t] == [[-1, 2], [0, 2], [3, 4]] == c.tolist()
    t, _ = model(tuple(given), np.asarray(2))
    assert [row.tolist() for row in t] == [[-1, 2], [3, 4], [0, 2]]
    assert len(given) == 2
    with pytest.raises(DiagnosticError, match=r"position 7 is not in a sequence of 2 tensors"):
        model(given, np.asarray(7))
    with pytest.raises(DiagnosticError, match="position 0 is not in a sequence of 0 tensors"):
        model([], np.asarray(0))
    with pytest.raises(TypeError, match="input 's' is a ndarray, expected a list: s: sequence of"):
        model(reals(1), np.asarray(0))
    with pytest.raises(TypeError, match="input 's' is a int, expected a list"):
        model(3, np.asarray(0))
    with pytest.raises(TypeError, match="input 's' has dtype int64, expected float32"):
        model([ints(1)], np.asarray(0))
    with pytest.raises(TypeError, match="input 's' is None, expected s: sequence of"):
        model([None], np.asarray(0))


def test_strings_go_through_moves_and_casts():
    text = """g (string[2,2] s, int64[m] i)
      => (string[a,b] y, float[c] f, bool[d,e] q, int64[2] n) {
      t = Transpose(s)
      y = Gather<axis=1>(t, i)
      flat = Constant<value_ints=[-1]>()
      r = Reshape(s, flat)
      f0 = Cast<to=1>(r)
      f = Add(f0, f0)
      q = Equal(s, t)
      n = Shape(s)
    }"""
    model = compiled(text)
    strings = np.asarray([["1", "2.5"], ["-3", "1e2"]], object)
    y, f, q, n = model(strings, ints(1, 1))
    assert y.tolist() == [["-3", "-3"], ["1e2", "1e2"]]
    assert f.tolist() == [2, 5, -6, 200]
    assert (q.tolist(), n.tolist()) == ([[True, False], [False, True]], [2, 2])
    assert model(strings.astype(str), ints(0))[0].tolist() == [["1"], ["2.5"]]
    backwards = """g (string[3] s, int64[1] a, int64[1] b) => (string[n] y) {
      axis = Constant<value_ints=[0]>() step = Constant<value_ints=[-1]>()
      y = Slice(s, a, b, axis, step)
    }"""
    letters = np.asarray(["a", "b", "c"], object)
    assert compiled(backwards)(letters, ints(-9), ints(-9)).tolist() == ["a"]
    assert compiled(backwards)(letters, ints(9), ints(0)).tolist() == ["c", "b"]
    refuses("g (string[1] s) => (int64[1] y) { y = Cast<to=7>(s) }", "Cast: invalid literal", ["x"])
    refuses(
        "g (string[1] s) => (float[1] y) { y = Relu(s) }".replace("Relu(s)", "Cast<to=1>(s)"),
        "Cast: could not convert string to float",
        ["1.2.3"],
    )
    refuses(
        "g (string[1,1] s) => (string[1,1] y) { y = Trilu(s) }",
        "node 'Trilu_0': Trilu: is not supported for strings, sequences or optionals",
        [["1"]],
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("y = SequenceConstruct(x) z = ConcatFromSequence<axis=3>(y)", "axis 3 is out of range"),
        ("y = SplitToSequence(x, k) z = SequenceLength(y)", r"split is 0, expected 1 or more"),
        ("y = SequenceEmpty() z = ConcatFromSequence<axis=0>(y)", "the sequence is empty"),
        ("y = SequenceEmpty() e = SequenceErase(y) z = SequenceLength(e)", "the sequence is empty"),
        (
            "r = Transpose(x) y = SequenceConstruct(x, r) z = ConcatFromSequence<axis=0>(y)",
            r"tensors of shapes \[\[2, 5\], \[5, 2\]\] do not fit together",
        ),
        (
            "v = Constant<value_ints=[1, 7]>() y = SplitToSequence(x, v) z = SequenceLength(y)",
            r"split is \[1, 7\], expected sizes whose sum is 2",
        ),
        ("y = SequenceConstruct(x) z = SequenceAt(y, two)", "input 1 has 2 elements, expected one"),
    ],
)
def test_faults_name_the_node(body: str, words: str):
    text = f"g (float[2,5] x) => (float z) <int64 k = {{0}}, int64[2] two = {{0, 0}}> {{ {body} }}"
    proto = parsed_without_types(text)
    model = nn_opt.compile(proto, cache=False)
    with pytest.raises(DiagnosticError, match=words) as error:
        model(X)
    assert "node '" in str(error.value)


def parsed_without_types(text: str):
    import onnx

    proto = onnx.parser.parse_model('<ir_version: 9, opset_import: ["": 20]>\n' + text)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    return proto


LOOP = """g (int64 n, bool c, float[2] x) => (float[2] y, float[k,2] z) {
  y, z = Loop(n, c, x) <
    body = b (int64 i, bool go, float[2] s) => (bool on, float[2] t, float[2] u) {
    limit = Constant<value_float=50.0>()
    u = Add(s, s)
    t = Add(u, x)
    m = ReduceMax<keepdims=0>(t)
    on = Less(m, limit)
  }>
}"""


def test_a_loop_that_a_condition_ends(monkeypatch: pytest.MonkeyPatch):
    """Its body is compiled once, however many steps there are."""
    count = counting(monkeypatch)
    x = reals(1, 2)
    calls = [
        {"n": np.asarray(n), "c": np.asarray(True), "x": x * scale}
        for n, scale in ((100, 1), (3, 1), (100, 0.25), (2, 1))
    ]
    model = check(LOOP, *calls)
    assert count() <= 2
    y, z = model(np.asarray(0), np.asarray(True), x)
    assert (y.tolist(), z.shape) == ([1, 2], (0, 2))
    y, z = model(np.asarray(5), np.asarray(False), x)
    assert (y.tolist(), z.shape) == ([1, 2], (0, 2))


def test_images_without_pillow(monkeypatch: pytest.MonkeyPatch):
    text = """g (uint8[n] x) => (uint8[h,w,c] y) { y = ImageDecoder<pixel_format="RGB">(x) }"""
    model = compiled(text)
    pytest.importorskip("PIL")
    with pytest.raises(DiagnosticError, match="ImageDecoder: the input is no image"):
        model(np.zeros(9, np.uint8))
    monkeypatch.setitem(sys.modules, "PIL", None)
    hint = r"reading images takes Pillow: pip install nn-opt\[images\]"
    with pytest.raises(DiagnosticError, match=hint):
        model(np.zeros(9, np.uint8))


def test_text_operators_refuse():
    pattern = 'g (string[1] s) => (bool[1] y) { y = RegexFullMatch<pattern="(">(s) }'
    refuses(pattern, "the pattern is no regular expression: missing", ["a"])
    words = """g (string[2,2] s) => (string[n] y) { y = StringNormalizer(s) }"""
    refuses(words, r"the input has shape \[2, 2\], expected \[C\] or \[1, C\]", [["a"] * 2] * 2)


def test_sequences_of_different_lengths_in_a_map():
    text = """g (seq(float[n]) s, seq(float[n]) t) => (seq(float[n]) y) {
      y = SequenceMap(s, t) <body = b (float[n] a, float[n] b) => (float[n] c) { c = Add(a, b) }>
    }"""
    model = compiled(text)
    (y,) = [model([reals(1), reals(2)], [reals(10), reals(20)])]
    assert [item.tolist() for item in y] == [[11], [22]]
    with pytest.raises(DiagnosticError, match="expected sequences of 2 tensors each"):
        model([reals(1), reals(2)], [reals(1)])


def test_the_graph_level_has_no_sequences():
    proto = parsed("g (seq(float[n]) s) => (int64 y) { y = SequenceLength(s) }")
    with pytest.raises(DiagnosticError, match=r"SequenceLength_0'.*runs as a step of the host"):
        nn_opt.import_model(proto)


def test_what_the_importer_says_of_operators_of_the_host():
    assert {name for name, known in HOST_OPS.items() if known.always} == ON_HOST
