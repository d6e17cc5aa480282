"""Strings that the host chooses, writes, pads and tells apart, against onnxruntime and ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from staged_models import by_onnxruntime, compiled, ints, parsed

import nn_opt
from nn_opt.ir.diagnostics import DiagnosticError


def texts(words: str, *shape: int) -> Any:
    array = np.asarray(words.split(), object)
    return array.reshape(shape) if shape else array


WORDS = texts("b a ü b c a b")
SQUARE = texts("a b c d e f g h", 2, 4)


def check(text: str, inputs: dict[str, Any], judge: str = "onnxruntime", opset: int = 20) -> None:
    """Compare a model with onnxruntime, or where it has no kernel for strings, with ONNX's own."""
    proto = parsed(f"g {text}", opset)
    got = list(nn_opt.compile(proto, cache=False, threads=1).run(inputs).values())
    if judge == "onnxruntime":
        want = by_onnxruntime(proto, inputs)
    else:
        runner: Any = ReferenceEvaluator(proto)
        want = runner.run(None, inputs)
    for mine, theirs in zip(got, want, strict=True):
        assert np.asarray(mine).tolist() == np.asarray(theirs).tolist()


@pytest.mark.parametrize("attrs", ["", "<sorted = 0>"])
def test_unique_strings(attrs: str) -> None:
    text = f"""(string[n] x) => (string[m] y, int64[m] f, int64[n] i, int64[m] c) {{
      y, f, i, c = Unique{attrs}(x) }}"""
    check(text, {"x": WORDS})


def test_unique_rows_of_strings() -> None:
    x = texts("b b a c b b", 3, 2)
    check("(string[3,2] x) => (string[a,b] y) { y = Unique<axis = 0>(x) }", {"x": x})
    y = compiled("g (string[3,2] x) => (int64[m] c) { y, f, i, c = Unique<axis = 0>(x) }")(x)
    assert y.tolist() == [1, 2]


def test_counts_alone() -> None:
    text = "(string[n] x) => (float[m] y) { e, f, i, c = Unique(x) y = Cast<to = 1>(c) }"
    model = compiled(f"g {text}")
    assert model(WORDS).tolist() == [2, 3, 1, 1]
    assert model(WORDS[:3]).tolist() == [1, 1, 1]


def declared(name: str, array: Any) -> str:
    kind = {"O": "string", "i": "int64", "b": "bool", "f": "float"}[array.dtype.kind]
    return f"{kind}[{','.join(map(str, array.shape))}] {name}"


def row(nodes: str, outputs: str = "string[a,b] y", **inputs: Any) -> tuple[str, dict[str, Any]]:
    given = ", ".join(declared(name, array) for name, array in inputs.items())
    return f"({given}) => ({outputs}) {{ {nodes} }}", inputs


ONE, TWO = "string[a] y", "string[a,b] y, string[c,d] z"
PAIRS = ints(1, 2, 0, -1).reshape(2, 2)
YES = np.asarray([1, 0, 1], bool)
ROWS = [
    row("y = Compress<axis = 1>(x, k)", x=SQUARE, k=YES),
    row("y = Compress(x, k)", ONE, x=SQUARE, k=YES),
    row("y = GatherElements<axis = 1>(x, i)", x=SQUARE, i=PAIRS),
    row("y = GatherND(x, i)", ONE, x=SQUARE, i=PAIRS),
    row("y = GatherND<batch_dims = 1>(x, i)", ONE, x=SQUARE, i=ints(1, 2).reshape(2, 1)),
    row("y = ScatterElements<axis = 1>(x, i, u)", x=SQUARE, i=PAIRS, u=texts("X Y Z W", 2, 2)),
    row("y = ScatterND(x, i, u)", x=SQUARE, i=PAIRS, u=texts("X Y")),
    row("y, z = Split<axis = 1>(x, s)", TWO, x=SQUARE, s=ints(1, 3)),
    row("y, z = Split<num_outputs = 2>(x)", "string[a] y, string[b] z", x=WORDS),
    row(
        "d = Constant<value_int = 4>() y = OneHot(x, d, v)",
        x=ints(0, -1, 9),
        v=texts("off on"),
    ),
]
BY_ONNX = [
    row("y = ReverseSequence(x, n)", x=texts("a b c d e f", 3, 2), n=ints(3, 2)),
    row("y = CastLike(x, l)", "float[a] y", x=texts("1.5 2"), l=np.zeros(1, np.float32)),
]


@pytest.mark.parametrize(("text", "inputs"), ROWS, ids=[text for text, _ in ROWS])
def test_agrees_with_onnxruntime(text: str, inputs: dict[str, Any]) -> None:
    check(text, inputs)


@pytest.mark.parametrize(("text", "inputs"), BY_ONNX, ids=[text for text, _ in BY_ONNX])
def test_agrees_with_onnx(text: str, inputs: dict[str, Any]) -> None:
    check(text, inputs, "onnx")


def test_pads() -> None:
    model = compiled(
        """g (string[n] x, int64[2] p, string v) => (string[a] y, string[b] z) {
          y = Pad(x, p, v)
          z = Pad<mode = "edge">(x, p)
        }"""
    )
    y, z = model(texts("a b"), ints(1, 2), np.asarray("-", object))
    assert (y.tolist(), z.tolist()) == (["-", "a", "b", "-", "-"], list("aabbb"))
    y, z = model(texts("a b c"), ints(-1, 1), np.asarray("-", object))
    assert (y.tolist(), z.tolist()) == (["b", "c", "-"], ["b", "c", "c"])


def test_strings_that_are_not_empty() -> None:
    model = compiled("g (string[2,2] x) => (int64[2,n] y) { y = NonZero(x) }")
    assert model(np.asarray([["", "a"], ["b", ""]], object)).tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("y = GatherElements(x, i)", "indices have 1 axes, expected 2"),
        ('y = ScatterND<reduction = "add">(x, i, u)', "'add' of strings, expected none"),
        ("y, z = Split<axis = 1>(x, i)", r"parts of \[1, 1\] elements, expected 4 in all"),
    ],
)
def test_what_is_refused(text: str, words: str) -> None:
    outputs = "string[a,b] y, string[c,d] z" if "z" in text else "string[a,b] y"
    model = compiled(f"g (string[2,4] x, int64[2] i, string u) => ({outputs}) {{ {text} }}")
    with pytest.raises(DiagnosticError, match=words):
        model(SQUARE, ints(1, 1), np.asarray("u", object))


def test_a_scatter_of_old_models() -> None:
    node = helper.make_node("Scatter", ["x", "i", "u"], ["y"])
    kinds = {"x": TensorProto.STRING, "i": TensorProto.INT64, "u": TensorProto.STRING}
    values = [helper.make_tensor_value_info(n, k, [2]) for n, k in kinds.items()]
    out = [helper.make_tensor_value_info("y", TensorProto.STRING, [2])]
    graph = helper.make_graph([node], "g", values, out)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=9)
    y = nn_opt.compile(model, cache=False)(texts("a b"), ints(1, 0), texts("c d"))
    assert y.tolist() == ["d", "c"]
