"""What a model comes from: file, bytes, protobuf, IR text or module; cheap until it is read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nn_opt.runtime.manifest import Dim, Manifest, TensorInfo

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from nn_opt.frontends.onnx import InputSpec
    from nn_opt.frontends.onnx.reader import Model

Dims = Mapping[str, int]
ShapeMap = Mapping[str, Sequence[int]]
TEXT_SUFFIXES = (".mlir", ".txt")


class Origin(Protocol):
    """A model before it is compiled."""

    def content(self) -> Iterator[bytes | str]:
        """Yield what tells this model from any other, without importing a compiler."""
        ...

    def places(self) -> Iterator[str]:
        """Yield what debug information tells besides the content: where the model's file is."""
        ...

    def signature(self, dims: Dims, shapes: ShapeMap) -> Manifest:
        """Return the inputs and outputs, sizes that stay unknown being names."""
        ...

    def module(self, dims: Dims, shapes: ShapeMap) -> ModuleOp:
        """Return the model as IR, all sizes known."""
        ...

    def prepared(self, *, host: bool) -> Model:
        """Return the ONNX model, to be cut; `host` may run nodes of it.

        There is none if `module` never raises NeedsValue.
        """
        ...

    def reads_sizes(self) -> bool:
        """Return whether what the model computes may depend on sizes other than by its shapes."""
        ...

    def beside(self, names: Sequence[str]) -> dict[str, str]:
        """Return the SHA-256 of files of weights that lie beside the model."""
        ...


def origin_of(source: Any, values: Mapping[str, ArrayLike] | None = None) -> Origin:
    """Return the origin of a source by its type, and a path's by its suffix.

    `values` are those of a model that shall be constants of its code, by name.
    Raises: TypeError for anything else, DiagnosticError for values of what is no model.
    """
    origin = _origin_of(source)
    if not values:
        return origin
    if not isinstance(origin, Onnx):
        from nn_opt.ir.diagnostics import DiagnosticError

        hint = "write the value as a constant"
        raise DiagnosticError(
            f"error: IR has no value named {min(values)!r} to be given\n  hint: {hint}"
        )
    origin.values = {name: np.asarray(value) for name, value in values.items()}
    return origin


def _origin_of(source: Any) -> Origin:
    if isinstance(source, str | os.PathLike):
        path = Path(cast("str | os.PathLike[str]", source))
        return Text(path) if path.suffix in TEXT_SUFFIXES else Onnx(path)
    if isinstance(source, bytes) or hasattr(source, "SerializeToString"):
        return Onnx(source)
    from xdsl.dialects.builtin import ModuleOp

    if isinstance(source, ModuleOp):
        return Module(source.clone())
    raise TypeError(
        f"cannot compile a {type(source).__name__};"
        " expected a path, bytes, an onnx.ModelProto or a module"
    )


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file.

    Raises: DiagnosticError if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        from nn_opt.ir.diagnostics import DiagnosticError

        raise DiagnosticError(f"{path}: error: {error.strerror}") from error


@dataclass
class Onnx:
    """An ONNX model: a file, its bytes, or the parsed message."""

    source: Path | bytes | Any
    values: Mapping[str, NDArray[Any]] = field(default_factory=dict[str, NDArray[Any]])
    _model: Model | None = None  # between `signature` and `module`, so that it is read once

    def content(self) -> Iterator[bytes | str]:
        yield "onnx"
        if isinstance(self.source, Path):
            if self.source.is_dir():
                from nn_opt.frontends.onnx import read_model

                read_model(self.source)  # which says what is in it
            yield file_digest(self.source)
        elif isinstance(self.source, bytes):
            yield self.source
        else:
            yield self.source.SerializeToString(deterministic=True)
        for name, value in sorted(self.values.items()):
            yield from (name, value.dtype.str, str(value.shape), value.tobytes())

    def places(self) -> Iterator[str]:
        if isinstance(self.source, Path):
            yield os.path.abspath(self.source)

    def signature(self, dims: Dims, shapes: ShapeMap) -> Manifest:
        from nn_opt.frontends.onnx import describe_inputs, describe_outputs, read_model
        from nn_opt.staged.host.kinds import is_hosted

        model = self._model = read_model(self.source)
        host = is_hosted(model)
        specs = [i for i in describe_inputs(model, host=host) if i.name not in self.values]
        _check_names(model, specs, dims, shapes)
        inputs = tuple(_tensor_info(spec, dims, shapes.get(spec.name)) for spec in specs)
        outputs = tuple(
            _tensor_info(spec, dims, None) for spec in describe_outputs(model, host=host)
        )
        names = sorted(set(_external_names(model.proto.graph)))
        external = self.beside(names) if names else None
        return Manifest(inputs, outputs, external=external, hosted=host)

    def module(self, dims: Dims, shapes: ShapeMap) -> ModuleOp:
        from nn_opt.frontends.onnx import import_model

        model, self._model = self._model, None
        return import_model(model or self.source, dims, shapes, self.values)

    def prepared(self, *, host: bool) -> Model:
        from nn_opt.frontends.onnx.baking import baked
        from nn_opt.frontends.onnx.importer import prepared

        operators: Container[str] = ()
        if host:
            from nn_opt.staged.host import HOST_OPS as operators
        model = prepared(self.source, operators)
        return baked(model, self.values) if self.values else model

    def reads_sizes(self) -> bool:
        from nn_opt.frontends.onnx import read_model

        return has_sizes(read_model(self.source).proto)

    def beside(self, names: Sequence[str]) -> dict[str, str]:
        folder = self.source.parent if isinstance(self.source, Path) else Path()
        return {name: file_digest(folder / name) for name in names if _is_beside(folder, name)}


def _is_beside(folder: Path, name: str) -> bool:
    """Return whether a name is that of a file in a folder; another is refused when it is read."""
    try:
        path = (folder / name).resolve()
        return path.is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError):  # no name of a file: too long, or with a zero byte
        return False


def _check_names(model: Any, specs: Sequence[InputSpec], dims: Dims, shapes: ShapeMap) -> None:
    symbols = {size for spec in specs for size in spec.shape or () if isinstance(size, str)}
    inputs = {spec.name for spec in specs}
    for what, given, known in (("symbolic size", dims, symbols), ("input", shapes, inputs)):
        for name in given:
            if name not in known:
                have = ", ".join(f"'{k}'" for k in sorted(known)) or "none"
                raise model.error(f"the model has no {what} '{name}'; it has {have}")


def _tensor_info(spec: InputSpec, dims: Dims, given: Sequence[int] | None) -> TensorInfo:
    shape: tuple[Dim, ...] | None = None
    if given is not None:
        shape = tuple(int(size) for size in given)
    elif spec.shape is not None:
        # an unnamed size gets a name of its own, so that it equals no other
        named = [f"{spec.name}.{k}" if s is None else s for k, s in enumerate(spec.shape)]
        shape = tuple(dims.get(s, s) if isinstance(s, str) else s for s in named)
    return TensorInfo(spec.name, shape, spec.dtype, spec.kind)


def has_sizes(proto: Any) -> bool:
    """Return whether nodes of an ONNX model ask for sizes, so that others may see them."""
    pending = [*proto.graph.node, *(node for f in proto.functions for node in f.node)]
    for node in pending:  # it grows by the nodes of inner graphs
        if node.op_type in ("Shape", "Size"):
            return True
        for attribute in node.attribute:
            pending.extend(attribute.g.node)
    return False


def _external_names(graph: Any) -> Iterator[str]:
    """Yield the files of weights that a graph and the graphs in its nodes name."""
    tensors = list(graph.initializer)
    for node in graph.node:
        for attribute in node.attribute:
            tensors += [attribute.t, *attribute.tensors]
            for inner in (attribute.g, *attribute.graphs):
                yield from _external_names(inner) if inner.node else ()
    for tensor in tensors:
        for entry in tensor.external_data:
            if entry.key == "location":
                yield entry.value


class _Ir:
    """IR of any origin: @main says what goes in and out."""

    def read(self) -> ModuleOp:
        """Return the module, free to be changed."""
        raise AssertionError("each kind of IR reads its own module")

    def module(self, dims: Dims, shapes: ShapeMap) -> ModuleOp:
        from nn_opt.build import bind_shapes

        module = self.read()
        bind_shapes(module, shapes)
        return module

    def signature(self, dims: Dims, shapes: ShapeMap) -> Manifest:
        from nn_opt.build import signature_of
        from nn_opt.ir.diagnostics import DiagnosticError

        if dims:
            raise DiagnosticError(
                f"error: IR has no size named {min(dims)!r}\n  hint: give the shapes of its inputs"
            )
        module = self.module(dims, shapes) if shapes else self.read()
        return signature_of(module)

    def prepared(self, *, host: bool) -> Model:
        raise AssertionError("IR needs no values of a run")

    def reads_sizes(self) -> bool:
        return False

    def beside(self, names: Sequence[str]) -> dict[str, str]:
        return {}

    def places(self) -> Iterator[str]:
        yield from ()


@dataclass
class Module(_Ir):
    """IR in memory, which stays as it is: compiling works on a copy."""

    source: ModuleOp

    def content(self) -> Iterator[bytes | str]:
        from nn_opt.ir.printing import print_module

        yield "module"
        # Weights are in it as digests of their content; kernels are told of by their locations.
        yield print_module(self.source, locations=True)

    def read(self) -> ModuleOp:
        return self.source.clone()


@dataclass
class Text(_Ir):
    """A file of IR."""

    path: Path

    def content(self) -> Iterator[bytes | str]:
        yield "text"
        yield file_digest(self.path)

    def places(self) -> Iterator[str]:
        yield os.path.abspath(self.path)

    def read(self) -> ModuleOp:
        return parse(self.path)


def parse(
    source: str | os.PathLike[str], *, weights: str | os.PathLike[str] | None = None
) -> ModuleOp:
    """Return the module of a file, or of text that has more than one line, verified.

    weights: the safetensors file with what `#graph.resource<"...">` names.
    Raises: DiagnosticError or VerifyException with the place of each mistake.

    >>> import nn_opt
    >>> module = nn_opt.parse('''
    ... func.func @f(%x: f32) -> f32 {
    ...   %y = arith.mulf %x, %x : f32
    ...   func.return %y : f32
    ... }''')
    >>> [op.name for op in module.walk()]
    ['builtin.module', 'func.func', 'arith.mulf', 'func.return']
    >>> nn_opt.parse("model.onnx")
    Traceback (most recent call last):
    nn_opt.ir.diagnostics.DiagnosticError: model.onnx: error: this is a model, no text
      hint: nn_opt.import_model reads it
    """
    from nn_opt.ir.diagnostics import DiagnosticError
    from nn_opt.ir.parsing import make_context, parse_module
    from nn_opt.ir.verify import verify

    name, text = "<text>", source
    if not isinstance(source, str) or (source and "\n" not in source):
        name = os.fspath(source)
        if name.endswith(".onnx"):
            hint = "nn_opt.import_model reads it"
            raise DiagnosticError(f"{name}: error: this is a model, no text\n  hint: {hint}")
        text = _read(name)
    arrays = None
    if weights is not None:
        from nn_opt.ir.weights import WeightsFile

        arrays = WeightsFile(os.fspath(weights))
    module = parse_module(make_context(), str(text), name, arrays)
    verify(module)
    return module


def _read(path: str) -> str:
    from nn_opt.ir.diagnostics import DiagnosticError

    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "this is no UTF-8 text"
        hint = "\n  hint: text has a line break at its end" if set("@%(") & set(path) else ""
        raise DiagnosticError(f"{path}: error: {reason}{hint}") from error
