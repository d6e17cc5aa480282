"""Cuts a model in two: what some of its values take, and the rest, which is given them.

These are functions of models only. No weight is copied; what both parts can compute without an
input, such as sizes, both do, so that it stays known at compile time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from nn_opt.frontends.onnx.branches import is_if, key_of, names_in, taken_branch
from nn_opt.frontends.onnx.reader import Model
from nn_opt.frontends.onnx.structure import live_nodes, needed_by, node_label
from nn_opt.staged.cuts import Cut, Part

SIZES = ("Shape", "Size")  # of a tensor: known at compile time whatever the tensor holds
RANDOM = ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike")


def cut_at_value(model: Model, whole: Part, value: str, choices: Mapping[str, bool]) -> Cut:
    """Return the cut before what needs a value; Ifs whose conditions are known are inlined."""
    graph = with_branches(model, choices).proto.graph
    first, rest = _cut(model, graph, whole, [value], {value})
    first = None if value in whole.inputs else first
    rest = Part(tuple(name for name in rest.inputs if name != value), rest.outputs)
    return Cut(value, "", dict(choices), first, rest)


def cut_at_node(model: Model, whole: Part, node: str, choices: Mapping[str, bool]) -> Cut:
    """Return the cut before a node that the host runs; it is named by its first result."""
    graph = with_branches(model, choices).proto.graph
    found = next(n for n in graph.node if key_of(n) == node)
    first, rest = _cut(model, graph, whole, list(needed_by(found)), set(filter(None, found.output)))
    return Cut("", node, dict(choices), first if first.outputs else None, rest)


def _cut(
    model: Model, graph: GraphProto, whole: Part, wanted: Sequence[str], given: set[str]
) -> tuple[Part, Part]:
    """Return the part that computes `wanted`, and the rest, to which `given` is given."""
    before = closure(graph, wanted, set(whole.inputs))
    made = {name for node in before.nodes for name in node.output if name}
    static = static_names(graph, model)
    passed = (made - static) | given | set(whole.inputs)
    missing = [name for name in whole.outputs if name not in made | given]
    missing = [name for name in missing if name not in whole.inputs]
    after = closure(graph, missing, passed)
    handed = [n for n in after.read if n in made and n not in given]
    outputs = [n for n in (*wanted, *handed, *whole.outputs) if n in made]
    first = Part(tuple(before.read), tuple(dict.fromkeys(outputs)))
    rest = Part(tuple(after.read), tuple(missing))
    return first, rest


@dataclass(frozen=True)
class Closure:
    """The nodes that some values take, in order, and which given values they read."""

    nodes: list[NodeProto]
    places: list[int]
    read: list[str]


def closure(graph: GraphProto, wanted: Iterable[str], given: set[str]) -> Closure:
    """Return what some values take, given others."""
    needed = set(wanted)
    read = [name for name in dict.fromkeys(wanted) if name in given]
    nodes: list[NodeProto] = []
    places: list[int] = []
    for place in range(len(graph.node) - 1, -1, -1):
        node = graph.node[place]
        if not any(name in needed and name not in given for name in node.output):
            continue
        nodes.append(node)
        places.append(place)
        needed.update(needed_by(node))
        read += [name for name in needed_by(node) if name in given]
    return Closure(nodes[::-1], places[::-1], list(dict.fromkeys(read)))


def static_names(graph: GraphProto, model: Model) -> set[str]:
    """Return the values that hang on weights and sizes alone."""
    static = set(model.initializers)
    for node in graph.node:
        if node.op_type in SIZES or (
            node.op_type not in RANDOM and static.issuperset(needed_by(node))
        ):
            static.update(filter(None, node.output))
    return static


def part_of(
    model: Model, cut: Cut, part: Part, weights: Mapping[str, TensorProto] | None = None
) -> Model:
    """Return a part of a model that was cut; `weights` are the values it holds as constants."""
    whole = with_branches(model, cut.choices)
    given = {*part.inputs, *(weights or {})}
    return selected(whole, part.outputs, given, weights or {})


def selected(
    model: Model, outputs: Sequence[str], given: set[str], weights: Mapping[str, TensorProto]
) -> Model:
    """Return the nodes that outputs take; those of which something is given compute it not."""
    graph = model.proto.graph
    found = closure(graph, outputs, given)
    part = GraphProto(name=graph.name)
    part_outputs(part, outputs)
    for place, node in zip(found.places, found.nodes, strict=True):
        part.node.append(node)
        copy = part.node[-1]
        copy.name = node_label(node, place)
        for position, name in enumerate(copy.output):
            if name in given:
                copy.output[position] = ""
    origins = [model.origins[place] if model.origins else place for place in found.places]
    return _with_nodes(model, part, weights, origins)


def part_outputs(graph: GraphProto, names: Sequence[str]) -> None:
    """State the outputs of a graph; their types are found when it is imported."""
    graph.output.extend(ValueInfoProto(name=name) for name in names)


def with_branches(model: Model, choices: Mapping[str, bool]) -> Model:
    """Return the model with Ifs replaced by the branches that they take, as the importer does."""
    graph = model.proto.graph
    if not any(is_if(node) and key_of(node) in choices for node in graph.node):
        return model
    used, weights = names_in(graph), dict[str, TensorProto]()
    part = GraphProto(name=graph.name)
    part.output.extend(graph.output)
    origins: list[int] = []

    def add(node: NodeProto, label: str, place: int) -> None:
        if not (is_if(node) and key_of(node) in choices):
            part.node.append(node)
            part.node[-1].name = label
            origins.append(model.origins[place] if model.origins else place)
            return
        branch = taken_branch(node, label, choices[key_of(node)], used)
        weights.update(branch.weights)
        for inner, name in branch.nodes:
            add(inner, name, place)

    for place in live_nodes(graph):
        add(graph.node[place], node_label(graph.node[place], place), place)
    return _with_nodes(model, part, weights, origins)


def _with_nodes(
    model: Model, part: GraphProto, weights: Mapping[str, TensorProto], origins: Sequence[int]
) -> Model:
    proto = ModelProto(ir_version=model.proto.ir_version)
    proto.opset_import.extend(model.proto.opset_import)
    proto.graph.CopyFrom(part)
    shared = {**model.initializers, **weights}
    return Model(proto, model.label, model.folder, model.weights, tuple(origins), shared)
