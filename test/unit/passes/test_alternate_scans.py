"""alternate-scans: the same results, whatever the number of steps and what becomes of states."""

import numpy as np
import pytest
from numpy.typing import NDArray
from programs import normal, program

import nn_opt
from nn_opt.dialects import loop
from nn_opt.ir.parsing import make_context
from nn_opt.passes.alternate_scans import AlternateScansPass
from nn_opt.pipelines import LOWER_TO_LOOPS, OPTIMIZE_GRAPH, expand
from nn_opt.reference import run

SIZE = 400  # weights of 625 KiB, more than half of the second cache
CROSSED = """
func.func @main(%x: tensor<{steps}x1x400xf32>, %h: tensor<1x400xf32>) -> (tensor<1x400xf32>, tensor<1x400xf32>, tensor<{steps}x1x400xf32>) {{
  %w = graph.constant #graph.resource<"w"> : tensor<400x400xf32>
  %a, %b, %ys = graph.scan (%p = %h : tensor<1x400xf32>, %q = %h : tensor<1x400xf32>) over (%r = %x : tensor<{steps}x1x400xf32>) {reverse}-> (tensor<1x400xf32>, tensor<1x400xf32>, tensor<{steps}x1x400xf32>) {{
    %m = graph.matmul %p, %w : (tensor<1x400xf32>, tensor<400x400xf32>) -> tensor<1x400xf32>
    %s = graph.add %m, %r : (tensor<1x400xf32>, tensor<1x400xf32>) -> tensor<1x400xf32>
    %t = graph.tanh %s : tensor<1x400xf32>
    graph.yield %q, %t, %s : tensor<1x400xf32>, tensor<1x400xf32>, tensor<1x400xf32>
  }}
  func.return %a, %b, %ys : tensor<1x400xf32>, tensor<1x400xf32>, tensor<{steps}x1x400xf32>
}}
"""  # noqa: E501


def expected(x: NDArray[np.float32], h: NDArray[np.float32], w: NDArray[np.float32], back: bool):
    """Two chains of states that take turns, in float64."""
    p = q = h.astype(np.float64)
    shown = np.zeros(x.shape)
    for t in reversed(range(len(x))) if back else range(len(x)):
        shown[t] = p @ w + x[t]
        p, q = q, np.tanh(shown[t])
    return p, q, shown


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_states_that_change_places(steps: int, back: bool):
    weights = normal(SIZE, SIZE, seed=1) * np.float32(SIZE**-0.5)
    reverse = "reverse " if back else ""
    module = program(CROSSED.format(steps=steps, reverse=reverse), w=weights)
    for name in (*OPTIMIZE_GRAPH, *LOWER_TO_LOOPS):
        for step in expand(name):
            step.apply(make_context(), module)
    AlternateScansPass().apply(make_context(), module)
    module.verify()
    marked = [op for op in module.walk() if loop.BACKWARDS in op.attributes]
    assert bool(marked) == (steps > 1)
    x, h = normal(steps, 1, SIZE, seed=2), normal(1, SIZE, seed=3)
    for have, want in zip(run(module, [x, h]), expected(x, h, weights, back), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("steps", [2, 5])
def test_compiled_code_and_its_profile(steps: int):
    weights = normal(SIZE, SIZE, seed=1) * np.float32(SIZE**-0.5)
    module = program(CROSSED.format(steps=steps, reverse=""), w=weights)
    model = nn_opt.compile(module, threads=1, cache=False)
    x, h = normal(steps, 1, SIZE, seed=2), normal(1, SIZE, seed=3)
    results = model(x, h)
    for have, want in zip(results, expected(x, h, weights, False), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)
    rows = model.profile({"arg0": x, "arg1": h}, repeat=1)
    assert all(row.seconds > 0 for row in rows), "each call in pairs counts in its row"
