"""Reads a model (path, bytes or ModelProto) and checks that it is well formed."""

from __future__ import annotations

import mmap
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from nn_opt.frontends.onnx.foreign import Kind, of_folder, seems
from nn_opt.frontends.onnx.lists import with_stacked_lists
from nn_opt.frontends.onnx.structure import (
    check_structure,
    graph_texts,
    has_sparse,
    node_label,
    node_texts,
    order_of,
)
from nn_opt.frontends.onnx.wire import Malformed, Weights, cut_weights
from nn_opt.ir.diagnostics import DiagnosticError

OLDEST_OPSET = 1
MAIN_DOMAINS = ("", "ai.onnx")
ML_DOMAIN = "ai.onnx.ml"
# What onnxruntime's optimiser writes in the main operator set, of whatever version.
OF_ONNXRUNTIME = ("LayerNormalization", "SimplifiedLayerNormalization")
NOT_YET_DESCRIBED = ("MeanVarianceNormalization",)  # before opset 9


@dataclass(frozen=True)
class Model:
    """A parsed model, its name in messages and the folder that its external weights lie in."""

    proto: ModelProto
    label: str
    folder: Path | None
    weights: Weights = field(default_factory=Weights)  # the large ones, which `proto` only marks
    origins: tuple[int, ...] = ()  # for each node the one of the file, where calls were inlined
    shared: Mapping[str, TensorProto] = field(default_factory=dict[str, TensorProto])

    def error(self, problem: str, *, hint: str = "") -> DiagnosticError:
        """Return the diagnostic for a fault of this model."""
        text = f"{self.label}: error: {problem}"
        return DiagnosticError(f"{text}\n  hint: {hint}" if hint else text)

    @property
    def opsets(self) -> dict[str, int]:
        """The version of each operator set that the model imports; the main one is ''."""
        return {
            "" if entry.domain in MAIN_DOMAINS else entry.domain: entry.version
            for entry in self.proto.opset_import
        }

    @property
    def initializers(self) -> dict[str, TensorProto]:
        """The weights by name: the model's own, and those that it shares with another."""
        own = {tensor.name: tensor for tensor in self.proto.graph.initializer}
        return {**self.shared, **own}


Source = str | os.PathLike[str] | bytes | ModelProto | Model


def read_model(source: Source) -> Model:
    """Return the parsed model.

    Raises: DiagnosticError for a file that is missing, truncated or not an ONNX model.
    """
    match source:
        case Model():
            return source
        case ModelProto():
            return _with_graph(Model(source, source.graph.name or "<model>", None))
        case bytes():
            return _parse(source, "<bytes>", None)
        case _:
            return _read_file(Path(source))


def _read_file(path: Path) -> Model:
    try:
        with path.open("rb") as file:
            state = os.fstat(file.fileno())
            mapped = stat.S_ISREG(state.st_mode) and state.st_size  # else a pipe, say
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if mapped else file.read()
    except IsADirectoryError:
        raise _refused(Model(ModelProto(), str(path), None), of_folder(path)) from None
    except OSError as error:
        raise DiagnosticError(f"{path}: error: cannot read the model: {error.strerror}") from None
    return _parse(data, str(path), path.resolve().parent)


def _parse(data: bytes | mmap.mmap, label: str, folder: Path | None) -> Model:
    model = Model(ModelProto(), label, folder)
    try:
        model.proto.ParseFromString(cut_weights(memoryview(data), model.weights))
    except (DecodeError, Malformed):
        if kind := seems(data):
            raise _refused(model, kind) from None
        raise model.error(
            f"not an ONNX model, or a truncated one ({len(data)} bytes)",
            hint="an ONNX file is a serialised ModelProto, with graphs at most 32 deep in each"
            " other; download or export it again",
        ) from None
    if not model.proto.HasField("graph") and (kind := seems(data)):
        raise _refused(model, kind)
    return _with_graph(model)


def _refused(model: Model, kind: Kind) -> DiagnosticError:
    return model.error(f"not an ONNX model: {kind.said}", hint=kind.hint)


def _with_graph(model: Model) -> Model:
    if not model.proto.HasField("graph"):
        raise model.error("not an ONNX model: it holds no graph")
    if not all(isinstance(text, str) for text in _texts(model.proto)):
        raise model.error("not an ONNX model, or a damaged one: a name in it is not UTF-8 text")
    if has_sparse(model.proto):
        from nn_opt.frontends.onnx.sparse import with_dense

        model = with_dense(model)
    proto = with_stacked_lists(_in_order(model.proto))
    model = model if proto is model.proto else replace(model, proto=proto)
    if not all(is_declared(value) for value in proto.graph.output):
        from nn_opt.frontends.onnx.undeclared import with_declared_outputs

        model = with_declared_outputs(model)
    return model


def is_declared(value: ValueInfoProto) -> bool:
    """Return whether a value has a type, if a tensor's then with that of its elements."""
    kind = value.type.WhichOneof("value")
    return kind is not None and (kind != "tensor_type" or value.type.tensor_type.elem_type != 0)


def _in_order(proto: ModelProto) -> ModelProto:
    """Return the model with its nodes in an order in which they can be computed."""
    order = order_of(proto.graph)
    if order == list(range(len(order))):
        return proto
    nodes = [proto.graph.node[index] for index in order]
    copy = ModelProto()
    copy.CopyFrom(proto)
    del copy.graph.node[:]
    copy.graph.node.extend(nodes)
    return copy


def _texts(proto: ModelProto) -> Iterator[object]:
    yield from graph_texts(proto.graph)
    yield from (entry.domain for entry in proto.opset_import)
    for function in proto.functions:
        yield from (function.name, function.domain, *function.input, *function.output)
        yield from (text for node in function.node for text in node_texts(node))


def check_opset(model: Model) -> None:
    """Raise a diagnostic unless the main operator set is one that this front-end knows."""
    newest = onnx.defs.onnx_opset_version()
    version = model.opsets.get("")
    if version is None:
        if any(node.domain in MAIN_DOMAINS for node in model.proto.graph.node):
            raise model.error("the model imports no operator set of the main domain")
    elif not OLDEST_OPSET <= version <= newest:
        raise model.error(
            f"opset {version} is not supported, expected {OLDEST_OPSET} to {newest}",
            hint="convert the model with onnx.version_converter",
        )


def skeleton(model: Model) -> ModelProto:
    """Return the model with each weight turned into a graph input, so that copies stay small."""
    proto, graph = ModelProto(), model.proto.graph
    proto.ir_version = model.proto.ir_version
    proto.opset_import.extend(model.proto.opset_import)
    proto.functions.extend(model.proto.functions)
    bare = GraphProto(name=graph.name or "graph")
    bare.node.extend(graph.node)
    bare.output.extend(graph.output)
    weights = {tensor.name: tensor for tensor in graph.initializer}
    bare.input.extend(value for value in graph.input if value.name not in weights)
    for name, tensor in weights.items():
        dims = [dim for dim in tensor.dims]
        bare.input.append(onnx.helper.make_tensor_value_info(name, tensor.data_type, dims))
    proto.graph.CopyFrom(bare)
    return proto


def check_model(model: Model) -> None:
    """Raise a one-line diagnostic for a model that is not well formed."""
    check_structure(model.proto.graph, model.error)
    bare = skeleton(model)
    for value in (*bare.graph.input, *bare.graph.output):
        if value.type.HasField("tensor_type"):  # the checker wants a shape; runtimes do not
            value.type.tensor_type.shape.SetInParent()
    _excuse_deprecated(bare, model.opsets.get("", 0))
    for index, node in enumerate(bare.graph.node):
        _hide_external(node)
        node.name = node_label(node, index)
    try:
        onnx.checker.check_model(bare)  # pyright: ignore[reportUnknownMemberType]
    except (onnx.checker.ValidationError, UnicodeDecodeError) as error:
        raise model.error(f"the ONNX checker refuses {_in_one_line(str(error))}") from None


def _in_one_line(words: str) -> str:
    """Return what the checker says: first the complaint, further down which node it means."""
    first = next((line for line in words.splitlines() if line.strip()), "")
    node = re.search(r"Bad node spec for node\. Name: (.+) OpType: (\w+)", words)
    where = f"node '{node[1]}': {node[2]}" if node else "the model"
    return f"{where}: {first.strip()}"


def _hide_external(node: NodeProto) -> None:
    """Empty the external weights of graphs in a node: the checker knows not where they are."""
    for attribute in node.attribute:
        for tensor in attribute.g.initializer:
            if tensor.data_location == TensorProto.EXTERNAL:
                shape = [*tensor.dims]
                tensor.CopyFrom(TensorProto(name=tensor.name, data_type=tensor.data_type))
                tensor.dims.extend([0] * max(len(shape), 1))
        for inner in attribute.g.node:
            _hide_external(inner)


def _excuse_deprecated(bare: ModelProto, version: int) -> None:
    """Hide operators from the checker that it refuses only because another version has them."""
    nodes = [node for node in bare.graph.node if node.domain in MAIN_DOMAINS]
    names = {node.op_type for node in nodes}
    old = {name for name in names if _is_deprecated(name, version)}
    for node in nodes:
        if node.op_type in old:
            node.domain = "deprecated"
    bare.opset_import.add(domain="deprecated", version=1)


def _is_deprecated(name: str, version: int) -> bool:
    try:
        return onnx.defs.get_schema(name, version).deprecated
    except onnx.defs.SchemaError:
        # Else there is no operator of that version: the checker's to say.
        return name in OF_ONNXRUNTIME + NOT_YET_DESCRIBED
