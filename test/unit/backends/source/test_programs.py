"""Models and single operations as C99 and JavaScript compute what the interpreter does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tools
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from operations import CASES
from sources import Run, run_c, run_js
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

import nn_opt
from bench import models
from nn_opt.backends.source import print_c, print_js
from nn_opt.check import seeded_inputs
from nn_opt.frontends.onnx import import_model
from nn_opt.ir.target import SCALAR, set_target
from nn_opt.reference import run

RUNS = [
    pytest.param("lower-to-c", run_c, marks=tools.needs("cc"), id="C99"),
    pytest.param("lower-to-js", run_js, marks=tools.needs("node"), id="JavaScript"),
]
TOLERANCE = 1e-5  # of the largest element: sums in another order, over dozens of layers


def close(got: Sequence[Any], wanted: Sequence[Any], tolerance: float = TOLERANCE) -> None:
    for a, b in zip(got, wanted, strict=True):
        assert a.shape == b.shape
        a, b = (np.asarray(array).astype(np.float64) for array in (a, b))
        scale = np.max(np.abs(b), where=np.isfinite(b), initial=1e-30)
        np.testing.assert_allclose(a / scale, b / scale, rtol=0, atol=tolerance)


@pytest.mark.parametrize(("pipeline", "execute"), RUNS)
@pytest.mark.parametrize("name", models.SMALL)
def test_a_model_computes_the_same(name: str, pipeline: str, execute: Run, tmp_path: Path):
    module = import_model(models.build_small(name))
    inputs = seeded_inputs(module)
    wanted = run(module, inputs)
    if execute is run_js:
        set_target(module, SCALAR.name)
    lowered = nn_opt.Pipeline("optimize-graph", "lower-to-loops", pipeline).run(module)
    close(execute(lowered, inputs, tmp_path), wanted)


def kernel(types: Sequence[str], result: str, body: str, count: int) -> ModuleOp:
    """Return a module that does `%r = body` of elements %a, %b, ... one after the other."""
    names = "abc"[: len(types)]
    arguments = ", ".join(f"%m{n}: memref<{count}x{t}>" for n, t in zip(names, types, strict=True))
    loads = "\n".join(
        f"    %{n} = loop.load %m{n}[%i] : memref<{count}x{t}>"
        for n, t in zip(names, types, strict=True)
    )
    text = f"""func.func @main({arguments}, %out: memref<{count}x{result}>)
    attributes {{num_outputs = 1 : i64}} {{
  loop.for %i = 0 to {count} {{
{loads}
    {body}
    loop.store %r, %out[%i] : memref<{count}x{result}>
  }}
  func.return
}}
"""
    return nn_opt.parse(text)


@pytest.mark.parametrize(("pipeline", "execute"), RUNS)
def test_every_operation_and_type(pipeline: str, execute: Run, tmp_path: Path):
    """All in one program, as a process for each would take minutes."""
    texts: list[str] = []
    arguments: list[str] = []
    results: list[str] = []
    calls: list[str] = []
    inputs: list[Any] = []
    wanted: list[Any] = []
    for number, (_, arrays, types, result, body) in enumerate(CASES):
        module = kernel(types, result, body, len(arrays[0]))
        with np.errstate(all="ignore"):
            wanted += run(module, arrays)
        inputs += arrays
        text = nn_opt.print_module(module).replace("@main", f"private @k{number}")
        texts.append(re.sub(r"\A\s*builtin.module \{|\}\s*\Z", "", text))
        memrefs = [f"memref<{len(arrays[0])}x{t}>" for t in (*types, result)]
        names = [f"%i{number}_{k}" for k in range(len(types))]
        arguments += [f"{n}: {m}" for n, m in zip(names, memrefs, strict=False)]
        results.append(f"%o{number}: {memrefs[-1]}")
        called = ", ".join([*names, f"%o{number}"])
        calls.append(f"func.call @k{number}({called}) : ({', '.join(memrefs)}) -> ()")
    text = (
        f"func.func @main({', '.join([*arguments, *results])})"
        f" attributes {{num_outputs = {len(CASES)} : i64}} {{\n"
        + "\n".join(calls)
        + "\nfunc.return\n}\n"
        + "\n".join(texts)
    )
    got = execute(nn_opt.parse(text), inputs, tmp_path)
    for (name, *_), a, b in zip(CASES, got, wanted, strict=True):
        exact = b.dtype.kind in "ib" or not name.startswith("math.")
        rtol = 0 if exact else 4e-7
        np.testing.assert_allclose(a, b, rtol=rtol, atol=0, equal_nan=True, err_msg=name)


LOOPS = st.lists(st.integers(1, 5), min_size=1, max_size=3)
NAMES = ("%i", "%j", "%k")


@st.composite
def expressions(draw: st.DrawFn, depth: int) -> str:
    """The text of an index expression, which may be outside of a buffer."""
    parts = [f"{draw(st.integers(-3, 3))} * {name}" for name in NAMES[:depth]]
    total = " + ".join(parts) + f" + {draw(st.integers(-4, 6))}"
    kind = draw(st.sampled_from(["", "", "floordiv", "mod"]))
    if not kind:
        return total
    return f"({total}) {kind} {draw(st.integers(2, 5))} + {draw(st.integers(-1, 2))}"


@st.composite
def nests(draw: st.DrawFn) -> str:
    """The text of a function that copies elements of 5x7 under a guard."""
    trips = draw(LOOPS)
    row, column, guard = (draw(expressions(len(trips))) for _ in range(3))
    place = ", ".join(NAMES[: len(trips)])
    out = f"memref<{'x'.join(map(str, trips))}xf32>"
    body = f"""    %a = loop.load %x[{row}, {column}] or -1.0 : memref<5x7xf32>
    %z = arith.constant 7.0 : f32
    loop.store %z, %y[{place}] : {out}
    loop.if ({guard} >= 0) {{
      loop.store %a, %y[{place}] : {out}
    }}"""
    for count, name in reversed(list(zip(trips, NAMES, strict=False))):
        body = f"loop.for {name} = 0 to {count} {{\n{body}\n}}"
    return (
        f"func.func @main(%x: memref<5x7xf32>, %y: {out})"
        f" attributes {{num_outputs = 1 : i64}} {{\n{body}\nfunc.return\n}}\n"
    )


@pytest.mark.parametrize(("pipeline", "execute"), RUNS)
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=nests())
def test_index_expressions(text: str, pipeline: str, execute: Run, tmp_path_factory: Any):
    module = nn_opt.parse(text)
    x = np.arange(35, dtype=np.float32).reshape(5, 7)
    (wanted,) = run(module, [x])
    (got,) = execute(module, [x], tmp_path_factory.mktemp("nest"))
    np.testing.assert_array_equal(got, wanted)


ODD = """func.func @main(%x: memref<2xf32>, %y: memref<2xf32>) attributes {num_outputs = 1 : i64} {
  func.call @double(%x, %y) {nn.nodes = ["*/ evil(); /*"]} : (memref<2xf32>, memref<2xf32>) -> ()
  func.return
}
func.func private @double(%class: memref<2xf32>, %while: memref<2xf32>) {
  loop.for %new = 0 to 2 {
    %int = loop.load %class[%new] : memref<2xf32>
    %new_1 = arith.addf %int, %int : f32
    loop.store %new_1, %while[%new] : memref<2xf32>
  }
  func.return
}
"""


@pytest.mark.parametrize(("pipeline", "execute"), RUNS)
def test_names_that_are_keywords_and_comments_that_end(pipeline: str, execute: Run, tmp_path: Path):
    (got,) = execute(nn_opt.parse(ODD), [np.float32([1, 2])], tmp_path)
    np.testing.assert_array_equal(got, [2, 4])


ALIAS = """func.func @main(%x: memref<2xf32>, %y: memref<2xf32>)
    attributes {num_outputs = 1 : i64} {
  %c = arith.constant 3.0 : f32
  %a = loop.load %x[0] : memref<2xf32>
  %b = arith.addf %a, %c : f32
  loop.store %c, %x[0] : memref<2xf32>
  loop.store %b, %y[0] : memref<2xf32>
  %d = loop.load %x[0] : memref<2xf32>
  loop.store %d, %y[1] : memref<2xf32>
  func.return
}
"""


@pytest.mark.parametrize(("pipeline", "execute"), RUNS)
def test_a_load_is_not_moved_over_a_store(pipeline: str, execute: Run, tmp_path: Path):
    (got,) = execute(nn_opt.parse(ALIAS), [np.float32([1, 2])], tmp_path)
    np.testing.assert_array_equal(got, [4, 3])


VECTOR = """func.func @main(%x: memref<4xf32>, %y: memref<4xf32>)
    attributes {num_outputs = 1 : i64} {
  %a = loop.load %x[0] : memref<4xf32>, vector<4xf32>
  loop.store %a, %y[0] : memref<4xf32>, vector<4xf32>
  func.return
}
"""


@pytest.mark.parametrize(("show", "name"), [(print_c, "C99"), (print_js, "JavaScript")])
def test_what_a_language_cannot_say_is_named(show: Any, name: str):
    expected = rf"<text>:3:8: error: loop.load: the {name} backend has no type for vector<4xf32>"
    with pytest.raises(PassFailedException, match=re.escape(expected)):
        show(nn_opt.parse(VECTOR))
    unknown = ALIAS.replace("arith.addf %a, %c", "math.cbrt %a")
    with pytest.raises(PassFailedException, match=f"math.cbrt: the {name} backend has no rule"):
        show(nn_opt.parse(unknown))
    with pytest.raises(PassFailedException, match=r"has no func\.func @main with a body"):
        show(nn_opt.parse("func.func private @f()\n"))
