"""A graph of which the host runs some nodes, and the regions of compiled code between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, TensorProto

from nn_opt.frontends.onnx.branches import key_of as key_name
from nn_opt.frontends.onnx.node import Attributes, BadNode, Unsupported
from nn_opt.frontends.onnx.reader import Model
from nn_opt.frontends.onnx.signature import TENSOR
from nn_opt.frontends.onnx.structure import needed_by, node_label
from nn_opt.frontends.onnx.support import operator_key
from nn_opt.frontends.onnx.weights import ELEMENT_DTYPES, array_of_tensor
from nn_opt.runtime.cache import key_of
from nn_opt.staged.cuts import Cut, Part
from nn_opt.staged.cutting import part_outputs, selected, with_branches
from nn_opt.staged.host import HOST_OPS
from nn_opt.staged.host.kinds import body_inputs, find_kinds
from nn_opt.staged.host.strings import strings_of
from nn_opt.staged.host.table import HOST_DOMAINS, Call, HostFault
from nn_opt.staged.partition import levels_of
from nn_opt.staged.regions import Region, Shop, Values

Array = NDArray[Any]
FAULTS = (HostFault, BadNode, Unsupported, ValueError, IndexError, TypeError, MemoryError)


class Plan:
    """What a graph does, in order: each step adds its results to the values."""

    def __init__(
        self, shop: Shop, key: str, model: Model, part: Part, kinds: Mapping[str, str]
    ) -> None:
        self.steps: list[Region | HostStep] = []
        found, on_host = find_kinds(model.proto.graph, kinds)
        for number, level in enumerate(levels_of(model, part, on_host)):
            if level.region.outputs:
                stamp = key_of([key, f"region {number}"])
                self.steps.append(_region(shop, stamp, model, level.region))
            for place in level.on_host:
                stamp = key_of([key, f"node {place}"])
                self.steps.append(HostStep(shop, stamp, model, place, found))

    def run(self, values: Values, threads: int) -> None:
        """Add the part's outputs to the values."""
        for step in self.steps:
            step.run(values, threads)


def _region(shop: Shop, key: str, model: Model, part: Part) -> Region:
    return Region(shop, key, part, lambda: selected(model, part.outputs, set(part.inputs), {}))


def host_step(region: Region, cut: Cut, key: str) -> HostStep:
    """Return the node at which a region is cut; its values are tensors."""
    model = with_branches(region.model, cut.choices)
    nodes = model.proto.graph.node
    place = next(k for k, node in enumerate(nodes) if key_name(node) == cut.node)
    return HostStep(region.shop, key, model, place, {})


class HostStep:
    """A node that the host runs."""

    def __init__(
        self, shop: Shop, key: str, model: Model, place: int, kinds: Mapping[str, str]
    ) -> None:
        node = model.proto.graph.node[place]
        origin = model.origins[place] if model.origins else place
        self.label = node_label(node, origin)
        self.name = f"{self.label}: {node.op_type}"
        self._node = node
        self._model = model
        self._weights = {n: t for n, t in model.initializers.items() if n in set(needed_by(node))}
        self._version = model.opsets.get(operator_key(node)[0], 0)
        self._run = self._operator(node)
        given = [kinds.get(name, TENSOR) for name in node.input]
        self.bodies = {
            entry.name: BodyPlan(shop, f"{key} {entry.name}", model, node, entry.g, given, kinds)
            for entry in node.attribute
            if entry.g.output
        }

    def _operator(self, node: NodeProto) -> Any:
        known = HOST_OPS.get(node.op_type) if node.domain in HOST_DOMAINS else None
        if known is None:
            raise self._fault("is not supported for strings, sequences or optionals")
        return known.run

    def run(self, values: Values, threads: int) -> None:
        """Add the node's results to the values."""
        node = self._node
        inputs = [self._value(name, values) if name else None for name in node.input]
        bodies = {name: body.bound(values, threads) for name, body in self.bodies.items()}
        call = Call(Attributes(node), self._version, inputs, len(node.output), bodies)
        try:
            results: Any = self._run(call)
        except FAULTS as error:
            raise self._fault(str(error)) from None
        made = cast("tuple[Any, ...]", results) if isinstance(results, tuple) else (results,)
        values.update(zip(node.output, map(_plain, made), strict=False))

    def _value(self, name: str, values: Values) -> Any:
        if name not in values and name in self._weights:
            tensor = self._weights[name]
            is_text = tensor.data_type == TensorProto.STRING
            values[name] = (
                self._strings(tensor) if is_text else array_of_tensor(tensor, self._model)
            )
        return values[name]

    def _strings(self, tensor: TensorProto) -> Array:
        try:
            return strings_of(tensor)
        except HostFault as error:
            raise self._fault(str(error)) from None

    def _fault(self, problem: str) -> Exception:
        return self._model.error(f"node '{self.label}': {self._node.op_type}: {problem}")


def _plain(value: Any) -> Any:
    """Return a result as compiled code takes it: arrays in row-major order."""
    if not isinstance(value, np.ndarray | np.generic):
        return value
    array = np.asarray(cast(Array, value))
    return array if array.flags.c_contiguous else array.copy()


class BodyPlan:
    """A graph in a node that the host runs, compiled as a model of its own."""

    def __init__(
        self,
        shop: Shop,
        key: str,
        model: Model,
        node: NodeProto,
        graph: GraphProto,
        given: list[str],
        outer: Mapping[str, str],
    ) -> None:
        self._inputs = [value.name for value in graph.input]
        self._outputs = [value.name for value in graph.output]
        self._types = [value.type.tensor_type for value in graph.output]
        inner = _inner_model(model, graph)
        names = dict.fromkeys(self._inputs)
        captured = dict.fromkeys(needed_by(node))
        self._captured = [n for n in captured if n not in inner.initializers and n not in names]
        part = Part((*names, *self._captured), tuple(self._outputs))
        kinds = {**outer, **body_inputs(node, graph, given)}
        self.plan = Plan(shop, key, inner, part, kinds)

    def bound(self, values: Values, threads: int) -> Bound:
        """Return the graph as it is run where the node stands."""
        return Bound(self, {n: values[n] for n in self._captured if n in values}, threads)

    def run(self, captured: Values, inputs: Sequence[Any], threads: int) -> list[Any]:
        """Return the graph's outputs."""
        values = dict(captured)
        values.update(zip(self._inputs, inputs, strict=True))
        self.plan.run(values, threads)
        return [values[name] for name in self._outputs]

    def nothing(self, index: int) -> Array:
        """Return what no run of the graph stacks of an output; unknown sizes are zero."""
        declared = self._types[index]
        sizes = [dim.dim_value for dim in declared.shape.dim]
        return np.zeros((0, *sizes), ELEMENT_DTYPES.get(declared.elem_type, np.dtype(object)))


class Bound:
    """A graph in a node, with what it reads from outside."""

    def __init__(self, body: BodyPlan, captured: Values, threads: int) -> None:
        self._body = body
        self._captured = captured
        self._threads = threads

    def __call__(self, *inputs: Any) -> list[Any]:
        return self._body.run(self._captured, inputs, self._threads)

    def nothing(self, index: int) -> Array:
        return self._body.nothing(index)


def _inner_model(model: Model, graph: GraphProto) -> Model:
    """Return the graph of a node as a model, which has the weights of those around it."""
    proto = ModelProto(ir_version=model.proto.ir_version)
    proto.opset_import.extend(model.proto.opset_import)
    proto.graph.name = graph.name
    proto.graph.node.extend(graph.node)
    part_outputs(proto.graph, [value.name for value in graph.output])
    own = {value.name for value in graph.input} | {n for node in graph.node for n in node.output}
    shared = {name: tensor for name, tensor in model.initializers.items() if name not in own}
    shared |= {tensor.name: tensor for tensor in graph.initializer}
    return Model(proto, model.label, model.folder, model.weights, (), shared)
