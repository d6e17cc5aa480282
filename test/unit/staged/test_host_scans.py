"""Scans whose steps the host must run, and loops that never end."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from onnx import ValueInfoProto, helper
from staged_models import check, compiled, ints, reals

from nn_opt.frontends.onnx.node import Attributes
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.staged.host import HOST_OPS
from nn_opt.staged.host.control import over_slices
from nn_opt.staged.host.table import Body, Call, HostFault

X = np.asarray([[0, 1, 0], [2, 0, 3], [4, 5, 6], [0, 0, 0]], np.float32)
STEP = """body = step (float s, float[3] row) => (float t, float[3] out) {
  places = NonZero(row)
  kept = Gather(row, places)
  sum = ReduceSum<keepdims=0>(kept)
  count = Shape(kept)
  size = ReduceProd<keepdims=0>(count)
  real = Cast<to=1>(size)
  more = Add(sum, real)
  t = Add(s, more)
  out = Mul(row, t)
}"""


def scan(attrs: str = "", output: str = "float[4,3] y") -> str:
    return f"""g (float[4,3] x) => (float last, {output}) {{
      zero = Constant<value_float=0.0>()
      last, y = Scan<num_scan_inputs = 1, {attrs} {STEP}>(zero, x)
    }}"""


@pytest.mark.parametrize(
    ("attrs", "shape"),
    [
        ("", "4,3"),
        ("scan_input_directions = [1], scan_output_directions = [1],", "4,3"),
        ("scan_output_axes = [1],", "3,4"),
        ("scan_output_axes = [-1], scan_input_directions = [1],", "3,4"),
    ],
)
def test_a_scan_whose_steps_differ(attrs: str, shape: str) -> None:
    model = check(scan(attrs, f"float[{shape}] y"), {"x": X})
    (way,) = model.specializations
    assert way.host[0].endswith(": Scan")


class Sums(Body):
    """A body that adds rows."""

    def __call__(self, *inputs: Any) -> list[Any]:
        state, row = inputs
        return [state + row, 10 * row]

    def nothing(self, index: int) -> Any:
        return np.zeros((0, 2), np.float32)


def run_scan(version: int, *inputs: Any, **attributes: Any) -> Any:
    body = helper.make_graph([], "b", [], [ValueInfoProto(name="s"), ValueInfoProto(name="y")])
    node = helper.make_node("Scan", [], [], num_scan_inputs=1, body=body, **attributes)
    return HOST_OPS["Scan"].run(Call(Attributes(node), version, inputs, 2, {"body": Sums()}))


@pytest.mark.parametrize("back", [0, 1])
def test_an_old_scan_of_a_batch(back: int) -> None:
    """Opset 8: lengths of sequences, the end of each is zero."""
    x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    last, y = run_scan(8, ints(2, 0), np.zeros((2, 2), np.float32), x, directions=[back])
    assert last.tolist() == [(x[0, 0] + x[0, 1]).tolist(), [0, 0]]
    first = 10 * x[0, :2][:: -1 if back else 1]
    assert y.tolist() == [[*first.tolist(), [0, 0]], [[0, 0]] * 3]
    last, _ = run_scan(8, None, np.zeros((2, 2), np.float32), x)
    assert last.tolist() == x.sum(1).tolist()


def test_sequences_of_different_lengths() -> None:
    with pytest.raises(HostFault, match=r"sequences of \[2, 3\] steps, expected as many of each"):
        over_slices(
            Call(Attributes(helper.make_node("Scan", [], [])), 9, [], 0, {}), [], [X[:2], X[:3]]
        )


def test_a_scan_of_strings() -> None:
    model = compiled(
        """g (string s, string[3] x) => (string last, string[3] y) {
          last, y = Scan<num_scan_inputs = 1, body = step (string a, string b) =>
            (string c, string d) { c = StringConcat(a, b) d = Identity(c) }>(s, x)
        }"""
    )
    last, y = model(np.asarray("-", object), np.asarray(["a", "b", "c"], object))
    assert (last.tolist(), y.tolist()) == ("-abc", ["-a", "-ab", "-abc"])


LOOP = """g (float[2] x) => (float[2] y) {{
  {before}
  y = Loop<body = step (int64 i, bool go, float[2] state) => (bool on, float[2] next) {{
    {condition}
    next = Add(state, state)
  }}>({operands}, x)
}}"""
SAME, HOLDS = "on = Identity(go)", "on = Constant<value = bool {1}>()"
LARGE = "n = Constant<value_int = 9223372036854775807>()"


@pytest.mark.parametrize(
    ("before", "condition", "operands"),
    [("", SAME, '"", ""'), ("", HOLDS, '"", ""'), (LARGE, SAME, 'n, ""')],
)
def test_a_loop_that_never_ends(before: str, condition: str, operands: str) -> None:
    text = LOOP.format(before=before, condition=condition, operands=operands)
    with pytest.raises(DiagnosticError, match="condition that ends"):
        compiled(text)(reals(1, 2))


@pytest.mark.parametrize("condition", [SAME, HOLDS])
def test_a_loop_of_the_host_that_never_ends(condition: str) -> None:
    text = f"""g (string x) => (string y) {{
      y = Loop<body = step (int64 i, bool go, string state) => (bool on, string next) {{
        {condition}
        next = StringConcat(state, state)
      }}>("", "", x)
    }}"""
    with pytest.raises(DiagnosticError, match="condition that ends"):
        compiled(text)(np.asarray("a", object))


def test_a_loop_without_a_count_that_ends() -> None:
    text = LOOP.format(
        before="",
        operands='"", ""',
        condition="""
      sum = ReduceSum<keepdims=0>(state)
      limit = Constant<value_float = 100.0>()
      on = Less(sum, limit)""",
    )
    check(text, {"x": reals(1, 2)}, {"x": reals(60, 70)})


INTERRUPTED = """
import os, signal, sys, threading, time
sys.path.insert(0, sys.argv[1])
from test_host_scans import LOOP
from staged_models import compiled, reals
text = LOOP.format(before="", operands='"", ""', condition='''
  sum = ReduceSum<keepdims=0>(state)
  limit = Constant<value_float = 1.0>()
  on = Less(sum, limit)''')
model = compiled(text)
print(model(reals(1, 1)).tolist())
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    model(reals(0, 0))
except KeyboardInterrupt:
    print("interrupted", model(reals(1, 1)).tolist())
"""


def test_a_long_loop_can_be_interrupted() -> None:
    here = __file__.rpartition("/")[0]
    command: list[Any] = [sys.executable, "-c", INTERRUPTED, here]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines() == ["[2.0, 2.0]", "interrupted [2.0, 2.0]"], done.stderr
