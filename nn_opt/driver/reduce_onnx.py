"""What `--reduce=CMD -o FILE.onnx` does with a model: nodes go, inputs come in, sizes shrink."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TensorShapeProto,
    ValueInfoProto,
    helper,
)

from nn_opt.driver.arguments import Options
from nn_opt.driver.checks import Check, make_check
from nn_opt.driver.reduce import Action, Edit, Weight, reduce
from nn_opt.frontends.onnx import read_model
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.files import write_bytes

onnx: Any = import_module("onnx")  # whose functions are typed in part


def reduce_file(options: Options) -> None:
    """Reduce the model that the options name to the file that they name.

    Raises: DiagnosticError for an input that is no model, or passes, which work on IR.
    """
    if not options.input.endswith(".onnx"):
        raise DiagnosticError(
            f"{options.input}: error: --reduce to an ONNX model needs one, expected FILE.onnx"
        )
    if options.passes:
        problem = "error: --reduce to an ONNX model runs no passes"
        raise DiagnosticError(f"{problem}\n  hint: with -o FILE.mlir they run before")
    assert options.reduce is not None, "the caller saw it"
    write_bytes(options.output, reduce_model(options.input, options.reduce))


def reduce_model(path: str, command: str) -> bytes:
    """Return the file of a model that the command accepts, and none of whose edits it accepts.

    The command is given a `.onnx` file. Every candidate passes ONNX's checker first.
    Raises: DiagnosticError if the file is no valid model, or the command refuses it.
    """
    read_model(path)  # words what is wrong with a file that is no model
    model = onnx.load(path)
    try:
        onnx.checker.check_model(path)
    except onnx.checker.ValidationError as error:
        problem = str(error).split("\n")[0]
        raise DiagnosticError(f"{path}: error: the model is not valid: {problem}") from error
    with make_check("--reduce", command) as check:
        small = reduce(model, _Files(check, check.folder / "model.onnx"), Models())
    return small.SerializeToString(deterministic=True)


class _Files:
    """The check command, given models."""

    def __init__(self, check: Check, path: Path) -> None:
        self.check, self.path = check, path

    @property
    def runs(self) -> int:
        """How often the command ran."""
        return self.check.runs

    def accepts(self, subject: ModelProto) -> bool:
        write_bytes(str(self.path), subject.SerializeToString(deterministic=True))
        return self.check.accepts_file(str(self.path))


class Models:
    """ONNX models: nodes weigh most, then values, then elements, then bytes."""

    @property
    def edits(self) -> Mapping[str, Edit]:
        """What can be made smaller."""
        return EDITS

    def copy(self, subject: ModelProto) -> ModelProto:
        model = ModelProto()
        model.CopyFrom(subject)
        return model

    def text(self, subject: ModelProto) -> bytes:
        """Return the bytes of a model after what nothing reads is gone and shapes are known."""
        _prune(subject.graph)
        del subject.graph.value_info[:]
        for output in subject.graph.output:
            output.type.tensor_type.ClearField("shape")
        inferred = onnx.shape_inference.infer_shapes(subject, strict_mode=True, data_prop=True)
        subject.graph.value_info.extend(inferred.graph.value_info)
        for output, known in zip(subject.graph.output, inferred.graph.output, strict=True):
            output.CopyFrom(known)
        onnx.checker.check_model(subject, full_check=True)
        return subject.SerializeToString(deterministic=True)

    def weigh(self, subject: ModelProto, text: str | bytes) -> Weight:
        graph = subject.graph
        values = sum(len(node.input) + len(node.output) for node in graph.node)
        values += len(graph.output)
        return len(graph.node), values, _elements(graph), len(text)


def _elements(graph: GraphProto) -> int:
    """Return how many elements inputs and weights have; an unknown size counts as 2."""
    shapes = [[*tensor.dims] for tensor in graph.initializer]
    shapes += [
        [dim.dim_value if dim.HasField("dim_value") else 2 for dim in _dims(value)]
        for value in graph.input
    ]
    total = 0
    for shape in shapes:
        count = 1
        for size in shape:
            count *= size
        total += count
    return total


def _dims(value: ValueInfoProto) -> list[TensorShapeProto.Dimension]:
    return list(value.type.tensor_type.shape.dim)


def _prune(graph: GraphProto) -> None:
    """Erase nodes, weights and inputs that no output depends on."""
    wanted = {value.name for value in graph.output}
    kept: list[NodeProto] = []
    for node in reversed(graph.node):
        if wanted.intersection(node.output):
            kept.append(node)
            wanted.update(_read(node))
    nodes = list(reversed(kept))
    del graph.node[:]
    graph.node.extend(nodes)
    for values in (graph.initializer, graph.input):
        for k in reversed(range(len(values))):
            if values[k].name not in wanted:
                del values[k]


def _read(node: NodeProto) -> Iterator[str]:
    """Yield what a node and the graphs in it read."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                yield from _read(inner)
            yield from (value.name for value in graph.output)


def _types(graph: GraphProto) -> dict[str, ValueInfoProto]:
    """Return the values of known type and rank, by name."""
    known = (*graph.input, *graph.output, *graph.value_info)
    return {v.name: v for v in known if v.type.tensor_type.HasField("shape")}


def drop_outputs(model: ModelProto) -> list[Action]:
    """Drop one of several results."""
    outputs = model.graph.output
    count = len(outputs) if len(outputs) > 1 else 0
    return [partial(outputs.__delitem__, k) for k in range(count)]


def end_early(model: ModelProto) -> list[Action]:
    """Make the results of a node those of the model."""
    known = _types(model.graph)
    nodes = [node for node in model.graph.node if set(filter(None, node.output)) <= known.keys()]
    return [partial(_end_at, model.graph, node, known) for node in nodes]


def _end_at(graph: GraphProto, node: NodeProto, known: dict[str, ValueInfoProto]) -> None:
    del graph.output[:]
    graph.output.extend(known[name] for name in filter(None, node.output))


def begin_late(model: ModelProto) -> list[Action]:
    """Make the results of a node inputs of the model."""
    known = _types(model.graph)
    return [partial(_begin_at, model.graph, node.output, known) for node in model.graph.node]


def _begin_at(graph: GraphProto, names: Iterable[str], known: dict[str, ValueInfoProto]) -> None:
    node = next(node for node in graph.node if list(node.output) == list(names))
    graph.input.extend(known[name] for name in filter(None, names))
    graph.node.remove(node)
    for output in graph.output:
        assert output.name not in names, "an output would be an input"


def bypass_nodes(model: ModelProto) -> list[Action]:
    """Let the readers of a node read one of its inputs, if that has the same type and shape."""
    known = _types(model.graph)
    types = {
        name: value.type.SerializeToString(deterministic=True) for name, value in known.items()
    }
    for tensor in model.graph.initializer:
        type_ = helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
        types[tensor.name] = type_.SerializeToString(deterministic=True)
    return [
        partial(_bypass, model.graph, node.output[0], source)
        for node in model.graph.node
        for source in dict.fromkeys(node.input)
        if source in types and types[source] == types.get(node.output[0])
    ]


def _bypass(graph: GraphProto, name: str, source: str) -> None:
    assert name not in {value.name for value in graph.output}, "a result keeps its node"
    for node in graph.node:
        for k, read in enumerate(node.input):
            if read == name:
                node.input[k] = source


def free_weights(model: ModelProto) -> list[Action]:
    """Make a large weight an input, which has no bytes in the file."""
    return [
        partial(_free, model.graph, tensor.name)
        for tensor in model.graph.initializer
        if tensor.dims and tensor.data_type == TensorProto.FLOAT
    ]


def _free(graph: GraphProto, name: str) -> None:
    tensor = next(tensor for tensor in graph.initializer if tensor.name == name)
    if name not in {value.name for value in graph.input}:
        value = helper.make_tensor_value_info(name, tensor.data_type, list(tensor.dims))
        graph.input.append(value)
    graph.initializer.remove(tensor)


def drop_inputs(model: ModelProto) -> list[Action]:
    """Leave out an optional input of a node: the last one."""
    return [partial(node.input.__delitem__, -1) for node in model.graph.node if len(node.input) > 1]


def drop_attributes(model: ModelProto) -> list[Action]:
    """Let an attribute of a node have its default."""
    return [
        partial(node.attribute.remove, attribute)
        for node in model.graph.node
        for attribute in node.attribute
    ]


def shrink_inputs(model: ModelProto) -> list[Action]:
    """Make a size of an input 1, or half of what it is; an unknown one is 1."""
    actions: list[Action] = []
    for value in model.graph.input:
        for dim in _dims(value):
            if not dim.HasField("dim_value"):
                actions.append(partial(setattr, dim, "dim_value", 1))
            elif dim.dim_value > 1:
                sizes = {dim.dim_value - 1, dim.dim_value // 2, 1}
                actions += [partial(setattr, dim, "dim_value", size) for size in sorted(sizes)]
    return actions


def shrink_sizes(model: ModelProto) -> list[Action]:
    """Make a size that occurs in several inputs 1, or half of what it is, in all of them."""
    sizes = {dim.dim_value for value in model.graph.input for dim in _dims(value)}
    return [
        partial(_resize, model.graph, size, smaller)
        for size in sorted(sizes)
        if size > 1
        for smaller in sorted({1, size // 2, size - 1})
    ]


def _resize(graph: GraphProto, size: int, smaller: int) -> None:
    for value in graph.input:
        for dim in _dims(value):
            if dim.dim_value == size:
                dim.dim_value = smaller


def drop_notes(model: ModelProto) -> list[Action]:
    """Drop what is noted on the model without being a part of it."""
    fields = ("doc_string", "producer_name", "producer_version", "domain", "metadata_props")
    actions: list[Action] = [partial(model.ClearField, name) for name in (*fields, "functions")]
    actions += [partial(node.ClearField, "doc_string") for node in model.graph.node]
    actions += [partial(node.ClearField, "metadata_props") for node in model.graph.node]
    return [*actions, partial(_drop_operator_sets, model)]


def _drop_operator_sets(model: ModelProto) -> None:
    used = {node.domain for node in model.graph.node} | {""}
    for entry in [entry for entry in model.opset_import if entry.domain not in used]:
        model.opset_import.remove(entry)


EDITS: dict[str, Edit] = {
    "ends": end_early,
    "outputs": drop_outputs,
    "beginnings": begin_late,
    "nodes": bypass_nodes,
    "weights": free_weights,
    "inputs": drop_inputs,
    "attributes": drop_attributes,
    "sizes": shrink_inputs,
    "equal sizes": shrink_sizes,
    "notes": drop_notes,
}
