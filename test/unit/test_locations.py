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

import numpy as np
import pytest
from onnx_text import parse as parse_onnx
from xdsl.context import Context
from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnknownLoc, UnregisteredOp, i32
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, VerifyException

import nn_opt.build as build_module
from bench import models
from nn_opt.backends.llvm import print_module as print_llvm
from nn_opt.backends.llvm.object import RefusedCode
from nn_opt.driver.arguments import split_pass_flags
from nn_opt.frontends.onnx import import_model
from nn_opt.instruments.locating import VerifyLocations
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.locations import node_names
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.ir.target import set_target, target_named
from nn_opt.ir.verify import verify
from nn_opt.kernels import kernels_of
from nn_opt.pipelines import PIPELINES, expand, run_passes
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
        """Yield the parts of the text that are IR, and where all ops have a place."""
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
            if not unknown(module):
                yield module


ONLY_READ = {"gpu-verify"}  # passes that change nothing


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


@pytest.mark.parametrize("name", [name for name in PASSES if name not in ONLY_READ])
def test_no_pass_loses_a_location(name: str):
    changed = [changes(name, program) for program in programs() if name in _steps(program)]
    assert any(changed), f"no lit test has a text that --{name} changes"


@pytest.mark.parametrize("model", SMALL)
@pytest.mark.parametrize("name", PIPELINES)
def test_no_pipeline_loses_a_location(name: str, model: str):
    module = import_model(models.build_small(model))
    before = {
        "lower-to-loops": "optimize-graph",
        "lower-to-llvm": "lower-to-loops",
        "lower-to-gpu": "lower-to-loops",
    }
    if name == "lower-to-gpu":
        set_target(module, "cuda")
    pipelines = [name]
    while pipelines[0] in before:
        pipelines.insert(0, before[pipelines[0]])
    for step in (step for pipeline in pipelines for step in expand(pipeline)):
        run(step, module)


NODES = ("Conv_0", "Relu_1")
LEVELS = ("fuse-ops", "outline-kernels", "convert-graph-to-tensor", "apply-schedule")
LATER = ("lower-blocks", "vectorize-loops", "expand-math", "plan-memory")


def convolution() -> ModuleOp:
    text = "g (float[1,16,8,8] x) => (float[1,16,8,8] y) { c = Conv(x, w) y = Relu(c) }"
    weights = {"w": np.ones((16, 16, 1, 1), np.float32)}
    return import_model(parse_onnx(text, weights=weights))


def of_node(module: ModuleOp, node: str) -> Operation:
    """Return an op of a node that is no constant and holds no others."""
    ops = (op for op in module.walk() if op.results and not op.regions and op.operands)
    return next(op for op in ops if list(node_names(op.location)) == [node])


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("level", [*LEVELS, *LATER])
def test_an_error_at_any_level_names_the_node(level: str, node: str):
    context, module = make_context(), convolution()
    passes = expand("compile")
    last = [step.name for step in passes].index(level)
    run_passes(context, module, passes[: last + 1])
    place = of_node(module, node)
    bad = UnregisteredOp.with_name("test.bad").create(location=place.location)
    assert place.parent is not None
    place.parent.insert_op_before(bad, place)
    with pytest.raises(DiagnosticException) as caught:
        run_passes(context, module, passes[last + 1 :])
    assert re.match(f"node '{node}': error: .*(test.bad|unregistered)", str(caught.value))


@pytest.mark.parametrize("node", NODES)
def test_an_error_of_the_printer_for_llvm_names_the_node(node: str):
    module = convolution()
    run_passes(make_context(), module, expand("compile"))
    place = of_node(module, node)
    assert place.parent is not None
    place.parent.insert_op_before(arith.ConstantOp(IntegerAttr(1, i32)), place)
    assert place.prev_op is not None
    place.prev_op.location = place.location
    with pytest.raises(DiagnosticException) as caught:
        print_llvm(module)
    assert f"node '{node}': error: arith.constant: LLVM has no word for this" in str(caught.value)


@pytest.mark.parametrize("node", NODES)
def test_an_error_of_the_verifier_names_the_node(node: str):
    module = convolution()
    run_passes(make_context(), module, expand("optimize-graph"))
    place = of_node(module, node)
    place.operands = [*place.operands, place.operands[0]]
    with pytest.raises(VerifyException) as caught:
        verify(module)
    assert str(caught.value).startswith(f"node '{node}': error: {place.name}: ")


def test_what_llvm_refuses_is_told_with_its_nodes(monkeypatch: pytest.MonkeyPatch):
    def spoilt(module: ModuleOp, *, debug_info: bool = False) -> str:
        return print_llvm(module, debug_info=debug_info).replace("@llvm.fma", "@lost", 1)

    monkeypatch.setattr(build_module, "print_llvm", spoilt)
    with pytest.raises(RefusedCode) as caught:
        build_module.build(convolution(), "cpu")
    assert caught.value.function.startswith("conv_relu_0")
    assert caught.value.__notes__ == ["the model's nodes there: Conv_0, Relu_1"]


def test_a_node_is_located_by_its_name_and_number():
    text = """
    g (float[2] x) => (float[2] y) {
      a = local.double(x)
      [last] b = Add(a, w)
      y = Neg(b)
    }
    <domain: "local", opset_import: ["" : 17]>
    double (a) => (c) { b = Abs(a) c = Add(a, b) }"""
    model = parse_onnx(text, domains={"local": 1}, weights={"w": np.ones(2, np.float32)})
    module = import_model(model)
    places = [str(op.location) for op in module.walk()]
    assert places == [
        'loc("g":0:0)',
        'loc("g":0:0)',
        'loc("double_0/Abs"("g":1:1))',
        'loc("double_0/Add"("g":1:1))',
        'loc("w"("g":0:0))',
        'loc("last"("g":2:1))',
        'loc("Neg_2"("g":3:1))',
        'loc("g":0:0)',
    ]
    (main,) = (op for op in module.ops if isinstance(op, FuncOp))
    assert str(main.args[0].location) == 'loc("x"("g":0:0))'


def test_ops_of_a_kernel_that_nodes_share_are_of_all_of_them():
    text = "g (float[8,8] x) => (float[8,8] y) { a = MatMul(x, v) y = MatMul(a, w) }"
    weights = {name: np.full((8, 8), k, np.float32) for k, name in enumerate("vw")}
    module = import_model(parse_onnx(text, weights=weights))
    run_passes(make_context(), module, [*expand("fuse-ops"), *expand("outline-kernels")])
    calls = [op for op in module.walk() if isinstance(op, CallOp)]
    assert [list(node_names(call.location)) for call in calls] == [["MatMul_0"], ["MatMul_1"]]
    (kernel,) = (op for op in module.ops if isinstance(op, FuncOp) and "kernel" in op.attributes)
    for op in kernel.walk():
        assert list(node_names(op.location)) == ["MatMul_0", "MatMul_1"]


@pytest.mark.parametrize("model", ["resnet18", "bert_tiny", "lstm"])
def test_each_instruction_is_of_a_node_of_its_kernel_and_each_node_has_one(model: str):
    context, module = make_context(), import_model(models.build_small(model))
    passes = expand("compile")
    outlined = [step.name for step in passes].index("outline-kernels") + 1
    run_passes(context, module, passes[:outlined])
    nodes: dict[str, set[str]] = {}
    for kernel in kernels_of(module):
        nodes.setdefault(kernel.name, set()).update(kernel.nodes)
    run_passes(context, module, passes[outlined:])
    found: dict[str, set[str]] = {}
    for function in (op for op in module.ops if isinstance(op, llvm.FuncOp) and op.body.blocks):
        name = function.sym_name.data.split(".par")[0]
        for op in function.body.walk():
            names = set(node_names(op.location))
            assert names or isinstance(op, llvm.AddressOfOp) or name == "nn_main"
            found.setdefault(name, set()).update(names)
    del found["nn_main"]
    assert found == nodes


class ForgetPass(ModulePass):
    """Declares two functions from nothing."""

    name = "forget"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.body.block.add_ops([FuncOp.external(name, [], []) for name in "gh"])


def test_a_pass_that_forgets_locations_is_refused():
    module = import_model(parse_onnx("g (float[2] x) => (float[2] y) { y = Relu(x) }"))
    with pytest.raises(DiagnosticError) as caught:
        run_passes(make_context(), module, [ForgetPass()], [VerifyLocations()])
    first, hint = str(caught.value).split("\n")
    assert first == "g: error: func.func: --forget left 2 operation(s) without a location"
    assert (
        hint
        == "  hint: make them in `with located(op):` of nn_opt.ir.locations, op being their origin"
    )
    run_passes(make_context(), module, [ForgetPass()], [VerifyLocations()])  # it was so before
