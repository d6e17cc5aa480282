"""`nn-run --per-node`: every value of a model in two runtimes, and the first node that differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, ValueInfoProto, helper

from nn_opt.compiler import compile
from nn_opt.driver.models import fail
from nn_opt.driver.peers import is_tensor, load_peer, relative_error
from nn_opt.frontends.onnx import read_model
from nn_opt.frontends.onnx.structure import needed_by, node_label

onnx: Any = import_module("onnx")  # whose functions are typed in part
Array = NDArray[Any]
Arrays = Mapping[str, Array]
MOST_BYTES = 2**31  # of a protobuf message


@dataclass(frozen=True)
class Row:
    """One value of a model, and how far two runtimes are apart in it."""

    label: str  # of the node that makes it
    operator: str
    name: str
    value: Array  # the peer's
    largest: float  # of the absolute differences
    error: float  # relative, see `relative_error`
    alone: float | None = None  # the same if the node is given the peer's values


@dataclass(frozen=True)
class Comparison:
    """All values of a model; `first` is the row of the first node that differs by itself."""

    rows: tuple[Row, ...]
    first: Row | None
    values: Arrays  # the inputs, and what the peer makes of them
    outputs: Mapping[str, float]  # the error of each output where no other value is looked at

    def cells(self) -> list[list[str]]:
        """Return the rows of a table: node, operator, value, shape, errors."""
        return [
            [
                row.label,
                row.operator,
                row.name,
                "x".join(map(str, row.value.shape)) or "scalar",
                f"{row.largest:.2e}",
                f"{row.error:.2e}",
                "" if row.alone is None else f"{row.alone:.2e}",
            ]
            for row in self.rows
        ]


@dataclass(frozen=True)
class Subject:
    """A model with all its weights, the runtimes to compare, and when values differ."""

    proto: ModelProto
    peer: str
    tolerance: float
    options: Mapping[str, Any]  # of `nn_opt.compile`

    def ours(self, proto: ModelProto, inputs: Arrays) -> dict[str, Array]:
        """Return a model's outputs as compiled here."""
        model = compile(proto, cache=False, **self.options)
        given = {info.name: inputs[info.name] for info in model.inputs}
        return model.run(given)

    def theirs(self, proto: ModelProto, inputs: Arrays) -> dict[str, Array]:
        """Return a model's outputs from the peer."""
        names = [value.name for value in proto.graph.output]
        weights = {tensor.name for tensor in proto.graph.initializer}
        wanted = {value.name for value in proto.graph.input} - weights
        given = {name: array for name, array in inputs.items() if name in wanted}
        run = load_peer(self.peer, proto.SerializeToString())
        return dict(zip(names, run(names, given), strict=True))

    def errors(self, proto: ModelProto, inputs: Arrays) -> dict[str, float]:
        """Return the relative error of each output."""
        ours, theirs = self.ours(proto, inputs), self.theirs(proto, inputs)
        return {name: relative_error(ours[name], array) for name, array in theirs.items()}

    def differs(self, proto: ModelProto, inputs: Arrays) -> bool:
        """Return whether some output differs by more than the tolerance."""
        return any(error > self.tolerance for error in self.errors(proto, inputs).values())


def load_whole(path: str) -> ModelProto:
    """Return a model with its external weights in it.

    Raises: DiagnosticError for a file that is no model, or weights of more than 2 GiB.
    """
    read_model(path)  # words what is wrong with it
    try:
        proto: ModelProto = onnx.load(path)
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        fail(f"{path}: error: cannot read its weights: {error}")
    if proto.ByteSize() >= MOST_BYTES:
        fail(f"{path}: error: --per-node takes models below 2 GiB, this has {proto.ByteSize()}")
    return proto


def compare(subject: Subject, inputs: Arrays) -> Comparison:
    """Compare every tensor that the model's nodes make, all of them being outputs."""
    proto = subject.proto
    names = [name for name, _, _ in made_values(proto)]
    known = subject.theirs(with_outputs(proto, [ValueInfoProto(name=n) for n in names]), inputs)
    known = {name: array for name, array in known.items() if is_tensor(array)}
    ours = subject.ours(with_outputs(proto, [type_of(n, a) for n, a in known.items()]), inputs)
    rows = [
        Row(label, node.op_type, name, known[name], *_errors(ours[name], known[name]))
        for name, label, node in made_values(proto)
        if name in known
    ]
    rows, first = _with_first(subject, rows, {**inputs, **known})
    outputs = subject.errors(proto, inputs)
    return Comparison(tuple(rows), first, {**inputs, **known}, outputs)


def _errors(actual: Array, expected: Array) -> tuple[float, float]:
    if actual.shape != expected.shape or not expected.size:
        largest = 0.0 if actual.shape == expected.shape else float("inf")
    else:
        with np.errstate(invalid="ignore", over="ignore"):  # infinities, the same in both
            difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        largest = float(np.nanmax(difference, initial=0.0))
    return largest, relative_error(actual, expected)


def _with_first(
    subject: Subject, rows: Sequence[Row], values: Arrays
) -> tuple[list[Row], Row | None]:
    """Run nodes that differ alone, until one does so then, too; return its row as well."""
    done: list[Row] = []
    first: Row | None = None
    nodes = {name: node for name, _, node in made_values(subject.proto)}
    for row in rows:
        if first is None and row.error > subject.tolerance:
            alone = subject.errors(lone_node(subject.proto, nodes[row.name], values), values)
            row = replace(row, alone=alone[row.name])
            first = row if alone[row.name] > subject.tolerance else None
        done.append(row)
    return done, first


def summary(subject: Subject, comparison: Comparison) -> str:
    """Return in a line which node is the first to differ by itself."""
    limit = f"{subject.tolerance:g}"
    if comparison.first is not None:
        row = comparison.first
        return (
            f"First to differ: node '{row.label}' ({row.operator}), value '{row.name}':"
            f" {row.alone:.2e} on {subject.peer}'s own values, more than {limit}"
        )
    beyond = sum(row.error > subject.tolerance for row in comparison.rows)
    wrong = [name for name, error in comparison.outputs.items() if error > subject.tolerance]
    if beyond:
        what = f"{beyond} value(s) differ by more than {limit}, but no node does so by itself"
        return f"{what}: rounding adds up"
    if wrong:
        what = f"Output '{wrong[0]}' differs by more than {limit}, no value before it does"
        return f"{what} once it is looked at: it comes with fusion"
    return f"No value differs by more than {limit}"


def made_values(proto: ModelProto) -> Iterator[tuple[str, str, NodeProto]]:
    """Yield each value that the nodes make, with its node's label and the node."""
    for index, node in enumerate(proto.graph.node):
        yield from ((name, node_label(node, index), node) for name in node.output if name)


def type_of(name: str, array: Array) -> ValueInfoProto:
    """Return the type of a value, its sizes left open."""
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, kind, [None] * array.ndim)


def with_outputs(proto: ModelProto, outputs: Sequence[ValueInfoProto]) -> ModelProto:
    """Return the model with other outputs."""
    changed = ModelProto()
    changed.CopyFrom(proto)
    del changed.graph.output[:]
    changed.graph.output.extend(outputs)
    return changed


def lone_node(proto: ModelProto, node: NodeProto, values: Arrays) -> ModelProto:
    """Return a model of one node, whose operands are inputs, or weights as they were."""
    names = set(needed_by(node))
    alone = ModelProto()
    alone.CopyFrom(proto)
    graph = alone.graph
    weights = [tensor for tensor in proto.graph.initializer if tensor.name in names]
    read = sorted(names - {tensor.name for tensor in weights})
    for field in ("node", "input", "output", "initializer", "value_info"):
        graph.ClearField(field)
    graph.node.append(node)
    graph.initializer.extend(weights)
    graph.input.extend(_static(name, values[name]) for name in read)
    graph.output.extend(type_of(name, values[name]) for name in node.output if name in values)
    return alone


def _static(name: str, array: Array) -> ValueInfoProto:
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, kind, array.shape)
