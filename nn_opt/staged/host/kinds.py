"""Of what kind the values of a graph are, and which of its nodes therefore run on the host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

from nn_opt.frontends.onnx.bounded import is_bounded
from nn_opt.frontends.onnx.node import Attributes
from nn_opt.frontends.onnx.reader import MAIN_DOMAINS, ML_DOMAIN, Model
from nn_opt.frontends.onnx.signature import SEQUENCE, STRING, TENSOR, kind_of_type
from nn_opt.staged.host.table import HOST_DOMAINS, HOST_OPS

Kinds = dict[str, str]


def is_hosted(model: Model) -> bool:
    """Return whether the host must run some nodes of a model, or its inputs are no numbers."""
    graph = model.proto.graph
    if any(kind_of_type(value.type) != TENSOR for value in (*graph.input, *graph.output)):
        return True
    functions = (node for function in model.proto.functions for node in function.node)
    return has_host_parts(graph) or any(map(_is_host_inside, functions))


def has_host_parts(graph: GraphProto) -> bool:
    """Return whether anything in a graph, or in a graph of its nodes, is not for compiled code."""
    if any(tensor.data_type == TensorProto.STRING for tensor in graph.initializer):
        return True
    return any(map(_is_host_inside, graph.node))


def is_for_host(node: NodeProto) -> bool:
    """Return whether the host runs a node whatever it is given; string labels are a step more."""
    return _is_always_host(node) and not is_bounded(node)


def _is_host_inside(node: NodeProto) -> bool:
    return _is_always_host(node) or any(map(has_host_parts, graphs_of(node)))


def _is_always_host(node: NodeProto) -> bool:
    known = HOST_OPS.get(node.op_type) if node.domain in HOST_DOMAINS else None
    return (known is not None and known.always) or _makes_strings(node)


def _makes_strings(node: NodeProto) -> bool:
    """Return whether a Constant holds strings, a Cast makes them, or labels are."""
    if node.domain == ML_DOMAIN or node.op_type == "TfIdfVectorizer":
        return any(map(_holds_strings, node.attribute))
    if node.op_type not in ("Constant", "Cast") or node.domain not in MAIN_DOMAINS:
        return False
    attrs = Attributes(node)
    value = attrs.tensor("value")
    return (
        (node.op_type == "Cast" and attrs.int("to") == TensorProto.STRING)
        or (value is not None and value.data_type == TensorProto.STRING)
        or "value_string" in attrs
        or "value_strings" in attrs
    )


def _holds_strings(attribute: AttributeProto) -> bool:
    if attribute.type == AttributeProto.TENSOR:
        return attribute.t.data_type == TensorProto.STRING
    return len(attribute.strings) > 0 and attribute.name != "nodes_modes"


def graphs_of(node: NodeProto) -> Iterator[GraphProto]:
    """Yield the graphs in a node."""
    return (entry.g for entry in node.attribute if entry.type == AttributeProto.GRAPH)


def find_kinds(graph: GraphProto, known: Mapping[str, str]) -> tuple[Kinds, set[int]]:
    """Return the kind of each value, and the places of the nodes that run on the host.

    `known` are those of inputs and of values from outside; what is not there is a tensor.
    """
    kinds: Kinds = dict(known)
    kinds |= {t.name: STRING for t in graph.initializer if t.data_type == TensorProto.STRING}
    on_host: set[int] = set()
    for place, node in enumerate(graph.node):
        given = [kinds.get(name, TENSOR) for name in node.input]
        inner = [_kinds_inside(node, body, given, kinds) for body in graphs_of(node)]
        if not _is_always_host(node) and not any(found for _, found in inner):
            if all(kind == TENSOR for kind in given):
                continue
        on_host.add(place)
        kinds |= _results(node, given, [outputs for outputs, _ in inner])
    return kinds, on_host


def _kinds_inside(
    node: NodeProto, body: GraphProto, given: list[str], outer: Mapping[str, str]
) -> tuple[list[str], bool]:
    """Return the kinds of a body's outputs, and whether the node must run on the host for it."""
    known = dict(outer) | body_inputs(node, body, given)
    kinds, on_host = find_kinds(body, known)
    outputs = [kinds.get(value.name, TENSOR) for value in body.output]
    return outputs, bool(on_host) or any(kind != TENSOR for kind in outputs)


def body_inputs(node: NodeProto, body: GraphProto, given: list[str]) -> Kinds:
    """Return the kinds of a body's inputs, of those of the node's."""
    names = [value.name for value in body.input]
    if node.op_type == "SequenceMap":
        given = [kind.removeprefix(SEQUENCE) for kind in given]
    return dict(zip(names, given, strict=False))  # of Loop: count, condition, states, as outside


def _results(node: NodeProto, given: list[str], inner: list[list[str]]) -> Kinds:
    names = list(node.output)
    if inner and node.op_type in ("If", "Loop", "Scan", "SequenceMap"):
        outputs = inner[0][1:] if node.op_type == "Loop" else inner[0]
        prefix = SEQUENCE if node.op_type == "SequenceMap" else ""
        return {n: prefix + kind for n, kind in zip(names, outputs, strict=False) if n}
    known = HOST_OPS.get(node.op_type)
    if known is None:
        return {}
    first, *others = names
    kind = known.kind(Attributes(node), given)
    found = {first: kind} if first else {}
    return found | ({n: kind for n in others if n} if node.op_type == "Split" else {})
