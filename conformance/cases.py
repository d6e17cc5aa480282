"""The tests of the installed `onnx` package: models, inputs, the outputs that are right.

Names are `node/test_abs`, `simple/...`, `pytorch-operator/...`, `pytorch-converted/...` and
`light/...`, the last being whole networks that the package calls "real".
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TypeProto, numpy_helper
from onnx.backend.test.loader import load_model_tests

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted", "real")
DataSet = tuple[list[Any], list[Any]]  # inputs in order, outputs in order


@dataclass(frozen=True)
class Case:
    """One test; `loader` reads what is on disk only when it is asked for."""

    name: str
    rtol: float
    atol: float
    loader: Any

    @property
    def group(self) -> str:
        """The part of the suite: node, simple, ..."""
        return self.name.partition("/")[0]

    @property
    def expanded(self) -> bool:
        """Return whether the test is a function's body in place of the call."""
        return self.group == "node" and "_expanded" in self.name

    def load(self) -> tuple[ModelProto, list[DataSet]]:
        """Return the model and its sets of inputs and outputs."""
        return self.loader()

    @property
    def model(self) -> ModelProto:
        """The model alone."""
        return self.load()[0]


@functools.cache
def all_cases() -> dict[str, Case]:
    """Return every test by name, in a fixed order."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # making some tests divides by zero, as it is meant to
        found = [_case(test) for kind in KINDS for test in load_model_tests(kind=kind)]
    return {case.name: case for case in sorted(found, key=_order)}


def _order(case: Case) -> tuple[int, str]:
    groups = ("node", "simple", "pytorch-operator", "pytorch-converted", "light")
    return groups.index(case.group), case.name


def _case(test: Any) -> Case:
    group = "light" if test.kind == "real" else test.kind
    loader = functools.partial(_from_memory, test)
    if test.url:
        loader = functools.partial(_light, Path(onnx.__file__).parent.parent / test.url)
    elif test.model is None:
        loader = functools.partial(_from_folder, Path(test.model_dir))
    return Case(f"{group}/{test.name}", test.rtol, test.atol, loader)


def _from_memory(test: Any) -> tuple[ModelProto, list[DataSet]]:
    sets = [([*map(_array, ins)], [*map(_array, outs)]) for ins, outs in test.data_sets]
    return test.model, sets


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _from_folder(folder: Path) -> tuple[ModelProto, list[DataSet]]:
    model = onnx.load(str(folder / "model.onnx"))
    sets: list[DataSet] = []
    for data in sorted(folder.glob("test_data_set_*")):
        inputs = _values(data, "input", [value.type for value in model.graph.input])
        sets.append((inputs, _values(data, "output", [v.type for v in model.graph.output])))
    return model, sets


def _values(folder: Path, what: str, types: Sequence[TypeProto]) -> list[Any]:
    count = len(list(folder.glob(f"{what}_*.pb")))
    files = (folder / f"{what}_{index}.pb" for index in range(count))
    return [_value(file.read_bytes(), kind) for file, kind in zip(files, types, strict=False)]


def _value(data: bytes, kind: TypeProto) -> Any:
    if kind.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def _light(path: Path) -> tuple[ModelProto, list[DataSet]]:
    """The input counts up from 0 to 1, as the suite's own runner has it; outputs are in files."""
    model = onnx.load(str(path))
    files = [path.with_name(f"{path.stem}_output_{i}.pb") for i in range(len(model.graph.output))]
    outputs = [_value(file.read_bytes(), TypeProto()) for file in files]
    return model, [([ramp(value) for value in model_inputs(model)], outputs)]


def model_inputs(model: ModelProto) -> list[onnx.ValueInfoProto]:
    """Return the inputs that are no weights."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in weights]


def ramp(value: onnx.ValueInfoProto) -> np.ndarray[Any, Any]:
    """Return elements that count up from 0 to 1."""
    shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


def nodes_of(graph: GraphProto) -> Iterator[NodeProto]:
    """Yield the nodes of a graph and of the graphs inside it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes_of(attribute.g)
            for inner in attribute.graphs:
                yield from nodes_of(inner)


def operators_of(model: ModelProto) -> list[str]:
    """Return the operators of a model, sorted; those of other domains than ai.onnx with it."""
    nodes = [*nodes_of(model.graph), *(node for body in model.functions for node in body.node)]
    main = ("", "ai.onnx")
    return sorted({n.op_type if n.domain in main else f"{n.domain}.{n.op_type}" for n in nodes})


def dtypes_of(model: ModelProto) -> list[str]:
    """Return the element types of a model's inputs and outputs, sorted: FLOAT, seq(INT64), ..."""
    return sorted({_dtype(v.type) for v in (*model.graph.input, *model.graph.output)})


def _dtype(kind: TypeProto) -> str:
    if kind.HasField("sequence_type"):
        return f"seq({_dtype(kind.sequence_type.elem_type)})"
    if kind.HasField("optional_type"):
        return f"opt({_dtype(kind.optional_type.elem_type)})"
    return onnx.TensorProto.DataType.Name(kind.tensor_type.elem_type)
