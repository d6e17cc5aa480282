"""What is shown of models that run as several programs: their IR and the times of kernels."""

from __future__ import annotations

import numpy as np
import pytest
from staged_models import compiled, ints, parsed, reals

import nn_opt
from nn_opt.reference.running import run
from nn_opt.runtime.loader import RuntimeFault

RESHAPES = """g (float[2,4] x, int64[2] s) => (float[a,b] y) {
  two = Constant<value_ints=[1, 1]>()
  t = Mul(s, two)
  r = Relu(x)
  z = Reshape(r, t)
  y = Exp(z)
}"""
STEPS = """g (float[2] x, int64 n, float limit) => (float[2] y) {
  yes = Constant<value=bool {1}>()
  y = Loop<body = step (int64 i, bool go, float[2] state) => (bool on, float[2] next) {
      next = Add(state, state)
      sum = ReduceSum<keepdims=0>(next)
      on = Less(sum, limit)
    }>(n, yes, x)
}"""
X = np.arange(8, dtype=np.float32).reshape(2, 4) - 3


def test_ir_of_the_way_taken_last():
    model = compiled(RESHAPES)
    with pytest.raises(ValueError, match="no program is compiled before the first call"):
        model.ir("graph")
    model(X, ints(4, 2))
    y = model(X, ints(1, 8))
    first, second = model.ir("graph").split("// -----\n")
    assert first.startswith("// s -> t\n")
    head, text = second.split("\n", 1)
    assert head == "// x -> y, with t = [1, 8]"
    (computed,) = run(nn_opt.parse(text), [X])
    np.testing.assert_allclose(y, computed, rtol=1e-6)
    model(X, ints(4, 2))
    assert "with t = [4, 2]" in model.ir("loop")


def test_times_of_all_programs():
    model = compiled(RESHAPES)
    inputs = {"x": X, "s": ints(4, 2)}
    times = model.profile(inputs, repeat=2)
    assert {node for time in times for node in time.kernel.nodes} >= {"Relu_2", "Exp_4"}
    assert all(time.seconds >= 0 for time in times)
    assert len(model.specializations) == 1
    assert len(model.profile(inputs, repeat=2)) == len(times)


def test_times_of_a_body_are_of_all_its_steps():
    model = compiled(STEPS)
    inputs = {"x": reals(1, 2), "n": np.asarray(9), "limit": np.float32(20)}
    assert model.run(inputs)["y"].tolist() == [8, 16]
    times = model.profile(inputs, repeat=2)
    nodes = [node for time in times for node in time.kernel.nodes]
    assert sorted(nodes) == sorted(set(nodes))
    assert "// " in model.ir("graph")


def test_no_times_in_an_engine():
    model = nn_opt.compile(parsed(RESHAPES), cache=False, target="wasm")
    with pytest.raises(RuntimeFault, match="no clock to be timed by"):
        model.profile({"x": X, "s": ints(4, 2)})
