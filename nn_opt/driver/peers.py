"""Other runtimes to compare with: the same inputs, the same number of threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from nn_opt.driver.models import fail

Array = NDArray[Any]
Peer = Callable[[], list[Array]]
Runtime = Callable[[str | bytes, int], Callable[[list[str], dict[str, Array]], list[Array]]]


def make_peer(
    name: str, model: str, inputs: Mapping[str, Array], outputs: Sequence[str], threads: int
) -> Peer:
    """Return a function that runs the model on the inputs in another runtime."""
    run = load_peer(name, model, threads)
    feeds, wanted = dict(inputs), list(outputs)
    return lambda: run(wanted, feeds)


def load_peer(
    name: str, model: str | bytes, threads: int = 1
) -> Callable[[list[str], dict[str, Array]], list[Array]]:
    """Return a function (names of values, inputs) -> values of a model: its path, or its bytes.

    Raises: DiagnosticError if the runtime is missing or cannot load the model.
    """
    assert name in PEERS, f"no rule for {name}"
    return RUNTIMES[name](model, threads)


def _onnxruntime(model: str | bytes, threads: int) -> Any:
    try:
        onnxruntime: Any = import_module("onnxruntime")
    except ImportError:
        fail("error: onnxruntime is not installed\n  hint: pip install onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # none: what it says is raised, too
    if isinstance(model, bytes):  # values are looked at one by one: none may be fused away
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    except onnxruntime_errors() as error:
        label = "the model" if isinstance(model, bytes) else model
        fail(f"error: onnxruntime cannot load {label}: {error}")
    return session.run


def _reference(model: str | bytes, threads: int) -> Any:
    """Return a run of ONNX's reference evaluator, which has one thread."""
    reference: Any = import_module("onnx.reference")
    try:
        evaluate = reference.ReferenceEvaluator(model).run
    except Exception as error:  # it raises what its operators do
        fail(f"error: the reference evaluator cannot load the model: {error}")

    def run(wanted: list[str], feeds: dict[str, Array]) -> list[Array]:
        try:
            return evaluate(wanted, feeds)
        except Exception as error:  # it raises what its operators do
            fail(f"error: the reference evaluator cannot run the model: {error}")

    return run


RUNTIMES: dict[str, Runtime] = {"onnxruntime": _onnxruntime, "reference": _reference}
PEERS = tuple(RUNTIMES)


def onnxruntime_errors() -> tuple[type[Exception], ...]:
    """Return onnxruntime's exceptions, which have no common base."""
    state: Any = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    members: dict[str, Any] = state.__dict__
    return tuple(
        kind for kind in members.values() if isinstance(kind, type) and issubclass(kind, Exception)
    )


def is_tensor(value: Any) -> bool:
    """Return whether a runtime's value is an array of numbers, no sequence and no text."""
    return isinstance(value, np.ndarray) and cast(Array, value).dtype.kind not in "OSU"


def _error_within(actual: Any, expected: Any) -> float:
    """Return the largest error of what sequences and maps hold, or whether others differ."""
    left, right = _parts(actual), _parts(expected)
    if left is None or right is None:
        plain = isinstance(expected, float | np.number)
        if plain and isinstance(actual, float | np.number):
            return relative_error(np.asarray(actual, np.float64), np.asarray(expected, np.float64))
        return 0.0 if np.array_equal(actual, expected) else float("inf")
    if left.keys() != right.keys():
        return float("inf")
    return max((relative_error(left[key], right[key]) for key in right), default=0.0)


def _parts(value: Any) -> dict[Any, Any] | None:
    """Return what a sequence or a map holds, by place or key."""
    if isinstance(value, dict):
        return cast("dict[Any, Any]", value)
    return dict(enumerate(cast("list[Any]", value))) if isinstance(value, list) else None


def relative_error(actual: Any, expected: Any) -> float:
    """Return the norm of the difference over the norm of the reference.

    Where both are the same infinity or both no number they do not differ; where only one is, the
    error is infinite. For integers and booleans it is the same formula on their values, for
    sequences and maps the largest error of what is in them, and strings are alike or not.
    """
    if not is_tensor(actual) or not is_tensor(expected):
        return _error_within(actual, expected)
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return float("inf")
    if not expected.size:
        return 0.0
    left, right = (np.asarray(array).astype(np.float64).reshape(-1) for array in (actual, expected))
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    finite = np.isfinite(left) & np.isfinite(right)
    if not np.all(same | finite):
        return float("inf")
    difference = np.linalg.norm(left[finite] - right[finite])
    scale = np.linalg.norm(right[finite])
    return float(difference / scale) if scale else float(difference)
