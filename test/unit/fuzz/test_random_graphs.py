"""Random graphs over all operators and element types: a few of those that `make fuzz` draws."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
import tools
from gpu_lowering import lowered
from gpu_threads import on_threads
from hypothesis import HealthCheck, given, settings
from onnx.printer import to_text
from simt_device import run_on_fibers

from fuzz.graphs.examples import Example, examples, old_examples, restored
from fuzz.graphs.excluded import EXCLUDED
from fuzz.graphs.graph import FATES, OLD, RECIPES
from fuzz.graphs.numbers import Array
from fuzz.graphs.oracle import Value
from fuzz.graphs.subject import compare, problem_of

CORPUS = Path(__file__).resolve().parents[3] / "fuzz/corpus/graphs"
UNARY = ["Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Erf", "HardSwish", "Softplus", "Floor"]
BINARY = ["Add", "Sub", "Mul", "Max", "Min"]
REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "Softmax"]
MOVES = ["Transpose", "Reshape", "Concat", "Slice"]
ON_GPUS = [*UNARY, *BINARY, *REDUCTIONS, *MOVES, "MatMul", "Conv"]
FLOAT = ("float32",)


def some(count: int) -> settings:
    """Let a test take the same so many examples in each run, however long they take."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(
        max_examples=count, deadline=None, derandomize=True, suppress_health_check=checks
    )


def check(example: Example, *ways: str) -> None:
    if example.model.graph.output:
        assert problem_of(example, ways) is None, to_text(example.model)


@some(150)
@given(examples(most=4))
def test_interpreted(example: Example) -> None:
    check(example, "interpreted")


@some(60)
@given(examples())
def test_compiled(example: Example) -> None:
    check(example, "compiled")


@some(100)
@given(old_examples())
def test_older_versions(example: Example) -> None:
    check(example, "interpreted")


@some(15)
@given(examples(most=3))
def test_other_files_and_sizes(example: Example) -> None:
    check(example, "disguised", "symbolic")


@some(20)
@given(examples(most=4))
def test_after_each_pass(example: Example) -> None:
    check(example, "checked")


@some(30)
@given(examples(ON_GPUS, types=FLOAT, plain=True))
def test_plain_networks(example: Example) -> None:
    check(example, "compiled")


def check_results(example: Example, results: list[Array]) -> None:
    names = [info.name for info in example.model.graph.output]
    found = compare(example.model, dict(zip(names, results, strict=True)), example.expected)
    assert found is None, to_text(example.model)


@some(10)
@given(examples(ON_GPUS, types=FLOAT, plain=True))
def test_on_threads_of_a_gpu(example: Example) -> None:
    if example.model.graph.output:
        check_results(example, on_threads(example.model, example.inputs))


@tools.needs("clang++-19", "g++")
@some(8)
@given(examples(ON_GPUS, types=FLOAT, plain=True))
def test_as_kernels(example: Example) -> None:
    """As CUDA text on fibers, which find races and accesses out of bounds."""
    if example.model.graph.output:
        kernels = lowered(example.model, "cuda", example.inputs)
        check_results(example, run_on_fibers(kernels, list(example.inputs.values()), "cuda"))


@pytest.mark.parametrize("file", sorted(CORPUS.glob("*.onnx")), ids=lambda file: file.stem)
def test_what_was_found_once(file: Path) -> None:
    example = restored(onnx.load(str(file)))
    assert problem_of(example) is None


def test_examples_are_restored_from_their_models() -> None:
    kept: list[Example] = []

    @some(20)
    @given(examples())
    def keep(example: Example) -> None:
        kept.append(example)

    keep()
    for example in kept:
        again = restored(onnx.ModelProto.FromString(example.model.SerializeToString()))
        for name, value in example.expected.items():
            assert isinstance(again.values[name], Value)
            assert (
                compare(
                    example.model, {n: v.array for n, v in again.expected.items()}, {name: value}
                )
                is None
            )


def test_every_operator_has_a_recipe_or_a_reason() -> None:
    newest = {s.name for s in onnx.defs.get_all_schemas() if s.domain == ""}
    made = {name for name in RECIPES if "." not in name}
    assert made <= newest
    assert newest - made == set(EXCLUDED)
    assert set(OLD) <= {s.name for s in onnx.defs.get_all_schemas_with_history() if not s.domain}


def test_each_recipe_makes_nodes_that_are_sure() -> None:
    FATES.clear()
    for name in RECIPES:

        @some(3)
        @given(examples([name], most=1))
        def draw(example: Example) -> None:
            assert len(example.model.graph.node) <= 2

        draw()
    made = {op for what, op, _ in FATES if what == "made"}
    wanted = {name.rpartition(".")[2] for name in RECIPES}
    assert len(wanted - made) < len(wanted) / 20, wanted - made  # by so few draws
    types = {kind for what, _, kind in FATES if what == "made"}
    assert {"float32", "float64", "float16", "bfloat16", "int8", "uint8", "bool", "int4"} <= types
