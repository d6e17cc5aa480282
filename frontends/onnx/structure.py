"""What a graph must satisfy before its nodes can be read in order: names, order, definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto

from nn_opt.ir.diagnostics import DiagnosticError

Error = Callable[[str], DiagnosticError]
WITH_GRAPHS = ("If", "Loop", "Scan", "SequenceMap")


def node_label(node: NodeProto, index: int) -> str:
    """Return the node's own name, else one made of its type and place."""
    return node.name or f"{node.op_type}_{index}"


def node_texts(node: NodeProto) -> Iterator[object]:
    """Yield every name in a node; protobuf gives bytes for one that is not UTF-8."""
    yield from (node.op_type, node.domain, node.name, *node.input, *node.output)
    for attribute in node.attribute:
        yield from (attribute.name, attribute.ref_attr_name, attribute.t.name)


def graph_texts(graph: GraphProto) -> Iterator[object]:
    """Yield every name in a graph."""
    yield graph.name
    for node in graph.node:
        yield from node_texts(node)
    for tensor in graph.initializer:
        yield tensor.name
        yield from (text for entry in tensor.external_data for text in (entry.key, entry.value))
    yield from (sparse.values.name for sparse in graph.sparse_initializer)
    for value in (*graph.input, *graph.output):
        yield value.name
        yield from (dim.dim_param for dim in value.type.tensor_type.shape.dim)


def has_sparse(proto: ModelProto) -> bool:
    """Return whether a graph of a model, or one inside of it, has a sparse initializer."""
    functions = (node for function in proto.functions for node in function.node)
    return _has_sparse(proto.graph) or any(map(_has_sparse_inside, functions))


def _has_sparse(graph: GraphProto) -> bool:
    return len(graph.sparse_initializer) > 0 or any(map(_has_sparse_inside, graph.node))


def _has_sparse_inside(node: NodeProto) -> bool:
    if node.op_type not in WITH_GRAPHS:
        return False
    return any(entry.HasField("g") and _has_sparse(entry.g) for entry in node.attribute)


def check_structure(graph: GraphProto, error: Error) -> None:
    """Raise `error(problem)` for names defined twice, missing or used before their definition."""
    known = _defined_at_start(graph, error)
    later = {name for node in graph.node for name in node.output if name}
    for index, node in enumerate(graph.node):
        for name in needed_by(node):
            if name not in known:
                raise error(_missing(node_label(node, index), name, name in later))
        for name in filter(None, node.output):
            if name in known:
                raise error(f"node '{node_label(node, index)}' defines '{name}' a second time")
            known.add(name)
    for output in graph.output:
        if output.name not in known:
            raise error(f"output '{output.name}' is computed by no node")


def _defined_at_start(graph: GraphProto, error: Error) -> set[str]:
    known: set[str] = set()
    for kind, values in (("input", graph.input), ("initializer", graph.initializer)):
        seen: set[str] = set()
        for value in values:
            if value.name in seen:
                raise error(f"two {kind}s are called '{value.name}'")
            seen.add(value.name)
        known |= seen
    names = [output.name for output in graph.output]
    if not names:
        raise error("the graph has no outputs")
    if len(set(names)) != len(names):
        raise error(f"an output is listed twice: {', '.join(sorted(names))}")
    return known


def _missing(label: str, name: str, defined_later: bool) -> str:
    if defined_later:
        return f"node '{label}' reads '{name}' before it is computed: there is a cycle"
    return f"node '{label}' reads '{name}', which is no input, initializer or node output"


def needed_by(node: NodeProto) -> Iterator[str]:
    """Yield the outer names that a node reads, also from inside its subgraphs."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield from _free_names(attribute.g)


def _free_names(graph: GraphProto) -> Iterator[str]:
    inner = {value.name for value in graph.input} | {value.name for value in graph.initializer}
    for node in graph.node:
        yield from (name for name in needed_by(node) if name not in inner)
        inner.update(node.output)
    yield from (output.name for output in graph.output if output.name not in inner)


def order_of(graph: GraphProto) -> list[int]:
    """Return the places of the nodes such that each comes after those it reads, else in order.

    Some converters write nodes at the end that others read. Those of a cycle are left at the end.
    """
    makers = {name: index for index, node in enumerate(graph.node) for name in node.output if name}
    needs = [{makers[n] for n in needed_by(node) if n in makers} for node in graph.node]
    if all(index > max(need, default=-1) for index, need in enumerate(needs)):
        return list(range(len(needs)))
    readers: dict[int, list[int]] = {}
    for index, need in enumerate(needs):
        for other in need:
            readers.setdefault(other, []).append(index)
    ready = [index for index, need in enumerate(needs) if not need]
    order: list[int] = []
    while ready:
        index = heappop(ready)
        order.append(index)
        for reader in readers.get(index, ()):
            needs[reader].discard(index)
            if not needs[reader]:
                heappush(ready, reader)
    return order + [index for index, need in enumerate(needs) if need]


def live_nodes(graph: GraphProto) -> list[int]:
    """Return the places of the nodes that some output needs, in order."""
    wanted = {output.name for output in graph.output}
    live: list[int] = []
    for index in range(len(graph.node) - 1, -1, -1):
        node = graph.node[index]
        if wanted.isdisjoint(filter(None, node.output)):
            continue
        live.append(index)
        wanted.update(needed_by(node))
    return live[::-1]
