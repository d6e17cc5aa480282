"""Builds the graph dialect's module from an ONNX model."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from functools import cached_property, partial
from itertools import zip_longest
from typing import Any

from numpy.typing import ArrayLike, NDArray
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto
from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from nn_opt.frontends.onnx.baking import baked
from nn_opt.frontends.onnx.bounded import bounded
from nn_opt.frontends.onnx.branches import chosen, is_if, key_of, names_in, taken_branch
from nn_opt.frontends.onnx.converters import converter_of
from nn_opt.frontends.onnx.evaluation import Evaluator, NeedsHost, NeedsValue, Varies
from nn_opt.frontends.onnx.functions import without_functions
from nn_opt.frontends.onnx.node import BadNode, HostOnly, Node, UnknownValue, Unsupported, constant
from nn_opt.frontends.onnx.reader import (
    Model,
    Source,
    check_model,
    check_opset,
    read_model,
)
from nn_opt.frontends.onnx.scopes import Scope
from nn_opt.frontends.onnx.signature import (
    MAX_ELEMENTS,
    InputSpec,
    bind_shapes,
    describe_inputs,
)
from nn_opt.frontends.onnx.structure import live_nodes, node_label
from nn_opt.frontends.onnx.support import operator_key, reasons, require_supported
from nn_opt.frontends.onnx.weights import array_of_tensor
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.locations import file_line, located, named
from nn_opt.ir.types import element_type, mlir_type, shape_of, tensor_type

# What converters, shape functions and the interpreter raise for a node that makes no sense.
FAULTS = (BadNode, Unsupported, HostOnly, ValueError, IndexError, ArithmeticError, VerifyException)


def import_model(
    source: Source,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    values: Mapping[str, ArrayLike] | None = None,
) -> ModuleOp:
    """Return the model as a module of the graph dialect, its sizes all known.

    `dims` binds symbolic sizes by their name, `shapes` whole input shapes by the input's name.
    `values` are inputs, or what nodes compute, that shall be constants of the module.
    Raises: DiagnosticError for a model that is broken, unsupported or not fully bound; NeedsValue
    if what it computes depends on a value that only a run gives.
    """
    model = prepared(source)
    if values:
        model = baked(model, values)
    inputs = describe_inputs(model)
    bound = bind_shapes(model, inputs, dims or {}, shapes or {})
    specs = [InputSpec(i.name, i.dtype, shape) for i, shape in zip(inputs, bound, strict=True)]
    return import_part(model, specs)


def prepared(source: Source, host: Container[str] = ()) -> Model:
    """Return a model that is checked and has no calls of functions.

    `host` are operators that may be there, since the host runs them.
    Raises: DiagnosticError if it is broken or unsupported.
    """
    model = read_model(source)
    check_opset(model)
    require_supported(model, host)
    check_model(model)
    return bounded(_expanded(model, host))


def import_part(model: Model, inputs: Sequence[InputSpec]) -> ModuleOp:
    """Return what computes a prepared model's outputs from inputs of known shapes.

    Raises: DiagnosticError for what is broken or unsupported; NeedsValue as `import_model` does.
    """
    block = Block(arg_types=[tensor_type(i.sizes, mlir_type(i.dtype)) for i in inputs])
    places = Places(model)
    for spec, argument in zip(inputs, block.args, strict=True):
        argument.location = places.of_value(spec.name)
    with located(places.file):
        builder = _Builder(model, block, places)
        for spec, argument in zip(inputs, block.args, strict=True):
            builder.root.values[spec.name] = argument
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


def _expanded(model: Model, host: Container[str]) -> Model:
    """Return the model without calls; what their bodies hold is checked like the rest."""
    expanded = without_functions(model)
    if expanded is not model:
        require_supported(expanded, host)
    return expanded


class _Builder:
    """Converts the nodes of the model's graph, and of graphs in them, in order."""

    def __init__(self, model: Model, block: Block, places: Places):
        self.model = model
        self.places = places
        self.root = Scope(model.proto.graph, dict(model.initializers), block)
        self.evaluator = Evaluator()
        self.choices: dict[str, bool] = {}  # of the model's own Ifs, by their first result

    def build(self) -> list[SSAValue]:
        with ImplicitBuilder(self.root.block):
            results = self._nodes(self.root)
            ReturnOp(*results)
        return results

    def _nodes(self, scope: Scope) -> list[SSAValue]:
        """Convert all nodes that the outputs of a graph need; return the outputs."""
        for index in live_nodes(scope.graph):
            node = scope.graph.node[index]
            label = scope.prefix + node_label(node, index)
            line = index if scope.line is None else scope.line
            if scope is not self.root:
                self._require_converter(scope, node, label)
            self._add(scope, node, label, line)
        return [self._value(scope, output.name) for output in scope.graph.output]

    def _add(self, scope: Scope, node: NodeProto, label: str, line: int) -> None:
        with located(self.places.of_node(label, line)):
            if is_if(node):
                self._take_branch(scope, node, label, line)
            else:
                self._convert(scope, node, label, line)

    def _take_branch(self, scope: Scope, proto: NodeProto, label: str, line: int) -> None:
        """Convert the branch that the condition of an If takes; both if it varies in a loop."""
        node = self._node(scope, proto, label, line)
        try:
            condition = node.known(0)
            if condition is None or condition.size != 1:
                raise BadNode("expected a condition of one element")
        except FAULTS as error:
            failure = self._failure(scope, proto, label, error)
            if not isinstance(failure, Varies):
                raise failure from None
            self._take_both(scope, node, line)
            return
        taken = bool(condition.reshape(-1)[0])
        if scope is self.root:
            self.choices[key_of(proto)] = taken
        branch = taken_branch(proto, label, taken, self._used)
        scope.weights.update(branch.weights)
        for inner, name in branch.nodes:
            self._require_converter(scope, inner, name)
            self._add(scope, inner, name, line)

    def _take_both(self, scope: Scope, node: Node, line: int) -> None:
        """Convert both branches of an If in a step of a loop, and choose between their results."""
        branches = [node.attrs.graph(name) for name in ("then_branch", "else_branch")]
        try:
            with ImplicitBuilder(scope.block):
                results = chosen(node[0], *(node.inline(branch, []) for branch in branches))
        except FAULTS as error:
            raise self._failure(scope, node.proto, node.label, error) from None
        for name, value in zip(node.outputs, results, strict=False):
            if name:
                self._define(scope, node.proto, node.label, name, value)

    def _require_converter(self, scope: Scope, node: NodeProto, label: str) -> None:
        """Raise a diagnostic for a node of a graph in a node that is not supported."""
        if problem := next(iter(reasons(self.model, node)), None):
            raise self._failure(scope, node, label, Unsupported(problem))

    @cached_property
    def _used(self) -> set[str]:
        return names_in(self.model.proto.graph)

    def _inlined(
        self,
        scope: Scope,
        label: str,
        line: int,
        graph: GraphProto,
        arguments: Sequence[SSAValue],
        block: Block | None = None,
    ) -> list[SSAValue]:
        """Convert a graph in a node, its inputs bound, at the end of a block; return its outputs.

        Raises: BadNode if the graph has another number of inputs.
        """
        weights = {tensor.name: tensor for tensor in graph.initializer}
        inner = Scope(graph, weights, block or scope.block, scope, f"{label}/", line)
        names = [value.name for value in graph.input]
        if len(names) != len(arguments):
            problem = f"graph '{graph.name}' has {len(names)} inputs, expected {len(arguments)}"
            raise BadNode(problem)
        inner.values.update(zip(names, arguments, strict=True))
        with ImplicitBuilder(inner.block):
            return self._nodes(inner)

    def _value(self, scope: Scope, name: str) -> SSAValue:
        scope = scope.defining(name)
        if name not in scope.values:
            with located(self.places.of_value(name)), ImplicitBuilder(self.root.block):
                scope.values[name] = constant(self._array(scope.weights[name]))
        return scope.values[name]

    def _array(self, tensor: TensorProto) -> NDArray[Any]:
        return array_of_tensor(tensor, self.model)

    def _node(self, scope: Scope, proto: NodeProto, label: str, line: int) -> Node:
        operands = [self._value(scope, name) if name else None for name in proto.input]
        version = self.model.opsets[operator_key(proto)[0]]
        inline = partial(self._inlined, scope, label, line)
        return Node(proto, label, version, operands, self.evaluator.array_of, self._array, inline)

    def _convert(self, scope: Scope, proto: NodeProto, label: str, line: int) -> None:
        node = self._node(scope, proto, label, line)
        last = scope.block.last_op
        try:
            converter = converter_of(operator_key(proto))
            assert converter is not None, "unsupported operators are refused before"
            results = converter.convert(node)
            _verify(scope.block, last)
        except FAULTS as error:
            raise self._failure(scope, proto, label, error) from None
        except Varies as error:
            if scope is not self.root:
                raise
            raise NeedsHost(self.model, error.reason, key_of(proto), self.choices) from None
        results = [results] if isinstance(results, SSAValue) else results
        for name, value in zip_longest(proto.output, results):
            if name:
                self._define(scope, proto, label, name, value)

    def _define(
        self, scope: Scope, proto: NodeProto, label: str, name: str, value: SSAValue | None
    ) -> None:
        if value is None:
            raise self._failure(
                scope, proto, label, Unsupported(f"output '{name}' is not supported")
            )
        if math.prod(shape_of(value)) > MAX_ELEMENTS:
            absurd = BadNode(f"output '{name}' has the absurd shape {list(shape_of(value))}")
            raise self._failure(scope, proto, label, absurd)
        scope.values[name] = value

    def _failure(
        self, scope: Scope, proto: NodeProto, label: str, error: Exception
    ) -> DiagnosticError:
        text = str(error).removeprefix(f"node '{label}': error: ")
        kind = "unsupported " if isinstance(error, Unsupported) else ""
        problem = f"node '{label}': {kind}{proto.op_type}: {text}"
        if isinstance(error, UnknownValue):
            need = self._unknown(scope, error.name, problem)
            if isinstance(need, NeedsValue) and scope is self.root:
                need.node, need.operator = key_of(proto), proto.op_type
            return need
        if not isinstance(error, HostOnly):
            return self.model.error(problem)
        if scope is not self.root:
            return Varies(self.model, problem)
        return NeedsHost(self.model, problem, key_of(proto), self.choices)

    def _unknown(self, scope: Scope, name: str, problem: str) -> DiagnosticError:
        """Return what is raised for a value that must be known: the model's own values may be."""
        if scope.defining(name) is self.root:
            return NeedsValue(self.model, problem, name, self.choices)
        names = {value: name for name, value in self.root.values.items()}
        found = self.evaluator.origins(self._value(scope, name), names)
        if found and all(value in names and _is_integer(value) for value in found):
            first = min(names[value] for value in found)
            return NeedsValue(self.model, problem, first, self.choices)
        return Varies(self.model, problem)


def _is_integer(value: SSAValue) -> bool:
    return isinstance(element_type(value), IntegerType)


def _verify(block: Block, last: Operation | None) -> None:
    """Verify the ops made since `last`."""
    op = block.first_op if last is None else last.next_op
    while op is not None:
        op.verify()
        op = op.next_op


def _drop_dead(block: Block) -> None:
    """Erase what no result needs: shape arithmetic that was evaluated, and left-out outputs."""
    for op in reversed(list(block.walk())):
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
