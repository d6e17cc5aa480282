"""A pipeline is made of anything that names passes, never changes, and says what went wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import nn_opt
from nn_opt import Pipeline, passes
from nn_opt.ir.diagnostics import DiagnosticError, locate
from nn_opt.passes.cse import CsePass
from nn_opt.passes.fuse_ops import FuseOpsPass
from nn_opt.pipelines import PIPELINES
from nn_opt.registry import PASSES

TWICE = """func.func @twice(%x: f32) -> (f32, f32) {
  %a = arith.mulf %x, %x : f32
  %b = arith.mulf %x, %x : f32
  func.return %a, %b : f32, f32
}
"""
DYNAMIC = """func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = graph.relu %x : tensor<?xf32>
  func.return %y : tensor<?xf32>
}
"""


class BrokenPass(ModulePass):
    """Leaves a function without an end, or raises."""

    name = "broken"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = op.body.block.first_op
        assert function is not None
        last = function.regions[0].block.last_op
        assert last is not None
        last.detach()


class RaisingPass(ModulePass):
    """Has a mistake."""

    name = "raising"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise KeyError("lost")


def test_steps_may_be_anything(tmp_path: Path):
    file = tmp_path / "pipeline.txt"
    file.write_text("dce,  # last\n canonicalize\n")
    mixed = Pipeline("cse,fuse-ops{max-depth=4}", passes.Dce(), CsePass, Pipeline("dce"), file)
    assert [step.name for step in mixed] == [
        "cse",
        "fuse-ops",
        "dce",
        "cse",
        "dce",
        "dce",
        "canonicalize",
    ]
    assert mixed.passes[1] == FuseOpsPass(4)
    assert len(mixed) == 7
    assert len(Pipeline()) == 0


def test_pipelines_are_joined():
    left, right = Pipeline("cse"), Pipeline("dce")
    assert left + right == Pipeline("cse,dce") == Pipeline(left, right)
    assert left + "dce" == "cse" + right == left + passes.Dce()
    assert hash(left + right) == hash(Pipeline("cse,dce"))
    assert left == Pipeline("cse")  # joining changed nothing
    assert left != "cse"


@pytest.mark.parametrize(
    "text", [*PASSES, *PIPELINES, "cse,func.func(cse,dce),func.func(dce)", "fuse-ops{max-depth=2}"]
)
def test_text_is_read_back_the_same(text: str):
    if text == "apply-pdl":
        text = "apply-pdl{file=some.pdl}"
    pipeline = Pipeline(text)
    assert Pipeline(str(pipeline)) == pipeline
    assert str(Pipeline(str(pipeline))) == str(pipeline)
    assert "\n" not in str(pipeline)
    assert eval(repr(pipeline)) == pipeline


@pytest.mark.parametrize(
    ("pipeline", "shown"),
    [
        (Pipeline(), "Pipeline()"),
        (Pipeline("fuse-ops{max-depth=64}"), "Pipeline('fuse-ops')"),
        (Pipeline("compile,cse"), "Pipeline('compile,cse')"),
        (Pipeline(passes.Compile(max_depth=64)), "Pipeline('compile')"),
        (
            Pipeline(passes.LowerToLoops(apply_now=True)),
            "Pipeline('outline-kernels,convert-graph-to-tensor,convert-tensor-to-loop,"
            "default-schedules{apply-now=true},apply-schedule')",
        ),
        (Pipeline("func.func(cse),dce"), "Pipeline('func.func(cse),dce')"),
        (Pipeline("optimize-graph").on_functions(), "Pipeline('func.func(optimize-graph)')"),
    ],
)
def test_what_people_see_is_short(pipeline: Pipeline, shown: str):
    assert repr(pipeline) == shown


def test_functions_are_an_anchor():
    assert str(Pipeline("cse,func.func(dce)").on_functions()) == (
        "builtin.module(func.func(cse,func.func(dce)))"
    )


def test_a_part_keeps_its_anchor():
    pipeline = Pipeline("dce,func.func(cse,dce),canonicalize")
    assert str(pipeline[1:3]) == "builtin.module(func.func(cse),func.func(dce))"
    assert pipeline[0] == passes.Dce()
    assert pipeline[-1].name == "canonicalize"
    assert Pipeline(*pipeline) == pipeline


def test_what_needs_the_module_stays_outside():
    with pytest.raises(DiagnosticError, match="--outline-kernels needs the whole module"):
        Pipeline("cse,outline-kernels").on_functions()


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("cse,,dce", "pipeline:1:5: error: expected a pass or pipeline"),
        ("csee", "did you mean cse"),
        ("fuse-ops{max-depth=x}", "max-depth is 'x', expected an integer"),
        (Path("/no/such/file"), "/no/such/file: error: No such file"),
    ],
)
def test_mistakes_are_diagnostics(step: str | Path, problem: str):
    with pytest.raises(DiagnosticError) as caught:
        Pipeline(step)
    assert problem in str(caught.value)


def test_what_is_no_step_is_refused():
    with pytest.raises(TypeError, match=r"a step of a pipeline is a text, .* not 3"):
        Pipeline(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="needs the option 'file'"):
        Pipeline(passes.ApplyPdl)


def test_a_run_works_on_a_copy():
    module = nn_opt.parse(TWICE)
    before = nn_opt.print_module(module)
    result = Pipeline("cse").run(module)
    assert nn_opt.print_module(result).count("mulf") == 1
    assert nn_opt.print_module(module) == before
    assert [locate(op) for op in result.walk() if op.name == "arith.mulf"] == ["<text>:2:8"]


def test_a_run_may_work_in_place():
    module = nn_opt.parse(TWICE)
    assert Pipeline("cse").run(module, in_place=True) is module
    assert nn_opt.print_module(module).count("mulf") == 1


def test_the_pass_that_breaks_a_module_is_named():
    module = nn_opt.parse(TWICE)
    with pytest.raises(DiagnosticError) as caught:
        Pipeline("cse", BrokenPass, "dce").run(module)
    assert "no terminator" in str(caught.value)
    assert "note: this is what --broken left" in str(caught.value)
    assert caught.value.__notes__ == ["in the pass broken"]
    Pipeline("cse", BrokenPass).run(module, verify=False)


def test_a_module_that_was_broken_before_is_not_blamed_on_a_pass():
    module = nn_opt.parse(TWICE)
    BrokenPass().apply(Context(), module)
    with pytest.raises(nn_opt.VerifyException, match=r"<text>:3:8: error: arith\.mulf"):
        Pipeline("cse").run(module)


def test_a_pass_that_refuses_is_named():
    with pytest.raises(nn_opt.PassFailedException) as caught:
        Pipeline("cse,convert-graph-to-tensor").run(nn_opt.parse(DYNAMIC))
    assert str(caught.value).startswith("<text>:2:8: error: graph.relu: a size of")
    assert caught.value.__notes__ == ["in the pass convert-graph-to-tensor"]


def test_a_mistake_in_a_pass_is_shown_as_it_is():
    with pytest.raises(KeyError, match="lost") as caught:
        Pipeline(RaisingPass()).run(nn_opt.parse(TWICE))
    assert caught.value.__notes__ == ["in the pass raising"]


@pytest.mark.parametrize(
    ("module", "instruments", "message"),
    [
        (TWICE, [], "a pipeline runs on a module, not 'func.func.*; nn_opt.parse makes one"),
        (None, [], "a pipeline runs on a module, not None"),
        (nn_opt.parse(TWICE), nn_opt.Timing(), r"instruments are a list: \[Timing\(...\)\]"),
        (nn_opt.parse(TWICE), [nn_opt.Timing], "an instrument is an object whose class is"),
        (
            nn_opt.parse(TWICE),
            [3],
            "an instrument is an object whose class is an Instrument, not 3",
        ),
    ],
)
def test_what_a_run_is_given(module: Any, instruments: Any, message: str):
    with pytest.raises(TypeError, match=message):
        Pipeline("cse").run(module, instruments)


def test_numbers_of_numpy_are_numbers():
    assert passes.FuseOps(max_depth=np.int64(4)) == passes.FuseOps(max_depth=4)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"max_depth is .*, expected an integer"):
        passes.FuseOps(max_depth=np.float32(4))  # pyright: ignore[reportArgumentType]


def test_an_empty_text_is_an_empty_module():
    assert not nn_opt.parse("").ops
