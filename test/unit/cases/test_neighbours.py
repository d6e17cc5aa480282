"""Runs the models beside the casebook, compiled."""

from __future__ import annotations

import numpy as np
import pytest
from neighbours import ALL
from onnx_text import parse

import nn_opt


@pytest.mark.parametrize("name", ALL)
def test_neighbour(name: str) -> None:
    case = ALL[name]
    model = parse(case.text, case.opset, case.weights)
    got = nn_opt.compile(model).run(dict(case.inputs))
    for (output, ours), want in zip(got.items(), case.outputs, strict=True):
        assert (ours.shape, ours.dtype) == (want.shape, want.dtype), output
        np.testing.assert_allclose(ours, want, rtol=1e-6, atol=1e-7, err_msg=output)
