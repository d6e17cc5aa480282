"""Other runtimes to compare with: the same inputs, the same number of threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nn_opt.driver.models import fail

Array = NDArray[Any]
Peer = Callable[[], list[Array]]
PEERS = ("onnxruntime",)


def make_peer(
    name: str, model: str, inputs: Mapping[str, Array], outputs: Sequence[str], threads: int
) -> Peer:
    """Return a function that runs the model on the inputs in another runtime."""
    assert name in PEERS, f"no rule for {name}"
    try:
        onnxruntime: Any = import_module("onnxruntime")
    except ImportError:
        fail("error: onnxruntime is not installed\n  hint: pip install onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    try:
        session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    except _errors() as error:
        fail(f"error: onnxruntime cannot load {model}: {error}")
    feeds = dict(inputs)
    wanted = list(outputs)
    return lambda: session.run(wanted, feeds)


def _errors() -> tuple[type[Exception], ...]:
    """Return onnxruntime's exceptions, which have no common base."""
    state: Any = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    members: dict[str, Any] = state.__dict__
    return tuple(
        kind for kind in members.values() if isinstance(kind, type) and issubclass(kind, Exception)
    )


def relative_error(actual: Array, expected: Array) -> float:
    """Return the norm of the difference over the norm of the reference.

    Where both are the same infinity or both no number they do not differ; where only one is, the
    error is infinite. For integers and booleans it is the same formula on their values.
    """
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
