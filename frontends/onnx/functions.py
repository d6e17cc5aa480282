"""Replaces calls of a model's own functions by their bodies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import onnx
from onnx import ModelProto, NodeProto, inliner

from nn_opt.frontends.onnx.reader import Model, skeleton
from nn_opt.frontends.onnx.structure import node_label

MOST_NODES = 2**20


def without_functions(model: Model) -> Model:
    """Return the model with every call replaced by the body of what it calls."""
    if model.proto.functions:
        _check_size(model)
        bare = skeleton(model)
        _agree_on_versions(bare)
        model = _with_nodes(model, bare, inliner.inline_local_functions(bare))
    return model


def _agree_on_versions(bare: ModelProto) -> None:
    """Let functions of another operator set import the model's, if their operators are the same.

    Else their calls stay, and are refused.
    """
    versions = {entry.domain: entry.version for entry in bare.opset_import}
    for function in bare.functions:
        for entry in function.opset_import:
            version = versions.get(entry.domain, entry.version)
            nodes = [node for node in _all_nodes(function.node) if node.domain == entry.domain]
            if all(_is_same(node, entry.version, version) for node in nodes):
                entry.version = version


def _all_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from _all_nodes(attribute.g.node)


def _is_same(node: NodeProto, one: int, other: int) -> bool:
    """Return whether an operator has the same operands and attributes in two operator sets."""
    if one == other:
        return True
    try:
        schemas = [onnx.defs.get_schema(node.op_type, v, node.domain) for v in (one, other)]
    except onnx.defs.SchemaError:
        return False
    first, second = map(_signature, schemas)
    return first == second


def _signature(schema: onnx.defs.OpSchema) -> tuple[object, ...]:
    values = tuple((v.name, v.option) for v in (*schema.inputs, *schema.outputs))
    attributes = {
        name: (attribute.type, attribute.required, attribute.default_value.SerializeToString())
        for name, attribute in schema.attributes.items()
    }
    return schema.deprecated, values, attributes


def _check_size(model: Model) -> None:
    """Raise a diagnostic if the bodies of calls hold more nodes than a model should.

    The ONNX checker has refused calls in a cycle.
    """
    functions = {(function.domain, function.name): function for function in model.proto.functions}
    sizes: dict[tuple[str, str], int] = {}

    def size(nodes: Iterable[NodeProto]) -> int:
        return sum(of_call((node.domain, node.op_type)) for node in nodes)

    def of_call(called: tuple[str, str]) -> int:
        if called not in functions:
            return 1
        if called not in sizes:
            sizes[called] = size(functions[called].node)
        return sizes[called]

    if (total := size(model.proto.graph.node)) > MOST_NODES:
        raise model.error(f"its functions expand to {total} nodes, more than {MOST_NODES}")


def _with_nodes(model: Model, before: ModelProto, after: ModelProto) -> Model:
    """Return the model with the inlined nodes, named after the call that they come from."""
    proto = ModelProto()
    proto.ir_version = model.proto.ir_version
    proto.opset_import.extend(after.opset_import)
    proto.graph.name = model.proto.graph.name
    proto.graph.input.extend(model.proto.graph.input)
    proto.graph.output.extend(model.proto.graph.output)
    proto.graph.initializer.extend(model.proto.graph.initializer)
    proto.graph.node.extend(after.graph.node)
    calls = _name_after_calls(before.graph.node, proto.graph.node)
    origins = tuple(model.origins[call] if model.origins else call for call in calls)
    return Model(proto, model.label, model.folder, model.weights, origins)


def _name_after_calls(before: Sequence[NodeProto], after: Sequence[NodeProto]) -> list[int]:
    """Name each inlined node `call/node`; return of which call each node is.

    Inlining keeps the order and the results of calls.
    """
    places: list[int] = []
    calls = iter(enumerate(before))
    index, call = next(calls)
    missing = set(filter(None, call.output))
    for node in after:
        places.append(index)
        if list(node.output) == list(call.output) and node.op_type == call.op_type:
            node.name = node_label(call, index)
        else:
            node.name = f"{node_label(call, index)}/{node.name or node.op_type}"
        missing.difference_update(node.output)
        if not missing:
            index, call = next(calls, (index, call))
            missing = set(filter(None, call.output))
    return places
