"""Runs one test through `nn_opt.onnx_backend` and says how it ended."""

from __future__ import annotations

import re
from typing import Any

from onnx import ModelProto
from onnx.backend.test.runner import Runner

import nn_opt
from conformance.cases import Case, all_cases, model_inputs
from nn_opt import onnx_backend
from nn_opt.ir.diagnostics import DiagnosticError

SHOWN = 300  # characters of a message
STATUSES = ("pass", "unsupported", "wrong", "error", "crash", "hang")
# What the message for an unsupported model holds: the node and its operator.
NAMES_NODE = re.compile(r"node '[^']*': (\S+ \(opset \S+\): |unsupported [\w.]+: )")


def warm_up() -> None:
    """Import the compiler and make the tests, so that children of this process need not."""
    from onnx import parser

    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]>'
        " agraph (float[4] x) => (float[4] y) { y = Relu(x) }"
    )
    nn_opt.compile(model, cache=False, threads=1)
    all_cases()


def run_case(name: str) -> dict[str, Any]:
    """Return the status of a test, and a message where it does not pass."""
    status, message, host = _judge(all_cases()[name])
    result: dict[str, Any] = {"status": status}
    if message:
        result["message"] = message[:SHOWN]
    if host:
        result["host"] = host
    return result


def _judge(case: Case) -> tuple[str, str, list[str]]:
    try:
        model, sets = case.load()
        prepared = onnx_backend.prepare(model, cache=False, threads=1)
        for inputs, wanted in sets:
            got = prepared.run(_by_name(model, inputs, prepared))
            compare(wanted, list(got), case.rtol, case.atol)
        return "pass", "", host_steps(prepared.model)
    except DiagnosticError as error:
        text = str(error)
        return ("unsupported" if NAMES_NODE.search(text) else "error"), text, []
    except AssertionError as error:
        return "wrong", " ".join(str(error).split()), []
    except Exception as error:
        return "error", f"{type(error).__name__}: {error}", []


def compare(wanted: Any, got: Any, rtol: float, atol: float) -> None:
    """Compare as the suite does, but arrays in sequences whole.

    The suite goes into them as if they were sequences themselves, down to their elements; it asks
    for the length of one without axes, which has none.
    Raises: AssertionError saying what differs.
    """
    assert len(wanted) == len(got), f"{len(got)} values, expected {len(wanted)}"
    for right, found in zip(wanted, got, strict=True):
        if isinstance(found, list | tuple):
            assert isinstance(right, list | tuple), f"a sequence, expected {right}"
            compare(right, found, rtol, atol)
        else:
            Runner.assert_similar_outputs([right], [found], rtol, atol)


def _by_name(model: ModelProto, inputs: list[Any], prepared: onnx_backend.NnOptRep) -> Any:
    """Return the inputs by name where the model itself takes fewer of them."""
    names = [value.name for value in model_inputs(model)]
    known = {info.name for info in prepared.model.inputs}
    return {n: x for n, x in zip(names, inputs, strict=False) if n in known}


def host_steps(model: nn_opt.Model) -> list[str]:
    """Return the operators of a model that run on the host, between compiled regions."""
    steps = (step for found in model.specializations for step in found.host)
    return sorted({step.rpartition(": ")[2] for step in steps})
