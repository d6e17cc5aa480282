"""The inputs and outputs that a model declares, and the static shapes they are bound to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto, TypeProto, ValueInfoProto

from nn_opt.frontends.onnx.reader import Model, Source, read_model
from nn_opt.frontends.onnx.weights import ELEMENT_DTYPES, type_name

# Where a model runs of which the importer cannot make one module.
HOST_HINT = "nn_opt.compile and nn-run run it, with steps of the host; nn-opt --report lists them"
MAX_ELEMENTS = 2**40  # a tensor beyond a tera-element is a mistake in the model, not a wish


TENSOR, STRING = "tensor", "string"  # kinds of values: of numbers, of strings
SEQUENCE, OPTIONAL = "sequence of ", "optional "  # what other kinds begin with
MAP = "map"  # a dictionary from strings or integers to numbers or strings


@dataclass(frozen=True)
class InputSpec:
    """A declared value; a size is a number, a symbol or None; the shape may be undeclared."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | str | None, ...] | None
    kind: str = TENSOR

    @property
    def is_static(self) -> bool:
        """Return whether every size is a number."""
        return self.shape is not None and all(isinstance(size, int) for size in self.shape)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape, which must be known."""
        assert self.is_static, f"the shape of '{self.name}' is not known"
        return tuple(size for size in self.shape or () if isinstance(size, int))


def kind_of_type(declared: TypeProto) -> str:
    """Return of what kind values of a type are; one that is not declared is a tensor's."""
    match declared.WhichOneof("value"):
        case "sequence_type":
            return SEQUENCE + kind_of_type(declared.sequence_type.elem_type)
        case "optional_type":
            return OPTIONAL + kind_of_type(declared.optional_type.elem_type)
        case "tensor_type":
            is_text = declared.tensor_type.elem_type == TensorProto.STRING
            return STRING if is_text else TENSOR
        case None:
            return TENSOR
        case other:
            return other.removesuffix("_type")


def describe_inputs(source: Source, *, host: bool = False) -> list[InputSpec]:
    """Return the inputs that a caller has to give: those without a weight of their name.

    Raises: DiagnosticError for what is no tensor of numbers, unless the `host` takes it.
    """
    model = read_model(source)
    weights = {tensor.name for tensor in model.proto.graph.initializer}
    values = (value for value in model.proto.graph.input if value.name not in weights)
    return [_spec(model, value, host) for value in values]


def describe_outputs(source: Source, *, host: bool = False) -> list[InputSpec]:
    """Return the outputs as the model declares them; `host` as for inputs."""
    model = read_model(source)
    return [_spec(model, value, host) for value in model.proto.graph.output]


def _spec(model: Model, value: ValueInfoProto, host: bool) -> InputSpec:
    kind = kind_of_type(value.type)
    if kind not in (TENSOR, STRING) and not host:
        problem = f"'{value.name}' is a {kind.split()[0]}, not a tensor"
        raise model.error(problem, hint=HOST_HINT)
    tensor = _tensor_type(value.type)
    if not tensor.elem_type:
        problem = f"'{value.name}' declares no type of elements, and ONNX infers none"
        raise model.error(problem, hint="write its type into the model, as onnx.checker asks for")
    if tensor.elem_type not in ELEMENT_DTYPES and not (host and kind.endswith((STRING, MAP))):
        raise model.error(
            f"'{value.name}' has elements of {type_name(tensor.elem_type)}, which is not supported",
            hint=HOST_HINT if kind == STRING else "",
        )
    shape = tuple(map(_size, tensor.shape.dim)) if tensor.HasField("shape") else None
    if kind not in (TENSOR, STRING):
        shape = None
    dtype = ELEMENT_DTYPES.get(tensor.elem_type, np.dtype(object))
    return InputSpec(value.name, dtype, shape, kind)


def _tensor_type(declared: TypeProto) -> TypeProto.Tensor:
    """Return the type of tensors that a value is made of."""
    match declared.WhichOneof("value"):
        case "sequence_type":
            return _tensor_type(declared.sequence_type.elem_type)
        case "optional_type":
            return _tensor_type(declared.optional_type.elem_type)
        case "map_type":
            return _tensor_type(declared.map_type.value_type)
        case _:
            return declared.tensor_type


def _size(dim: Any) -> int | str | None:
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return None if dim.dim_param in ("", "?") else dim.dim_param  # Paddle writes "?" for any


def bind_shapes(
    model: Model,
    specs: Sequence[InputSpec],
    dims: Mapping[str, int],
    shapes: Mapping[str, Sequence[int]],
) -> list[tuple[int, ...]]:
    """Return the static shape of each input.

    Raises: DiagnosticError listing every input whose sizes stay unknown, or for a binding that
    names nothing or contradicts the model.
    """
    _require_known(model, "input", shapes, {spec.name for spec in specs})
    symbols = {size for spec in specs for size in spec.shape or () if isinstance(size, str)}
    _require_known(model, "symbolic size", dims, symbols)
    bound = [_bind(model, spec, dims, shapes.get(spec.name)) for spec in specs]
    unknown = [spec for spec, shape in zip(specs, bound, strict=True) if shape is None]
    if unknown:
        listed = ", ".join(f"'{spec.name}' {_show(spec.shape)}" for spec in unknown)
        problem = f"the sizes of {len(unknown)} input(s) are unknown: {listed}"
        raise model.error(problem, hint=f"give them by {_example(unknown, dims)}")
    return [shape for shape in bound if shape is not None]


def _example(unknown: Sequence[InputSpec], dims: Mapping[str, int]) -> str:
    """Return how to bind the inputs: by symbols if those are all, else by whole shapes."""
    sizes = [size for spec in unknown for size in _sizes(spec.shape)]
    if None not in sizes:
        names = {size: 1 for size in sizes if isinstance(size, str) and size not in dims}
        flags = " ".join(f"--dim {name}=1" for name in names)
        return f"dims={names}, on a command line by {flags}"
    shapes = {
        spec.name: [size if isinstance(size, int) else 1 for size in spec.shape or (1, 1)]
        for spec in unknown
    }
    return f"shapes={shapes}"


def _require_known(model: Model, what: str, given: Iterable[str], known: set[str]) -> None:
    wrong = sorted(set(given) - known)
    if wrong:
        have = ", ".join(f"'{name}'" for name in sorted(known)) or "none"
        raise model.error(f"the model has no {what} '{wrong[0]}'; it has {have}")


def _bind(
    model: Model, spec: InputSpec, dims: Mapping[str, int], given: Sequence[int] | None
) -> tuple[int, ...] | None:
    declared = spec.shape
    if given is not None:
        shape = tuple(int(size) for size in given)
        if declared is not None and not _fits(declared, shape, dims):
            raise model.error(
                f"input '{spec.name}' has shape {_show(declared)}, given {list(shape)}"
            )
    else:
        sizes = [dims.get(s) if isinstance(s, str) else s for s in _sizes(declared)]
        known = [int(size) for size in sizes if size is not None]
        if len(known) != len(sizes):
            return None
        shape = tuple(known)
    if any(size < 0 for size in shape) or math.prod(shape) > MAX_ELEMENTS:
        raise model.error(f"input '{spec.name}' has the absurd shape {list(shape)}")
    return shape


def _fits(
    declared: Sequence[int | str | None], shape: tuple[int, ...], dims: Mapping[str, int]
) -> bool:
    if len(declared) != len(shape):
        return False
    wanted = [dims.get(size) if isinstance(size, str) else size for size in declared]
    return all(want in (None, size) for want, size in zip(wanted, shape, strict=True))


def _sizes(shape: Sequence[int | str | None] | None) -> Sequence[int | str | None]:
    """Return the sizes of a shape, where that of an unknown rank is unknown; a scalar has none."""
    return (None,) if shape is None else shape


def _show(shape: Sequence[int | str | None] | None) -> str:
    if shape is None:
        return "of unknown rank"
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"
