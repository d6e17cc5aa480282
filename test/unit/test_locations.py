"""No pass loses the place that an op comes from: what it makes has one wherever all had one."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from bench import models
from nn_opt.driver.arguments import split_pass_flags
from nn_opt.frontends.onnx import import_model
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.ir.target import set_target, target_named
from nn_opt.pipelines import PIPELINES, expand
from nn_opt.plans import make_plan, steps_of
from nn_opt.registry import PASSES

LIT = Path(__file__).parent.parent / "lit"
RUN = re.compile(r"^// RUN: (?:not )?nn-opt (.*)", re.MULTILINE)
SPLIT = re.compile(r"^// -----.*$", re.MULTILINE)
REFUSED = (DiagnosticError, DiagnosticException)  # by tests of messages
TARGET = "--target="
ENDS = ("|", ">", "<", "2>&1", "2>", "&&")
SMALL = ("mlp", "lstm", "bert_tiny", "mobilenet_v2", "squeezenet1_1")


@dataclass(frozen=True)
class Program:
    """A text and the passes that a lit test runs on it."""

    path: Path
    flags: tuple[str, ...]

    @property
    def steps(self) -> list[ModulePass]:
        return list(steps_of(make_plan(split_pass_flags(self.flags)[0])))

    def modules(self) -> Iterator[ModuleOp]:
        """Yield the parts of the text that are no test of the parser or verifier."""
        targets = [flag.removeprefix(TARGET) for flag in self.flags if flag.startswith(TARGET)]
        for text in SPLIT.split(self.path.read_text()):
            try:
                context = make_context(allow_unregistered=True)
                module = parse_module(context, text, self.path.name)
                module.verify()
            except REFUSED:
                continue
            for target in targets:
                set_target(module, target_named(target).name)
            yield module


@cache
def programs() -> tuple[Program, ...]:
    """Return the runs of passes on text in the lit tests, each once."""
    found: dict[Program, None] = {}
    for path in sorted(LIT.rglob("*.mlir")):
        for command in RUN.findall(path.read_text()):
            words = list(takewhile(lambda w: w not in ENDS, shlex.split(command)))
            if "%s" in words:
                flags = [w.replace("%S", str(path.parent)) for w in words if w.startswith("--")]
                found[Program(path, tuple(flags))] = None
    return tuple(program for program in found if _steps(program))


@cache
def _steps(program: Program) -> tuple[str, ...]:
    try:
        return tuple(step.name for step in program.steps)
    except DiagnosticError:  # a test of the command line
        return ()


def unknown(module: ModuleOp) -> Counter[str]:
    """Return how many ops of each name nobody knows the place of."""
    return Counter(op.name for op in module.walk() if isinstance(op.location, UnknownLoc))


def run(step: ModulePass, module: ModuleOp) -> bool:
    """Run a pass, which must lose no location; return whether it changed anything."""
    before = print_module(module)
    assert not unknown(module)
    step.apply(make_context(allow_unregistered=True), module)
    lost = unknown(module)
    assert not lost, f"--{step.name} lost the locations of {dict(lost)}"
    return print_module(module) != before


def changes(name: str, program: Program) -> bool:
    """Run the passes of a program; return whether one of them, by name, changed anything."""
    changed = False
    for module in program.modules():
        for step in program.steps:
            try:
                did = run(step, module)
            except REFUSED:
                break
            changed |= did and step.name == name
    return changed


@pytest.mark.parametrize("name", PASSES)
def test_no_pass_loses_a_location(name: str):
    changed = [changes(name, program) for program in programs() if name in _steps(program)]
    assert any(changed), f"no lit test has a text that --{name} changes"


@pytest.mark.parametrize("model", SMALL)
@pytest.mark.parametrize("name", PIPELINES)
def test_no_pipeline_loses_a_location(name: str, model: str):
    module = import_model(models.build_small(model))
    before = {"lower-to-loops": "optimize-graph", "lower-to-llvm": "lower-to-loops"}
    needs: list[str] = []
    while name in before:
        name = before[name]
        needs.insert(0, name)
    for step in (step for pipeline in (*needs, name) for step in expand(pipeline)):
        run(step, module)
