"""`nn-opt --report`: what a model consists of, where its nodes run, and on which targets."""

from __future__ import annotations

import io
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from onnx import NodeProto, TypeProto
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import DiagnosticException

from nn_opt.backends.source.gpu_languages import LANGUAGES, language_named
from nn_opt.dialects import graph
from nn_opt.frontends.onnx import (
    InputSpec,
    describe_inputs,
    describe_outputs,
    import_model,
    read_model,
)
from nn_opt.frontends.onnx.reader import Model, check_model, check_opset, skeleton
from nn_opt.frontends.onnx.signature import TENSOR
from nn_opt.frontends.onnx.structure import live_nodes, node_label
from nn_opt.frontends.onnx.support import operator_key, reasons
from nn_opt.frontends.onnx.weights import ELEMENT_DTYPES, type_name
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.locations import node_names
from nn_opt.ir.types import element_type
from nn_opt.kernels import op_flops
from nn_opt.runtime.manifest import TensorInfo
from nn_opt.staged.host.kinds import is_for_host

if TYPE_CHECKING:
    from nn_opt.backends.source.language import Language

onnx: Any = import_module("onnx")  # whose functions are typed in part
WIDTH = 120
COMPILED, HOST, UNSUPPORTED = "compiled", "host", "unsupported"


@dataclass
class Row:
    """All nodes of one operator."""

    operator: str
    nodes: int = 0
    types: set[str] = field(default_factory=set[str])  # of elements that go in or come out
    flops: int = 0
    places: Counter[str] = field(default_factory=Counter[str])  # where its nodes run
    reasons: dict[str, str] = field(default_factory=dict[str, str])  # of unsupported nodes


@dataclass(frozen=True)
class Report:
    """What there is to say of a model; `module` is None where `unknown` says why."""

    model: Model
    rows: Sequence[Row]
    module: ModuleOp | None
    unknown: str


def report_of(path: str, dims: Mapping[str, int]) -> Report:
    """Return the report of a model, sizes bound by name where it leaves them open.

    Raises: DiagnosticError for a file that is no valid model.
    """
    model = read_model(path)
    check_opset(model)
    check_model(model)
    rows: dict[str, Row] = {}
    labels: dict[str, str] = {}
    types = _types(model)
    for index in live_nodes(model.proto.graph):
        node = model.proto.graph.node[index]
        label = node_label(node, index)
        labels[label] = name = _operator(node)
        _add(rows.setdefault(name, Row(name)), model, node, label, types)
    module, unknown = _module(model, dims)
    for label, flops in _flops(module):
        for known in (label, label.split("/")[0]):
            if known in labels:
                rows[labels[known]].flops += flops
                break
    return Report(model, sorted(rows.values(), key=lambda row: -row.nodes), module, unknown)


def _operator(node: NodeProto) -> str:
    domain, name = operator_key(node)
    return f"{domain}.{name}" if domain else name


def _add(row: Row, model: Model, node: NodeProto, label: str, types: Mapping[str, str]) -> None:
    row.nodes += 1
    names = [name for name in (*node.input, *node.output) if name in types]
    row.types |= {types[name] for name in names}
    place, why = _place(model, node)
    row.places[place] += 1
    if why:
        row.reasons[label] = why


def _declared(model: Model) -> tuple[tuple[str, list[InputSpec]], tuple[str, list[InputSpec]]]:
    """Return what goes in and out, strings and maps as well."""
    inputs, outputs = describe_inputs(model, host=True), describe_outputs(model, host=True)
    return ("input", inputs), ("output", outputs)


def _place(model: Model, node: NodeProto) -> tuple[str, str]:
    """Return where a node runs, and why nowhere."""
    own = {(function.domain, function.name) for function in model.proto.functions}
    if is_for_host(node):
        return HOST, ""
    if (node.domain, node.op_type) in own:
        return COMPILED, ""
    why = "; ".join(reasons(model, node))
    return (UNSUPPORTED, why) if why else (COMPILED, "")


def _types(model: Model) -> dict[str, str]:
    """Return the element type of each value that ONNX's shape inference knows, by name."""
    bare = skeleton(model)
    try:
        bare = onnx.shape_inference.infer_shapes(bare)
    except Exception:  # it raises what its operators do; what it has not found stays unknown
        bare = skeleton(model)
    values = (*bare.graph.input, *bare.graph.output, *bare.graph.value_info)
    return {value.name: _type_text(value.type) for value in values}


def _type_text(type_: TypeProto) -> str:
    kind = type_.WhichOneof("value")
    if kind == "tensor_type":
        return type_name(type_.tensor_type.elem_type)
    return (kind or "unknown").removesuffix("_type")


def _module(model: Model, dims: Mapping[str, int]) -> tuple[ModuleOp | None, str]:
    """Return the model as IR, or why it is none before it runs."""
    try:
        return import_model(model, dims), ""
    except (DiagnosticError, DiagnosticException) as error:
        return None, str(error)


def _flops(module: ModuleOp | None) -> Iterator[tuple[str, int]]:
    """Yield the floating-point operations of each op, with its node's label."""
    for op in module.walk() if module is not None else ():
        if isinstance(op, graph.GraphOp | graph.ScanOp):
            yield next(node_names(op.location), ""), op_flops(op)


def text_of(report: Report) -> str:
    """Return the report as text."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=WIDTH, highlight=False)
    for line in _summary(report):
        console.print(line, markup=False)
    console.print(_table(report))
    for row in report.rows:
        for label, why in row.reasons.items():
            console.print(f"unsupported: node '{label}': {row.operator}: {why}", markup=False)
    for line in _targets(report):
        console.print(line, markup=False)
    return out.getvalue()


def _summary(report: Report) -> Iterator[str]:
    model = report.model
    proto = model.proto
    sets = ", ".join(f"{name or 'ai.onnx'} {version}" for name, version in model.opsets.items())
    nodes = sum(row.nodes for row in report.rows)
    yield f"{model.label}: {nodes} nodes of {len(report.rows)} operators, opset {sets}"
    for word, specs in _declared(model):
        for spec in specs:
            yield f"{word} {spec.name}: {_spec_text(spec)}"
    yield _parameters(proto.graph.initializer)
    if report.module is not None:
        yield f"{sum(row.flops for row in report.rows):,} floating-point operations a run"
    else:
        first = _one_line(report.unknown.partition("error: ")[2])
        yield f"floating-point operations are not known before it runs: {first}"


def _spec_text(spec: InputSpec) -> str:
    if spec.kind != TENSOR:
        return str(TensorInfo(spec.name, None, spec.dtype, spec.kind)).partition(": ")[2]
    return f"{spec.dtype.name} {'?' if spec.shape is None else list(spec.shape)}"


def _one_line(text: str) -> str:
    """Return the first line, and what it lists, without the hint."""
    head, *rest = (line.strip() for line in text.split("\n") if "hint: " not in line)
    return " ".join([head, *rest]) if head.endswith(":") else head


def _parameters(tensors: Sequence[Any]) -> str:
    counts: defaultdict[str, int] = defaultdict(int)
    for tensor in tensors:
        counts[type_name(tensor.data_type)] += math.prod(tensor.dims)
    parts = ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))
    size = sum(
        math.prod(tensor.dims) * ELEMENT_DTYPES[tensor.data_type].itemsize
        for tensor in tensors
        if tensor.data_type in ELEMENT_DTYPES
    )
    return f"parameters: {parts or 'none'} ({size:,} bytes in memory)"


def _table(report: Report) -> Any:
    from rich.table import Table

    table = Table()
    for name in ("operator", "nodes", "element types", "MFLOP", "runs"):
        table.add_column(name, justify="right" if name in ("nodes", "MFLOP") else "left")
    for row in report.rows:
        flops = f"{row.flops / 1e6:.3f}" if row.flops else "-"
        places = ", ".join(row.places)
        table.add_row(row.operator, str(row.nodes), ", ".join(sorted(row.types)), flops, places)
    return table


def _targets(report: Report) -> Iterator[str]:
    """Yield for each language of a backend whether it has all element types of the model."""
    if report.module is None:
        return
    used = _element_types(report.module)
    yield f"cpu and other targets through LLVM: all element types ({_listed(used)})"
    for name, language in _languages():
        missing = [type_ for type_ in used if language.type_word(type_) is None]
        said = f"refused: no type for {_listed(missing)}" if missing else "all element types"
        yield f"{name}: {said}"


def _languages() -> Iterator[tuple[str, Language]]:
    from nn_opt.backends.source.c99 import C99
    from nn_opt.backends.source.javascript import JavaScript

    yield "C99", C99()
    yield "JavaScript", JavaScript()
    yield from ((name, language_named(name)) for name in LANGUAGES)


def _element_types(module: ModuleOp) -> list[Attribute]:
    found: dict[Attribute, None] = {}
    for op in module.walk():
        values = [*op.operands, *op.results] if not isinstance(op, FuncOp) else []
        found |= {element_type(value): None for value in values}
    return list(found)


def _listed(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types))
