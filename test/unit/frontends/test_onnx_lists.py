"""Lists that a Loop fills: what is stacked of them is a result of the scan that it becomes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx_rows import noise
from onnx_text import at_graph_level, in_onnxruntime, parse

import nn_opt
from nn_opt.dialects import graph
from nn_opt.frontends.onnx import import_model, read_model
from nn_opt.frontends.onnx.lists import with_stacked_lists

INSERT = "m = SequenceInsert(l, e)"
AFTER = "y = ConcatFromSequence<axis = %d, new_axis = 1>(k)"


def model(after: str, insert: str = INSERT, first: str = "SequenceEmpty()") -> onnx.ModelProto:
    text = f"""g (float[2,3] a) => (float[] s, float[] y) {{
      n = {first}
      s, k = Loop<body = f (int64 i, bool c, float[2,3] t, seq(float[2,3]) l)
                      => (bool d, float[2,3] u, seq(float[2,3]) m) {{
        d = Identity(c) u = Tanh(t) e = Exp(u) {insert} }}>(four, "", a, n)
      {after} }}"""
    weights = {"four": np.int64(4), "zero": np.int64(0), "none": np.int64([0])}
    return parse(text, 17, {name: array for name, array in weights.items() if name in text})


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_a_list_that_is_stacked_is_no_list(axis: int) -> None:
    source = model(AFTER % axis)
    (scan,) = (op for op in import_model(source).walk() if isinstance(op, graph.ScanOp))
    assert [len(scan.inits), len(scan.outputs)] == [1, 2]
    inputs = {"a": noise(2, 3)}
    got = nn_opt.compile(source, cache=False, threads=1).run(inputs)
    for actual, want in zip(got.values(), in_onnxruntime(source, inputs), strict=True):
        assert actual.shape == want.shape
        np.testing.assert_allclose(actual, want, rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_list_of_slices_with_an_axis_is_joined_along_it(axis: int) -> None:
    insert = f"at = Constant<value_ints = [{axis}]>() w = Unsqueeze(e, at)"
    after = f"y = ConcatFromSequence<axis = {axis}>(k)"
    source = model(after, f"{insert} m = SequenceInsert(l, w)")
    (scan,) = (op for op in import_model(source).walk() if isinstance(op, graph.ScanOp))
    assert len(scan.outputs) == 2
    inputs = {"a": noise(2, 3)}
    for actual, want in zip(
        at_graph_level(source, inputs), in_onnxruntime(source, inputs), strict=True
    ):
        assert actual.shape == want.shape
        np.testing.assert_allclose(actual, want, rtol=1e-5)


OTHERS = {
    "along another axis": model(
        "y = ConcatFromSequence<axis = 1>(k)",
        "w = Unsqueeze(e, none) m = SequenceInsert(l, w)",
    ),
    "read twice": model(f"{AFTER % 0} z = SequenceLength(k)"),
    "no new axis": model("y = ConcatFromSequence<axis = 0>(k)"),
    "not at the end": model(AFTER % 0, "m = SequenceInsert(l, e, zero)"),
    "read by steps": model(AFTER % 0, "q = SequenceLength(l) m = SequenceInsert(l, e)"),
    "not empty at first": model(AFTER % 0, first="SequenceConstruct(a)"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_lists_stay(case: str) -> None:
    assert with_stacked_lists(OTHERS[case]) is OTHERS[case]


def test_the_file_of_a_caller_stays_as_it_is() -> None:
    source = model(AFTER % 1)
    before = source.SerializeToString()
    assert read_model(source).proto is not source
    assert source.SerializeToString() == before
