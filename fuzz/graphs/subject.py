"""What nn-opt computes: interpreted, compiled, and after each pass of the pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, ValueInfoProto

import nn_opt
from fuzz.graphs.disguises import disguised as another_file
from fuzz.graphs.examples import Example
from fuzz.graphs.numbers import Array, is_float
from fuzz.graphs.oracle import Value, allowed, finite, mismatch, whole_by_onnxruntime
from nn_opt.frontends.onnx import describe_inputs, import_model
from nn_opt.frontends.onnx.evaluation import NeedsHost, NeedsValue
from nn_opt.ir.target import set_target, target_named
from nn_opt.reference import run

WAYS = ("interpreted", "compiled", "disguised", "symbolic", "checked")


class Resized(Exception):
    """A model computes something wrong for other sizes than its first."""


@dataclass(frozen=True)
class Finding:
    """What is wrong: in which way of running, with which operators, in words."""

    way: str
    operators: tuple[str, ...]
    problem: str

    @property
    def key(self) -> tuple[str, ...]:
        """What findings of the same kind share."""
        words = "".join(" " if c.isdigit() else c for c in self.problem.split("\n")[0])
        return (self.way, *self.operators[-1:], words[:40] if "expected" not in words else "")


def module_of(example: Example) -> Any:
    """Return the imported module and its inputs in order, or None if it needs values of a run."""
    names = [spec.name for spec in describe_inputs(example.model)]
    inputs = example.inputs
    try:
        module = import_model(example.model, shapes={n: inputs[n].shape for n in names})
    except (NeedsValue, NeedsHost):
        return None
    return module, [inputs[name] for name in names]


def interpreted(example: Example) -> dict[str, Array] | None:
    """Return what the imported graph computes, by the meanings of its operations."""
    made = module_of(example)
    if made is None:
        return None
    with np.errstate(all="ignore"):
        results = run(*made)
    names = [info.name for info in example.model.graph.output]
    return {name: np.asarray(array) for name, array in zip(names, results, strict=True)}


def compiled(example: Example) -> dict[str, Array]:
    """Return what the compiled model computes."""
    model = nn_opt.compile(example.model, threads=1, cache=False)
    return dict(model.run(example.inputs))


def symbolic(example: Example) -> dict[str, Array] | None:
    """Run the model with no size known, first on inputs of other sizes if onnxruntime can.

    Raises: Resized if what it computes for these is wrong.
    """
    model = ModelProto.FromString(example.model.SerializeToString())
    sizes = {size for array in example.inputs.values() for size in array.shape}
    if not sizes:
        return None
    for info in model.graph.input:
        for dim, size in zip(info.type.tensor_type.shape.dim, sizes_of(info), strict=True):
            dim.dim_param = f"size {size}"
    compiled = nn_opt.compile(model, threads=1, cache=False)
    for size in sorted(sizes):
        _try_other(compiled, model, example, size)
    return dict(compiled.run(example.inputs))


def disguised(example: Example) -> dict[str, Array]:
    """Return what another file of the same model computes."""
    model, names = another_file(example.model, len(example.model.SerializeToString()))
    inputs = {names.get(name, name): array for name, array in example.inputs.items()}
    got = nn_opt.compile(model, threads=1, cache=False).run(inputs)
    return {info.name: got[names.get(info.name, info.name)] for info in example.model.graph.output}


def sizes_of(info: ValueInfoProto) -> list[int]:
    """Return the sizes of an input."""
    return [dim.dim_value for dim in info.type.tensor_type.shape.dim]


def _try_other(compiled: Any, model: ModelProto, example: Example, size: int) -> None:
    """Compare the model's results with onnxruntime's where one size is another one."""
    inputs = dict[str, Array]()
    for name, array in example.inputs.items():
        shape = [other_than(size) if n == size else n for n in array.shape]
        inputs[name] = np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)
    expected = whole_by_onnxruntime(model, inputs)
    if expected is None:
        return
    try:
        got = compiled.run(inputs)
    except nn_opt.DiagnosticError:  # onnxruntime takes some sizes that do not go together
        return
    for info, want in zip(model.graph.output, expected, strict=True):
        error = roughly(want, example.values[info.name])
        found = mismatch(Value(want, error), np.asarray(got[info.name]))
        if found:
            raise Resized(f"{info.name}: {found}, where {size} is {other_than(size)}")


def roughly(array: Array, like: Value) -> Array | None:
    """Return by how much each number may be off that comes out of some nodes, like another one."""
    if like.error is None:
        return None
    if not is_float(array.dtype):
        return np.ones(array.shape)
    most = float(np.abs(finite(array)).max(initial=1))
    return np.full(array.shape, most * max(allowed(array.dtype), 2**-12))


def other_than(size: int) -> int:
    """Return another size."""
    return size + 1 if size < 5 else size - 1


def checked(example: Example) -> None:
    """Run the module of each prefix of the pipeline on the inputs.

    Raises: DiagnosticError that names the pass which changes what is computed.
    """
    made = module_of(example)
    if made is not None:
        module, inputs = made
        set_target(module, target_named("cpu").name)
        instruments = [nn_opt.Check(rtol=1e-4, inputs=inputs)]
        nn_opt.Pipeline("compile").run(module, instruments=instruments)


def problem_of(example: Example, ways: Sequence[str] = WAYS) -> Finding | None:
    """Return what is wrong with an example in some ways of running it, if anything."""
    operators = tuple(node.op_type for node in example.model.graph.node)
    for way in ways:
        try:
            got = globals()[way](example)
        except Exception as error:  # any: it is what is looked for
            return Finding(way, operators, f"{type(error).__name__}: {error}")
        if got is not None:
            found = compare(example.model, got, example.expected)
            if found:
                return Finding(way, (*operators, found[0]), found[1])
    return None


def compare(
    model: ModelProto, got: Mapping[str, Array], expected: Mapping[str, Value]
) -> tuple[str, str] | None:
    """Return the operator that makes the first wrong output, and how it is wrong."""
    makers = {name: node.op_type for node in model.graph.node for name in node.output}
    for name, value in expected.items():
        problem = mismatch(value, np.asarray(got[name]))
        if problem:
            return makers.get(name, "input"), f"{name}: {problem}"
    return None
