"""Lists that a Loop appends to, and that are stacked after it, become what the Loop stacks itself.

    ys = SequenceEmpty(); .., ys = Loop(.., ys) { .. ys = SequenceInsert(ys, y) }
    all = ConcatFromSequence<axis, new_axis = 1>(ys)
->  .., all = Loop(..) { .. }, each step of which adds y, its first axis moved to `axis`.

Joining y = Unsqueeze<axis>(x) along that axis stacks x.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    helper,
    numpy_helper,
)

DOMAIN = "nn_opt"


@dataclass(frozen=True)
class Appended:
    """A state of a Loop that is such a list."""

    loop: int  # the Loop's place among the nodes
    state: int
    inserts: int  # the place of SequenceInsert in the body
    slices: str  # what it appends, without an axis to join along
    stacks: int  # the place of ConcatFromSequence


def with_stacked_lists(proto: ModelProto) -> ModelProto:
    """Return a model without lists that are only appended to and stacked, else itself."""
    graph = proto.graph
    if not any(node.op_type == "ConcatFromSequence" for node in graph.node):
        return proto
    found = next(appended(graph), None)
    if found is None:
        return proto
    changed = ModelProto()
    changed.CopyFrom(proto)
    while found is not None:
        _rewrite(changed.graph, found)
        found = next(appended(changed.graph), None)
    if all(entry.domain != DOMAIN for entry in changed.opset_import):
        changed.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    return changed


def appended(graph: GraphProto) -> Iterator[Appended]:
    """Yield the lists of a graph's Loops that nothing but a stack is made of."""
    reads = _reads(graph)
    makers = {name: node for node in graph.node for name in node.output}
    for place, node in enumerate(graph.node):
        if node.op_type != "ConcatFromSequence":
            continue
        name = node.input[0] if node.input else ""
        loop = makers.get(name)
        if loop is None or loop.op_type != "Loop" or reads[name] != 1:
            continue
        state = list(loop.output).index(name)
        empty = makers.get(loop.input[state + 2]) if state + 2 < len(loop.input) else None
        if empty is None or empty.op_type != "SequenceEmpty":
            continue
        body = _body(loop)
        inserts = _insertion(body, state)
        slices = "" if inserts is None else body.node[inserts].input[1]
        if slices and not _int(node, "new_axis"):
            slices = _unsqueezed(slices, _int(node, "axis"), body, graph)
        if inserts is not None and slices:
            yield Appended(list(graph.node).index(loop), state, inserts, slices, place)


def _reads(graph: GraphProto) -> Counter[str]:
    """Return how often each name is read in a graph, in graphs of its nodes, or as an output."""
    counts = Counter(output.name for output in graph.output)
    for node in graph.node:
        counts.update(node.input)
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                counts.update(_reads(attribute.g))
    return counts


def _body(loop: NodeProto) -> GraphProto:
    return next((entry.g for entry in loop.attribute if entry.name == "body"), GraphProto())


def _int(node: NodeProto, name: str) -> int:
    return next((entry.i for entry in node.attribute if entry.name == name), 0)


def _insertion(body: GraphProto, state: int) -> int | None:
    """Return the place of the node that appends to a state, if that is all that is done to it."""
    if state + 2 >= len(body.input) or state + 1 >= len(body.output):
        return None
    before, after = body.input[state + 2].name, body.output[state + 1].name
    reads = _reads(body)
    for place, node in enumerate(body.node):
        if node.op_type == "SequenceInsert" and list(node.output) == [after]:
            at_end = len([name for name in node.input if name]) == 2
            alone = reads[before] == 1 and reads[after] == 1 and node.input[0] == before
            return place if at_end and alone else None
    return None


def _unsqueezed(name: str, axis: int, body: GraphProto, graph: GraphProto) -> str:
    """Return what gets an axis of size 1 to become a value of a body; '' if it does not."""
    maker = next((node for node in body.node if name in node.output), NodeProto())
    if maker.op_type != "Unsqueeze" or len(maker.input) != 2:
        return ""
    return maker.input[0] if _numbers(maker.input[1], body, graph) == [axis] else ""


def _numbers(name: str, *graphs: GraphProto) -> list[int] | None:
    """Return what a constant or a weight of some graphs holds, if it is one of few numbers."""
    for graph in graphs:
        tensors = [tensor for tensor in graph.initializer if tensor.name == name]
        for node in graph.node:
            if name in node.output and node.op_type == "Constant":
                tensors += [entry.t for entry in node.attribute if entry.name == "value"]
                tensors += [
                    helper.make_tensor("", TensorProto.INT64, [len(entry.ints)], entry.ints)
                    for entry in node.attribute
                    if entry.name == "value_ints"
                ]
        if tensors:
            few = list(tensors[0].dims) == [1] and tensors[0].data_type == TensorProto.INT64
            return numpy_helper.to_array(tensors[0]).tolist() if few else None
    return None


def _rewrite(graph: GraphProto, found: Appended) -> None:
    loop, stack = graph.node[found.loop], graph.node[found.stacks]
    body, name = _body(loop), loop.output[found.state]
    insert = body.node[found.inserts]
    slices = f"{insert.output[0]}/slice"
    same = helper.make_node("Identity", [found.slices], [slices], insert.name)
    insert.CopyFrom(same)
    del body.input[found.state + 2], body.output[found.state + 1], loop.input[found.state + 2]
    body.output.append(helper.make_empty_tensor_value_info(slices))
    outputs = [*loop.output[: found.state], *loop.output[found.state + 1 :]]
    missing = len(body.output) - 2 - len(outputs)  # outputs that the node leaves out
    del loop.output[:]
    loop.output.extend([*outputs, *([""] * missing), name])
    axis = _int(stack, "axis")
    moved = helper.make_node("Unfront", [name], stack.output, stack.name, domain=DOMAIN, axis=axis)
    stack.CopyFrom(moved)
