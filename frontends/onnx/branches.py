"""Puts the taken branch of an If in its place, once the condition is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import HostOnly, reshaped
from nn_opt.frontends.onnx.reader import MAIN_DOMAINS
from nn_opt.frontends.onnx.structure import live_nodes, node_label

Labelled = tuple[NodeProto, str]  # a node and what messages call it


@dataclass(frozen=True)
class Inlined:
    """What stands for an If: nodes in order, and the branch's own weights by their new names."""

    nodes: list[Labelled]
    weights: dict[str, TensorProto]


def is_if(node: NodeProto) -> bool:
    """Return whether a node is ONNX's If."""
    return node.op_type == "If" and node.domain in MAIN_DOMAINS


def key_of(node: NodeProto) -> str:
    """Return the name by which a choice of an If is known: that of its first result."""
    return next((name for name in node.output if name), "")


def taken_branch(node: NodeProto, label: str, condition: bool, used: set[str]) -> Inlined:
    """Return the branch that a condition takes; it computes the results of the If.

    Its values get names that nothing else has; `used` holds those of the graph and gets the new.
    """
    wanted = "then_branch" if condition else "else_branch"
    branch = next(entry.g for entry in node.attribute if entry.name == wanted)
    names = _new_names(branch, f"{key_of(node)}/{wanted[:4]}", used)
    nodes: list[Labelled] = []
    for index in live_nodes(branch):
        inner = NodeProto()
        inner.CopyFrom(branch.node[index])
        inner.name = f"{label}/{node_label(inner, index)}"
        _rename(inner, names)
        nodes.append((inner, inner.name))
    for output, name in zip(branch.output, node.output, strict=True):
        if name:
            source = names.get(output.name, output.name)
            same = NodeProto(op_type="Identity", name=f"{label}/{name}")
            same.input.append(source)
            same.output.append(name)
            nodes.append((same, same.name))
    return Inlined(nodes, {names[tensor.name]: tensor for tensor in branch.initializer})


def chosen(
    condition: SSAValue, first: Sequence[SSAValue], second: Sequence[SSAValue]
) -> list[SSAValue]:
    """Return the results of one branch or the other, element by element.

    Raises: HostOnly if their types differ.
    """
    condition = reshaped(condition, [])
    types = [[value.type for value in values] for values in (first, second)]
    if types[0] != types[1]:
        raise HostOnly("its condition changes from step to step, and so do the types of results")
    pairs = zip(first, second, strict=True)
    return [graph.WhereOp(condition, one, other).result for one, other in pairs]


def _new_names(branch: GraphProto, prefix: str, used: set[str]) -> dict[str, str]:
    old = [tensor.name for tensor in branch.initializer]
    old += [name for inner in branch.node for name in inner.output if name]
    names: dict[str, str] = {}
    for name in old:
        new = f"{prefix}/{name}"
        while new in used:
            new += "'"
        used.add(new)
        names[name] = new
    return names


def _rename(node: NodeProto, names: Mapping[str, str]) -> None:
    """Give a node's values their new names, also where graphs in it read them."""
    for values in (node.input, node.output):
        for place, name in enumerate(values):
            values[place] = names.get(name, name)
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            _rename_captured(attribute.g, names)


def _rename_captured(graph: GraphProto, names: Mapping[str, str]) -> None:
    own = {value.name for value in (*graph.input, *graph.initializer)}
    own |= {name for node in graph.node for name in node.output}
    captured = {old: new for old, new in names.items() if old not in own}
    for node in graph.node:
        _rename(node, captured)
    for output in graph.output:
        output.name = captured.get(output.name, output.name)


def names_in(graph: GraphProto) -> set[str]:
    """Return all names of values of a graph and the graphs in its nodes."""
    names = {value.name for value in (*graph.input, *graph.initializer, *graph.output)}
    for node in graph.node:
        names.update(node.input, node.output)
        names.update(*map(names_in, _graphs(node)))
    return names


def _graphs(node: NodeProto) -> Iterable[GraphProto]:
    return (entry.g for entry in node.attribute if entry.type == AttributeProto.GRAPH)
