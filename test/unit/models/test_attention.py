"""Attention blocks against onnxruntime: shapes, masks, places of the scale, several targets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
from attention_blocks import Form, attention_model, feeds_of
from xdsl.dialects.func import FuncOp

from nn_opt import compile
from nn_opt.dialects import graph
from nn_opt.frontends.onnx import import_model
from nn_opt.ir.parsing import make_context
from nn_opt.pipelines import expand, run_passes

TOLERANCE = 3e-6
SIZES = [
    Form(queries=1, keys=1, width=64),
    Form(queries=1, keys=128, width=64),
    Form(queries=7, keys=7, width=32),
    Form(queries=7, keys=128, width=80),
    Form(queries=40, keys=40, width=15, heads=8, mask="none"),
    Form(queries=9, keys=9, width=8),
    Form(queries=128, keys=128, width=32),
    Form(queries=128, keys=128, width=64, heads=1),
    Form(queries=197, keys=197, width=64),
    Form(queries=197, keys=197, width=80, heads=1),
    Form(queries=33, keys=384, width=64, batch=2),
    Form(queries=50, keys=50, width=16, batch=2),
    Form(queries=19, keys=1024, width=64),
    Form(queries=24, keys=1021, width=32),
    Form(queries=9, keys=2048, width=48, heads=1),
]
BASE = Form(queries=40, keys=40, width=32)
FORMS = [
    replace(BASE, scale=scale, mask=mask, packed=mask == "causal")
    for scale in ("after", "before", "both", "none")
    for mask in ("keys", "full", "causal", "none")
]
LONG = Form(queries=20, keys=1024, width=32, heads=1)
LONG_FORMS = [replace(LONG, scale=s, mask=m) for s in ("both", "after") for m in ("full", "none")]


def errors(form: Form, *, masked: float = -10000.0, target: str = "cpu") -> tuple[float, int]:
    """Return the largest error against onnxruntime, and how many results are no numbers."""
    model = attention_model(form)
    feeds = feeds_of(model, masked=masked)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    (wanted,) = session.run(None, feeds)
    (found,) = compile(model, cache=False, target=target).run(feeds).values()
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    known = ~np.isnan(wanted)
    return float(np.abs(found[known] - wanted[known]).max()), int((~known).sum())


@pytest.mark.parametrize("form", [*SIZES, *FORMS, *LONG_FORMS], ids=str)
def test_attention_is_that_of_onnxruntime(form: Form):
    error, unknown = errors(form)
    assert error < TOLERANCE
    assert not unknown


@pytest.mark.parametrize("form", [replace(BASE, mask="full"), replace(LONG, mask="full")], ids=str)
def test_rows_without_any_key_are_not_a_number_and_no_others(form: Form):
    error, unknown = errors(form, masked=-np.inf)
    assert error < TOLERANCE
    assert unknown == form.queries // 8 * form.heads * form.width


@pytest.mark.parametrize("form", [replace(BASE, mask="full"), replace(LONG, mask="full")], ids=str)
def test_guarded_rows_without_any_key_are_zero(form: Form):
    error, unknown = errors(replace(form, safe=True), masked=-np.inf)
    assert error < TOLERANCE
    assert not unknown


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("form", [BASE, replace(LONG, queries=9)], ids=str)
def test_narrow_vectors(form: Form, target: str):
    assert errors(form, target=target)[0] < TOLERANCE


@pytest.mark.parametrize(
    ("form", "alone"),
    [(BASE, True), (replace(BASE, safe=True, packed=True), True), (LONG, True), (SIZES[1], False)],
)
def test_one_kernel_holds_it_all(form: Form, alone: bool):
    module = import_model(attention_model(form))
    run_passes(make_context(), module, [*expand("optimize-graph"), *expand("outline-kernels")])
    kernels = [op for op in module.walk() if isinstance(op, FuncOp) and "kernel" in op.attributes]
    assert (len(kernels) == 1) == alone
    products = [op for op in kernels[0].walk() if isinstance(op, graph.MatmulOp)]
    assert (len(products) == 2) == alone
