"""Builds the graph dialect's module from an ONNX model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto
from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import (
    ArrayAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from nn_opt.frontends.onnx.converters import CONVERTERS
from nn_opt.frontends.onnx.evaluation import Evaluator
from nn_opt.frontends.onnx.functions import without_functions
from nn_opt.frontends.onnx.node import BadNode, Node, Unsupported, constant
from nn_opt.frontends.onnx.reader import (
    Model,
    Source,
    check_model,
    check_opset,
    read_model,
)
from nn_opt.frontends.onnx.signature import MAX_ELEMENTS, bind_shapes, describe_inputs
from nn_opt.frontends.onnx.structure import live_nodes, node_label
from nn_opt.frontends.onnx.support import operator_key, require_supported
from nn_opt.frontends.onnx.weights import array_of_tensor
from nn_opt.ir.locations import file_line, located, named
from nn_opt.ir.types import mlir_type, shape_of, tensor_type

# What converters, shape functions and the interpreter raise for a node that makes no sense.
FAULTS = (BadNode, Unsupported, ValueError, IndexError, ArithmeticError, VerifyException)


def import_model(
    source: Source,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> ModuleOp:
    """Return the model as a module of the graph dialect, its sizes all known.

    `dims` binds symbolic sizes by their name, `shapes` whole input shapes by the input's name.
    Raises: DiagnosticError for a model that is broken, unsupported or not fully bound.
    """
    model = read_model(source)
    check_opset(model)
    require_supported(model)
    check_model(model)
    model = _expanded(model)
    inputs = describe_inputs(model)
    bound = bind_shapes(model, inputs, dims or {}, shapes or {})
    types = [tensor_type(s, mlir_type(i.dtype)) for i, s in zip(inputs, bound, strict=True)]
    block = Block(arg_types=types)
    places = Places(model)
    for spec, argument in zip(inputs, block.args, strict=True):
        argument.location = places.of_value(spec.name)
    with located(places.file):
        builder = _Builder(model, block, places)
        for spec, argument in zip(inputs, block.args, strict=True):
            builder.values[spec.name] = argument
        results = builder.build()
        _drop_dead(block)
        return _module(block, [spec.name for spec in inputs], results, model.proto.graph.output)


class Places:
    """The locations of a model's nodes and values: a name, at a line of the model's file.

    The line of a node is its place in the model's list of nodes, from 1 on; what is no node has
    line 0. A file of a model has no lines: these serve debuggers and profilers.
    """

    def __init__(self, model: Model):
        self._name = StringAttr(model.label)
        self._origins = model.origins
        self.file = file_line(self._name, 0, 0)

    def of_node(self, label: str, index: int) -> LocationAttr:
        """Return the location of a node; one that was inlined is where its call is."""
        index = self._origins[index] if self._origins else index
        return named(label, file_line(self._name, index + 1, 1))

    def of_value(self, name: str) -> LocationAttr:
        """Return the location of an input or a weight."""
        return named(name, self.file)


def _expanded(model: Model) -> Model:
    """Return the model without calls; what their bodies hold is checked like the rest."""
    expanded = without_functions(model)
    if expanded is not model:
        require_supported(expanded)
    return expanded


class _Builder:
    """Converts nodes in order; `values` maps ONNX names to what was built for them."""

    def __init__(self, model: Model, block: Block, places: Places):
        self.model = model
        self.places = places
        self.block = block
        self.values: dict[str, SSAValue] = {}
        self.weights = model.initializers
        self.evaluator = Evaluator(block)

    def build(self) -> list[SSAValue]:
        graph = self.model.proto.graph
        with ImplicitBuilder(self.block):
            for index in live_nodes(graph):
                node = graph.node[index]
                label = node_label(node, index)
                with located(self.places.of_node(label, index)):
                    self._convert(node, label)
            results = [self._value(output.name) for output in graph.output]
            ReturnOp(*results)
        return results

    def _value(self, name: str) -> SSAValue:
        if name not in self.values:
            with located(self.places.of_value(name)):
                self.values[name] = constant(self._array(self.weights[name]))
        return self.values[name]

    def _array(self, tensor: TensorProto) -> NDArray[Any]:
        return array_of_tensor(tensor, self.model)

    def _convert(self, proto: NodeProto, label: str) -> None:
        operands = [self._value(name) if name else None for name in proto.input]
        domain, _ = key = operator_key(proto)
        version = self.model.opsets[domain]
        last = self.block.last_op
        node = Node(proto, label, version, operands, self.evaluator.array_of, self._array)
        try:
            results = CONVERTERS[key].convert(node)
            self._verify(last)
        except FAULTS as error:
            raise self._failure(proto, label, error) from None
        results = [results] if isinstance(results, SSAValue) else results
        for name, value in zip_longest(proto.output, results):
            if name:
                self._define(proto, label, name, value)

    def _define(self, proto: NodeProto, label: str, name: str, value: SSAValue | None) -> None:
        if value is None:
            raise self._failure(proto, label, Unsupported(f"output '{name}' is not supported"))
        if math.prod(shape_of(value)) > MAX_ELEMENTS:
            absurd = BadNode(f"output '{name}' has the absurd shape {list(shape_of(value))}")
            raise self._failure(proto, label, absurd)
        self.values[name] = value

    def _verify(self, last: Operation | None) -> None:
        """Verify the ops made since `last`."""
        op = self.block.first_op if last is None else last.next_op
        while op is not None:
            op.verify()
            op = op.next_op

    def _failure(self, proto: NodeProto, label: str, error: Exception):
        text = str(error).removeprefix(f"node '{label}': error: ")
        kind = "unsupported " if isinstance(error, Unsupported) else ""
        return self.model.error(f"node '{label}': {kind}{proto.op_type}: {text}")


def _drop_dead(block: Block) -> None:
    """Erase what no result needs: shape arithmetic that was evaluated, and left-out outputs."""
    for op in reversed(list(block.ops)):
        if op.results and not any(result.uses for result in op.results):
            op.detach()
            op.erase()


def _module(
    block: Block,
    arguments: Sequence[str],
    results: Sequence[SSAValue],
    outputs: Sequence[ValueInfoProto],
) -> ModuleOp:
    types = ([arg.type for arg in block.args], [value.type for value in results])
    function = FuncOp("main", types, Region(block))
    function.attributes["arg_names"] = ArrayAttr(map(StringAttr, arguments))
    function.attributes["result_names"] = ArrayAttr(StringAttr(value.name) for value in outputs)
    return ModuleOp([function])
