"""Models that need values of a run: cut, compiled for bits, cached; Ifs of all kinds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from staged_models import check, compiled, counting, ints, parsed, reals

import nn_opt
from nn_opt.ir.diagnostics import DiagnosticError

RESHAPES = """g (float[2,4] x, int64[2] s) => (float[a,b] y, int64[2] t) {
  two = Constant<value_ints=[1, 1]>()
  t = Mul(s, two)
  r = Relu(x)
  z = Reshape(r, t)
  y = Exp(z)
}"""
X = np.arange(8, dtype=np.float32).reshape(2, 4) - 3


def test_a_value_that_a_node_computes(monkeypatch: pytest.MonkeyPatch):
    count = counting(monkeypatch)
    calls = [{"x": X, "s": ints(*s)} for s in ((4, 2), (1, 8), (4, 2))]
    model = check(RESHAPES, *calls)
    assert count() == 3  # the value once, and what needs it for each of two
    first, second = model.specializations
    assert first.shapes == {"x": (2, 4), "s": (2,)}
    assert (first.values, second.values) == ({"t": [1, 8]}, {"t": [4, 2]})
    assert (first.stages, first.host) == (2, ())
    assert len(model.kernels) >= 2


def test_a_model_without_needs_has_one_specialization_for_all_shapes():
    model = compiled("g (float[4,N] x) => (float[4,N] y) { y = Relu(x) }")
    assert model.specializations == ()
    for size in (2, 3):
        model(np.zeros((4, size), np.float32))
    assert [(s.shapes, s.values, s.stages) for s in model.specializations] == [
        ({"x": (4, 2)}, {}, 1),
        ({"x": (4, 3)}, {}, 1),
    ]


def test_one_value_after_the_other():
    model = check(
        """g (float[6] x, int64[1] a) => (float[n] y) {
          z = Constant<value_ints=[0]>()
          p = Slice(x, z, a)
          s = ReduceSum<keepdims=1>(p)
          i = Cast<to=7>(s)
          y = Slice(x, z, i)
        }""",
        {"x": reals(1, 1, 1, 1, 1, 1), "a": ints(3)},
        {"x": reals(1, 1, 1, 1, 1, 1), "a": ints(5)},
    )
    assert [s.stages for s in model.specializations] == [2, 2]


def test_outputs_given_by_the_caller():
    model = compiled(RESHAPES)
    y = np.full((8, 1), 7, np.float32)
    results = model.run({"x": X, "s": ints(8, 1)}, out={"y": y})
    assert results["y"] is y
    np.testing.assert_allclose(y.reshape(-1), np.exp(np.maximum(X, 0)).reshape(-1), rtol=1e-6)
    with pytest.raises(ValueError, match=r"output 'y' has shape \[8, 1\], expected \[4, 2\]"):
        model.run({"x": X, "s": ints(4, 2)}, out={"y": y})
    with pytest.raises(ValueError, match="unknown output 'q'; the outputs are 'y', 't'"):
        model.run({"x": X, "s": ints(4, 2)}, out={"q": y})


def test_what_comes_back_is_not_the_input():
    model = compiled("g (float[4] x, int64[1] s) => (float[n] y, int64[1] s) { y = Reshape(x, s) }")
    shape = ints(4)
    results = model.run({"x": np.zeros(4, np.float32), "s": shape})
    assert results["s"] is not shape
    assert results["s"].tolist() == [4]


def test_stages_come_from_the_cache(tmp_path: Path):
    (tmp_path / "m.onnx").write_bytes(parsed(RESHAPES).SerializeToString())
    script = """
import sys, numpy, nn_opt, nn_opt.compiler
nn_opt.compiler.sources_stamp = lambda: "an edit between the two processes voids nothing"
model = nn_opt.compile(sys.argv[1] + "/m.onnx", cache=sys.argv[1] + "/cache")
x = numpy.ones((2, 4), numpy.float32)
print(model(x, numpy.array([8, 1]))[0].shape, [n for n in ("xdsl", "onnx") if n in sys.modules])
"""
    (tmp_path / "cache").mkdir(mode=0o700)
    for loaded in ("['xdsl', 'onnx']", "[]"):
        command = [sys.executable, "-c", script, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.stdout == f"(8, 1) {loaded}\n", done.stderr


BRANCHES = """g (float[2] x, bool c, bool d) => (float[n] y) {
  k = Constant<value_floats=[2.0, 3.0]>()
  y = If(c) <
    then_branch = a () => (float[n] o) {
      w = Mul(x, k)
      o = If(d) <
        then_branch = aa () => (float[n] v) { v = Neg(w) },
        else_branch = ab () => (float[n] u) <float[2] q = {1, 2}> { v = Add(k, q) u = Mul(v, w) }
      >
    },
    else_branch = b () => (float[n] o) { w = Exp(x) o = Concat<axis=0>(w, x) }
  >
}"""


def test_ifs_in_ifs_take_the_branch_of_the_run():
    """Names of one branch may be those of another: `w`, `v` and `o` are several things here."""
    calls = [
        {"x": reals(1, -2), "c": np.array(c), "d": np.array(d)}
        for c in (True, False)
        for d in (True, False)
    ]
    model = check(BRANCHES, *calls)
    assert [tuple(s.values.values()) for s in model.specializations] == [
        (True, True),
        (True, False),
        (False,),
    ]


def test_two_results_of_a_branch_are_one_value():
    text = """g (float[2] x, bool c) => (float[2] y, float[2] z) {
      y, z = If(c) <
        then_branch = a () => (float[2] o, float[2] p) { o = Relu(x) p = Identity(o) },
        else_branch = b () => (float[2] o, float[2] p) { o = Neg(x) p = Exp(x) }
      >
    }"""
    proto = parsed(text)
    branch = proto.graph.node[0].attribute[0].g
    del branch.node[1]  # ONNX's text cannot say that an output is listed twice
    branch.output[1].name = "o"
    model = nn_opt.compile(proto, cache=False, threads=1)
    y, z = model(reals(-1, 2), np.array(True))
    assert (y.tolist(), z.tolist()) == ([0, 2], [0, 2])


def test_a_branch_that_is_not_taken_may_be_anything():
    text = """g (float[2] x, bool c) => (float[n] y) {
      y = If(c) <
        then_branch = a () => (float[n] o) { o = Relu(x) },
        else_branch = b () => (float[n] o) { o = my.own.Strange(x) }
      >
    }"""
    proto = onnx.parser.parse_model('<ir_version: 9, opset_import: ["": 20, "my.own": 1]>\n' + text)
    model = nn_opt.compile(proto, cache=False)
    assert model(reals(-1, 1), np.array(True)).tolist() == [0, 1]
    with pytest.raises(DiagnosticError, match="node 'If_0/Strange_0': unsupported Strange"):
        model(reals(-1, 1), np.array(False))


def test_a_condition_of_several_elements():
    text = """g (float[2] x) => (float[n] y) {
      c = Constant<value=bool[2] {1, 0}>()
      y = If(c) <
        then_branch = a () => (float[n] o) { o = Relu(x) },
        else_branch = b () => (float[n] o) { o = Neg(x) }
      >
    }"""
    head = '<ir_version: 9, opset_import: ["": 20]>\n'
    with pytest.raises(DiagnosticError, match="If: expected a condition of one element"):
        nn_opt.import_model(onnx.parser.parse_model(head + text))


def test_a_value_too_large_to_be_a_constant():
    text = """g (float[N] x, int64[N] s) => (float[m] y) { y = Expand(x, s) }"""
    model = compiled(text)
    size = (1 << 13) + 1
    with pytest.raises(DiagnosticError, match="'s' must be known when what depends on it is"):
        model(np.zeros(size, np.float32), np.ones(size, np.int64))


def test_values_given_when_compiling():
    proto = parsed(RESHAPES)
    model = nn_opt.compile(proto, values={"s": [2, 4]}, cache=False)
    assert [info.name for info in model.inputs] == ["x"]
    assert model(X)[0].shape == (2, 4)
    inner = nn_opt.compile(proto, values={"t": ints(1, 8)}, cache=False)
    assert inner(X, ints(5, 5))[0].shape == (1, 8)
    module = nn_opt.import_model(proto, values={"s": [2, 4]})
    assert "tensor<2x4xf32>, tensor<2xi64>" in str(module)
    with pytest.raises(
        DiagnosticError, match="the model has no value 'q'; its inputs are 'x', 's'"
    ):
        nn_opt.import_model(proto, values={"q": 1})
    with pytest.raises(DiagnosticError, match=r"input 's' has shape \[2\], given \[1, 2\]"):
        nn_opt.import_model(proto, values={"s": [[1, 2]]})
    with pytest.raises(DiagnosticError, match="IR has no value named 's' to be given"):
        nn_opt.compile(module, values={"s": 1})


def test_the_programs_of_the_latest_calls_are_held():
    model = compiled("g (float[2] x, int64[1] s) => (float[n] y) { y = Expand(x, s) }")
    x = reals(1, 2)
    assert model(x, ints(2)).tolist() == [1, 2]
    values = [s.values for s in model.specializations]
    assert values == [{"s": [2]}]


SLICES = """g (float[9] x, int64[1] a, int64[1] b) => (float[n] y, float[2] z)
<float[2] two = {1, 2}> {
  e = Exp(x)
  y = Slice(e, a, b)
  s = ReduceSum<keepdims=0>(y)
  z = Mul(two, s)
}"""


def test_slices_that_always_change_are_made_by_the_host(monkeypatch: pytest.MonkeyPatch):
    count = counting(monkeypatch)
    x = np.arange(9, dtype=np.float32) / 9
    model = check(SLICES, *({"x": x, "a": ints(k), "b": ints(k + 2)} for k in range(7)))
    assert count() == 6  # four slices; then what comes before and after one, for any place
    last = model.specializations[0]
    assert (last.host, last.stages) == (("Slice_1: Slice",), 2)
