"""What a node computes by onnxruntime and by ONNX's reference, and how sure that is."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
from onnx import (
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    checker,
    defs,
    helper,
    numpy_helper,
    shape_inference,
)
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops import load_op

from fuzz.graphs.distrust import COARSE, DISTRUST, NEVER_EMPTY
from fuzz.graphs.numbers import FLOAT8, Array, is_float
from nn_opt.driver.peers import onnxruntime_errors

OPSET, CONTRIB, ML = 28, "com.microsoft", "ai.onnx.ml"
# Opset 22 gave these more types and nothing else; onnxruntime has some only as they were before.
WIDENED, BEFORE = 22, 21
IR_VERSION = 10
DOMAINS = {"": OPSET, CONTRIB: 1, ML: 5}
# Of the type's unit of rounding. ONNX's suite allows 1e-3 of each number for all types: float32
# and float64 are held to less, and the types of 16 bits to a few units, since only the last
# rounding is theirs here, while the oracles may round at each step.
UNITS = {"float32": 256, "float64": 4096, "float16": 8, "bfloat16": 8}
ABSOLUTE = 1e-7  # as in ONNX's suite
# An error of the inputs that grows to more than this is no longer told from a wrong result.
MOST_UNITS = 64
# Where the model that onnxruntime runs is left: it is what ended the process, if that ends.
WATCHED: list[Path] = []
ASKED = "asked.onnx"
QUIET = onnxruntime.SessionOptions()
QUIET.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
QUIET.log_severity_level = 4
QUIET.intra_op_num_threads = 1
HALVES = ("float16", "bfloat16")
NUMPY_KNOWS = {"float", "double", "float16", "bool"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


@dataclass
class Value:
    """What a name stands for, and by how much each element may be off."""

    array: Array
    error: Array | None = None  # None: exact

    @property
    def dtype(self) -> str:
        """The name of the element type."""
        return self.array.dtype.name

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return self.array.shape


class Unsure(Exception):
    """No oracle computes a node, or two of them do not agree, or rounding decides the result."""


def model_of(
    nodes: Sequence[NodeProto],
    ins: Mapping[str, Array],
    outs: list[Any],
    versions: Mapping[str, int] = DOMAINS,
) -> ModelProto:
    """Return a model whose inputs are all weights."""
    weights = [numpy_helper.from_array(array, name) for name, array in ins.items()]
    graph = helper.make_graph(nodes, "node", [], outs, weights)
    opsets = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def by_onnxruntime(
    node: NodeProto, ins: Mapping[str, Array], versions: Mapping[str, int] = DOMAINS
) -> list[Array] | None:
    """Return the outputs by onnxruntime, or None if it cannot run the node."""
    if ("onnxruntime", node.op_type) in DISTRUST:
        return None
    if any(array.size == 0 for array in ins.values()):
        if node.op_type in NEVER_EMPTY or node.domain in (CONTRIB, ML):
            return None
    found = _by_onnxruntime(node, ins, versions)
    if found is None and not node.domain:
        if defs.get_schema(node.op_type, versions[""]).since_version == WIDENED:
            return _by_onnxruntime(node, ins, {**versions, "": BEFORE})
    return found


def _by_onnxruntime(
    node: NodeProto, ins: Mapping[str, Array], versions: Mapping[str, int]
) -> list[Array] | None:
    names = [name for name in node.output if name]
    outs = [helper.make_empty_tensor_value_info(name) for name in names]
    try:
        model = model_of([node], ins, outs, versions)
        for folder in WATCHED:
            (folder / ASKED).write_bytes(model.SerializeToString())
        session = _session(model)
        kinds = [
            out.type.removeprefix("tensor(").removesuffix(")") for out in session.get_outputs()
        ]
        if all(kind in NUMPY_KNOWS for kind in kinds):
            return [np.asarray(array) for array in session.run(None, {})]
        return _through_casts(node, ins, names, kinds, versions)
    except Exception:  # any: another oracle may know
        return None


def _session(model: ModelProto) -> onnxruntime.InferenceSession:
    content = model.SerializeToString()
    return onnxruntime.InferenceSession(content, QUIET, providers=["CPUExecutionProvider"])


def _through_casts(
    node: NodeProto,
    ins: Mapping[str, Array],
    names: list[str],
    kinds: list[str],
    versions: Mapping[str, int],
) -> list[Array]:
    """Return outputs of types that NumPy lacks: cast in the model, and back."""
    nodes, outs = [node], list[str]()
    for name, kind in zip(names, kinds, strict=True):
        outs.append(name)
        if kind not in NUMPY_KNOWS:
            to = TensorProto.FLOAT if "float" in kind else TensorProto.INT8
            to = TensorProto.UINT8 if kind.startswith("uint") else to
            outs[-1] = f"{name} as numbers"
            nodes.append(helper.make_node("Cast", [name], [outs[-1]], to=to))
    infos = [helper.make_empty_tensor_value_info(name) for name in outs]
    found = _session(model_of(nodes, ins, infos, versions)).run(None, {})
    types = [_named(kind) for kind in kinds]
    return [np.asarray(a).astype(t) for a, t in zip(found, types, strict=True)]


def _named(kind: str) -> np.dtype[Any]:
    """Return the NumPy type of onnxruntime's word, such as float8e4m3fn or int4."""
    for name in (*FLOAT8, "float8_e8m0fnu", "float4_e2m1fn"):
        if name.replace("_", "") == kind:
            return np.dtype(getattr(ml_dtypes, name))
    word = {"float": "float32", "double": "float64"}.get(kind, kind)
    return np.dtype(getattr(ml_dtypes, word, word))


def whole_by_onnxruntime(model: ModelProto, inputs: Mapping[str, Array]) -> list[Array] | None:
    """Return the outputs of a whole model, or None if it does not run."""
    if any(array.size == 0 for array in inputs.values()):
        return None  # that may end the process
    try:
        return [np.asarray(array) for array in _session(model).run(None, dict(inputs))]
    except (*onnxruntime_errors(), RuntimeError, ValueError, TypeError):  # the sizes may not fit
        return None


def _reference_has(node: NodeProto, version: int) -> bool:
    """Return whether the reference has an operator as it was in a version."""
    newest = defs.get_schema(node.op_type, DOMAINS[node.domain], node.domain).since_version
    since = defs.get_schema(node.op_type, version, node.domain).since_version
    if since == newest or node.domain:
        return since == newest
    try:
        found = load_op(node.domain, node.op_type, version=version).__name__
    except (RuntimeError, AssertionError):  # none of that version
        return False
    return found == f"{node.op_type}_{since}"


def by_reference(
    node: NodeProto,
    ins: Mapping[str, Array],
    versions: Mapping[str, int] = DOMAINS,
    wide: bool = True,
) -> list[Array] | None:
    """Return the outputs by ONNX's reference evaluator, or None if it cannot run the node.

    It rounds after each step: where it is no movement of numbers, halves are widened before.
    """
    if node.domain == CONTRIB or ("reference", node.op_type) in DISTRUST:
        return None
    if any(a.s.startswith(b"SAME") for a in node.attribute if a.name == "auto_pad"):
        return None  # it takes floors where the number of windows is a ceiling
    outs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    try:
        model = model_of([node], ins, outs, versions)
        inferred = shape_inference.infer_shapes(model, data_prop=True)
        if wide:
            ins = {n: a.astype(np.float32) if a.dtype.name in HALVES else a for n, a in ins.items()}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = ReferenceEvaluator(model_of([node], ins, outs, versions)).run(None, {})
            arrays = [np.asarray(array) for array in found]
            pairs = list(zip(inferred.graph.output, arrays, strict=True))
            arrays = [_narrowed(info, array) if wide else array for info, array in pairs]
        pairs = zip(inferred.graph.output, arrays, strict=True)
        return arrays if all(_is_as_inferred(info, array) for info, array in pairs) else None
    except Exception:  # any: another oracle may know
        return None


def _narrowed(info: ValueInfoProto, array: Array) -> Array:
    code = info.type.tensor_type.elem_type
    if not code:
        raise ValueError("an unknown type")
    if code in (TensorProto.FLOAT16, TensorProto.BFLOAT16) and array.dtype == np.float32:
        return array.astype(helper.tensor_dtype_to_np_dtype(code))
    return array


def _is_as_inferred(info: ValueInfoProto, array: Array) -> bool:
    """Return whether type and rank are those that ONNX infers."""
    kind = info.type.tensor_type
    if kind.elem_type and kind.elem_type != helper.np_dtype_to_tensor_dtype(array.dtype):
        return False
    return not kind.HasField("shape") or len(kind.shape.dim) == array.ndim


def is_valid(node: NodeProto, ins: Mapping[str, Array], versions: Mapping[str, int]) -> bool:
    """Return whether a version of ONNX allows a node: attributes, operands and their types."""
    outs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    try:
        defs.get_schema(node.op_type, versions[node.domain], node.domain)
        model = model_of([node], ins, outs, versions)
        if not any(attribute.HasField("g") for attribute in node.attribute):
            checker.check_node(node, _context(versions))
        shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except (defs.SchemaError, checker.ValidationError, shape_inference.InferenceError):
        return False
    return True


def _context(versions: Mapping[str, int]) -> Any:
    context = checker.C.CheckerContext()
    context.ir_version, context.opset_imports = IR_VERSION, dict(versions)
    return context


def step(
    node: NodeProto,
    values: Mapping[str, Value],
    how: str,
    read: Sequence[str],
    versions: Mapping[str, int] = DOMAINS,
) -> list[Value]:
    """Return what a node makes of values.

    `how` is "exact", "local" for functions of single elements, "mixing" for sums and the like,
    "unit" for integers of which either neighbour will do.
    Raises: Unsure.
    """
    ins = {name: values[name].array for name in read}
    old = node.domain in ("", ML) and versions[node.domain] < DOMAINS[node.domain]
    if old and not is_valid(node, ins, versions):
        raise Unsure(f"{node.op_type}: not of this version")
    theirs = by_onnxruntime(node, ins, versions), None
    if not old or (theirs[0] is None and _reference_has(node, versions[node.domain])):
        theirs = theirs[0], by_reference(node, ins, versions, how != "exact")
    answers = [a for a in theirs if a and all(x.dtype.kind not in "OUSc" for x in a)]
    if not answers:
        raise Unsure(f"{node.op_type}: no oracle")
    own = [_own_error(array, ins, how, node.op_type in COARSE) for array in answers[0]]
    made = [Value(a, e) for a, e in zip(answers[0], own, strict=True)]
    for other in answers[1:]:
        if any(differs(value, array) for value, array in zip(made, other, strict=True)):
            raise Unsure(f"{node.op_type}: oracles disagree")
    if any(values[name].error is not None for name in read):
        ask = partial(by_reference, wide=how != "exact") if theirs[0] is None else by_onnxruntime
        ask = partial(ask, versions=versions)
        _spread(node, values, read, made, ask)
    return made


def _unit(dtype: np.dtype[Any]) -> float:
    info: Any = ml_dtypes.finfo(dtype)
    return float(info.eps)


def allowed(dtype: np.dtype[Any]) -> float:
    """Return the part of a number of a type that rounding may take."""
    return UNITS.get(dtype.name, 1) * _unit(dtype)


def _own_error(array: Array, ins: Mapping[str, Array], how: str, coarse: bool) -> Array | None:
    if how == "exact" or not is_float(array.dtype):
        return np.ones(array.shape) if how == "unit" else None
    floats = [a for a in ins.values() if is_float(a.dtype)]
    part = max(allowed(a.dtype) for a in (array, *floats) if a.dtype.name in (*UNITS,))
    part = max(part, 2**-22) if coarse else part
    sizes = np.abs(finite(array))
    if how == "mixing":
        most = max((float(np.abs(finite(a)).max(initial=0)) for a in (array, *floats)), default=0)
        sizes = np.full_like(sizes, most)
    return sizes * part + ABSOLUTE * (_unit(array.dtype) / 2**-23 if part > 1e-9 else 1e-8)


def finite(array: Array) -> Array:
    """Return numbers as float64, those that are infinite or none as 0."""
    return np.nan_to_num(array.astype(np.float64), nan=0, posinf=0, neginf=0)


def differs(value: Value, got: Array) -> bool:
    """Return whether an array is not what a value is, within its error."""
    return mismatch(value, got) is not None


def mismatch(value: Value, got: Array) -> str | None:
    """Return in words how an array differs from a value, or None."""
    want = value.array
    if want.dtype != got.dtype:
        return f"type {got.dtype}, expected {want.dtype}"
    if want.shape != got.shape:
        return f"shape {list(got.shape)}, expected {list(want.shape)}"
    if not is_float(want.dtype):
        apart = np.abs(want.astype(np.float64) - got.astype(np.float64))
        wrong = want != got if value.error is None else apart > value.error
    else:
        with np.errstate(all="ignore"):
            a, b = want.astype(np.float64), got.astype(np.float64)
            near = np.abs(a - b) <= (0 if value.error is None else value.error)
            wrong = ~(near | (a == b) | (np.isnan(a) & np.isnan(b)))
    wrong = np.atleast_1d(wrong)
    if not wrong.any():
        return None
    place = tuple(int(k) for k in np.argwhere(wrong)[0])[: want.ndim]
    some = f"{got[place]}, expected {want[place]}"
    return f"{some} at {list(place)}, {int(wrong.sum())} of {wrong.size} {want.dtype} differ"


def _spread(
    node: NodeProto,
    values: Mapping[str, Value],
    read: Sequence[str],
    made: list[Value],
    ask: Any,
) -> None:
    """Add to errors what those of the inputs become, seen by moving the inputs a little.

    Each element is moved to both sides, so that what is near a tie is seen to be.
    Raises: Unsure if that is much, or changes integers, infinities or sizes.
    """
    rng = np.random.default_rng(0)
    sides = {name: rng.choice([-1.0, 1.0], values[name].shape) for name in read}
    for way in (1.0, -1.0):
        moved = {name: _moved(values[name], way * sides[name]) for name in read}
        found = ask(node, moved)
        if found is None:
            raise Unsure(f"{node.op_type}: no oracle")
        for value, array in zip(made, found, strict=True):
            _widen(value, array, node.op_type)


def _moved(value: Value, sides: Array) -> Array:
    if value.error is None:
        return value.array
    with np.errstate(all="ignore"):
        wide = value.array.astype(np.float64) + sides * value.error
        return wide.astype(value.array.dtype)


def _widen(value: Value, array: Array, op_type: str) -> None:
    if array.shape != value.shape:
        raise Unsure(f"{op_type}: rounding decides sizes")
    if not is_float(array.dtype) or array.dtype.name not in UNITS:
        if np.any(array != value.array) and not np.array_equal(array, value.array, equal_nan=True):
            raise Unsure(f"{op_type}: rounding decides")
        return
    with np.errstate(all="ignore"):
        a, b = value.array.astype(np.float64), array.astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        off = np.where(same, 0.0, np.abs(a - b))
    most = MOST_UNITS * allowed(array.dtype) * (1 + np.abs(finite(value.array)))
    if not np.all(off <= most):
        raise Unsure(f"{op_type}: rounding is magnified")
    value.error = off * 2 + (0 if value.error is None else value.error)
