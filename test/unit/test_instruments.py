"""Instruments hear of everything, in order, and of patterns only if they want to."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

import nn_opt
from nn_opt import Pipeline, passes
from nn_opt.driver import main
from nn_opt.instrument import Instrument, hears_patterns
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.rewriting import convert, rewrite
from nn_opt.ir.watching import Tried, active_watchers
from nn_opt.patterns import FunctionPattern

TEXT = """func.func @f(%x: f32) -> f32 {
  %a = arith.mulf %x, %x : f32
  %b = arith.mulf %a, %x : f32
  %c = arith.addf %a, %b : f32
  func.return %c : f32
}
"""
RELU = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = graph.relu %x : tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""


class Log(Instrument):
    """Writes down what it hears."""

    def __init__(self, name: str, said: list[str], skip: str = "", refuse: str = "") -> None:
        self.name, self.said, self.skip, self.refuse = name, said, skip, refuse

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp) -> None:
        self.said.append(f"{self.name} begins {len(pipeline)}")

    def after_pipeline(self, pipeline: Pipeline, module: ModuleOp) -> None:
        self.said.append(f"{self.name} ends")

    def should_run(self, step: ModulePass, module: ModuleOp) -> bool:
        return step.name != self.skip

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        self.said.append(f"{self.name} before {step.name}")

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        self.said.append(f"{self.name} after {step.name}")
        if step.name == self.refuse:
            raise DiagnosticError("error: refused")

    def pass_failed(self, step: ModulePass, module: ModuleOp, error: Exception) -> None:
        self.said.append(f"{self.name} failed {step.name}: {error}")


class Innermost(Log):
    """Wants to be next to the passes."""

    innermost = True


class Tries(Instrument):
    """Writes down patterns."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str, bool | None]] = []

    def before_pattern(self, pattern: Tried, op: Operation) -> None:
        self.said.append((_name(pattern), op.name, None))

    def after_pattern(self, pattern: Tried, op: Operation, changed: bool) -> None:
        self.said.append((_name(pattern), op.name, changed))


def _name(pattern: Tried) -> str:
    return pattern.name if isinstance(pattern, FunctionPattern) else pattern.__name__


def test_the_first_is_outermost_unless_one_wants_to_be_innermost():
    said: list[str] = []
    watchers = [Innermost("in", said), Log("one", said), Log("two", said)]
    Pipeline("cse").run(nn_opt.parse(TEXT), watchers)
    assert said == [
        "one begins 1",
        "two begins 1",
        "in begins 1",
        "one before cse",
        "two before cse",
        "in before cse",
        "in after cse",
        "two after cse",
        "one after cse",
        "in ends",
        "two ends",
        "one ends",
    ]


def test_a_pass_that_may_not_run_is_left_out():
    said: list[str] = []
    Pipeline("cse,dce").run(nn_opt.parse(TEXT), [Log("a", said), Log("b", said, skip="cse")])
    assert not any("cse" in line for line in said)
    assert "a after dce" in said


def test_a_failure_is_told_of_and_the_pipeline_ends():
    said: list[str] = []
    with pytest.raises(DiagnosticError, match="refused"):
        Pipeline("cse,dce").run(nn_opt.parse(TEXT), [Log("a", said), Log("b", said, refuse="cse")])
    assert said[-5:] == [
        "b after cse",
        "b failed cse: error: refused",
        "a failed cse: error: refused",
        "b ends",
        "a ends",
    ]


@nn_opt.pattern
def double(op: arith.MulfOp, rewriter: PatternRewriter) -> None:
    if op.lhs is op.rhs:
        rewriter.replace(op, arith.AddfOp(op.lhs, op.rhs))


def swap(op: arith.AddfOp, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, arith.AddfOp(op.rhs, op.lhs))


class PatternsPass(ModulePass):
    """Runs a pattern and a conversion."""

    name = "patterns"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, double, once=True)
        convert(op, {arith.AddfOp: swap})


def test_patterns_and_rules_are_heard_of():
    tries = Tries()
    Pipeline(PatternsPass).run(nn_opt.parse(TEXT), [tries])
    assert tries.said == [
        ("double", "arith.mulf", None),
        ("double", "arith.mulf", True),
        ("double", "arith.mulf", None),
        ("double", "arith.mulf", False),
        ("swap", "arith.addf", None),
        ("swap", "arith.addf", True),
        ("swap", "arith.addf", None),
        ("swap", "arith.addf", True),
    ]


def test_who_does_not_listen_costs_nothing():
    class Look(Instrument):
        watchers: object = None

        def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
            Look.watchers = active_watchers()

    Pipeline("cse").run(nn_opt.parse(TEXT), [Look(), nn_opt.Timing()])
    assert Look.watchers == ()
    assert hears_patterns(Tries())
    assert active_watchers() == ()


def test_times_have_the_form_of_the_pipeline():
    timing, module = nn_opt.Timing(), nn_opt.parse(TEXT)
    cse = passes.Cse()
    pipeline = Pipeline(cse, "func.func(dce,cse)", passes.LowerToC(), cse)
    pipeline.run(module, [nn_opt.DisablePass("dce"), timing])
    rows = timing.rows()
    assert [row.name for row in rows] == ["cse", "func.func", "lower-to-c", "cse", "(rest)"]
    dce, inner = rows[1].inner
    assert (dce.name, dce.seconds) == ("dce", 0.0)
    assert inner.seconds > 0
    assert rows[0].seconds > 0
    assert rows[3].seconds > 0
    assert rows[1].seconds == inner.seconds
    assert sum(row.seconds for row in rows) == pytest.approx(timing.total)
    told = json.loads(timing.json())
    assert [step["name"] for step in told["steps"]] == [row.name for row in rows]
    assert str(timing).count("\n") == 7 + len(rows) + 2 + len(rows[2].inner)


def test_times_of_runs_add_up():
    timing, module, pipeline = nn_opt.Timing(), nn_opt.parse(TEXT), Pipeline("cse")
    with timing.phase("(read)"):
        pass
    pipeline.run(module, [timing])
    first = timing.rows()[1].seconds
    pipeline.run(module, [timing])
    with timing.phase("(print)"):
        pass
    assert [row.name for row in timing.rows()] == ["(read)", "cse", "(print)", "(rest)"]
    assert timing.rows()[1].seconds > first


def test_the_time_of_a_pass_that_failed_counts_and_a_refusal_does_not():
    timing = nn_opt.Timing()
    with pytest.raises(nn_opt.PassFailedException):
        Pipeline("cse,convert-loop-to-llvm").run(nn_opt.parse(RELU), [timing])
    assert timing.rows()[1].seconds > 0
    refused = nn_opt.Timing()
    with pytest.raises(DiagnosticError, match="refused"):
        Pipeline("cse").run(nn_opt.parse(TEXT), [refused, Log("a", [], refuse="cse")])
    assert sum(row.seconds for row in refused.rows()) == pytest.approx(refused.total)


def test_a_nested_run_counts_for_both():
    inner, outer = nn_opt.Statistics(), nn_opt.Statistics()

    class OuterPass(ModulePass):
        name = "outer"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            Pipeline("dce").run(op, [inner], in_place=True)

    module = nn_opt.parse("func.func @f(%x: f32) {\n %y = arith.mulf %x, %x : f32\n func.return\n}")
    Pipeline(OuterPass, "dce").run(module, [outer])
    assert inner.of("dce") == {"ops-erased": 1}
    assert outer.of("dce") == {"ops-erased": 1}
    assert "(S) 1 ops-erased" in str(outer)


def test_what_a_failed_pass_left_is_printed():
    stream = io.StringIO()
    module = nn_opt.parse(
        "func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
        "  %y = graph.relu %x : tensor<?xf32>\n  func.return %y : tensor<?xf32>\n}\n"
    )
    with pytest.raises(nn_opt.PassFailedException):
        Pipeline("convert-graph-to-tensor").run(module, [nn_opt.PrintIR(failed=True, file=stream)])
    assert "IR Dump After convert-graph-to-tensor Failed" in stream.getvalue()
    assert '"func.func"()' in stream.getvalue()


def test_a_failure_is_replayed_whoever_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "crash.mlir"
    crash = nn_opt.CrashReproducer(path, flags=["--no-verify-each"])
    with pytest.raises(DiagnosticError, match="refused") as caught:
        Pipeline("cse,canonicalize,dce").run(
            nn_opt.parse(TEXT),
            [Log("last", [], refuse="canonicalize"), crash, nn_opt.DisablePass("cse")],
        )
    assert caught.value.__notes__[0] == f"nn-opt --run-reproducer {path} replays this"
    text = path.read_text()
    assert "'--pass-pipeline=builtin.module(canonicalize,dce)' --no-verify-each" in text
    assert main(["--run-reproducer", str(path)]) == 0  # nobody refuses there
    assert "arith.mulf" in capsys.readouterr().out


def test_counters_are_quiet_after_a_failure():
    from nn_opt.ir.counters import active_counter

    counter = nn_opt.DebugCounter({"cse": 0})
    with pytest.raises(DiagnosticError, match="refused"):
        Pipeline("cse").run(nn_opt.parse(TEXT), [counter, Log("a", [], refuse="cse")])
    assert active_counter() is None


@pytest.mark.parametrize("make", [nn_opt.DisablePass, lambda name: nn_opt.DebugCounter({name: 1})])
def test_an_unknown_pass_is_refused(make: type[nn_opt.DisablePass]):
    with pytest.raises(DiagnosticError, match=r"unknown pass 'csee'\n  hint: did you mean cse\?"):
        make("csee")


def test_a_pass_to_print_around_has_to_exist():
    with pytest.raises(
        DiagnosticError, match=r"PrintIR: unknown pass 'csee'\n  hint: did you mean"
    ):
        Pipeline("cse").run(nn_opt.parse(TEXT), [nn_opt.PrintIR(after="csee")])


@pytest.mark.parametrize("limit", [-1, "1", None, True])
def test_a_limit_is_a_natural_number(limit: Any):
    with pytest.raises(TypeError, match=r"the limit of cse is .*, expected a number of rewrites"):
        nn_opt.DebugCounter({"cse": limit})
