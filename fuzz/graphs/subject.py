"""What nn-opt computes: interpreted, compiled, and after each pass of the pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto

import nn_opt
from fuzz.graphs.examples import Example
from fuzz.graphs.numbers import Array
from fuzz.graphs.oracle import Value, mismatch
from nn_opt.frontends.onnx import describe_inputs, import_model
from nn_opt.frontends.onnx.evaluation import NeedsValue
from nn_opt.ir.target import set_target, target_named
from nn_opt.reference import run

WAYS = ("interpreted", "compiled", "checked")


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
    except NeedsValue:
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
