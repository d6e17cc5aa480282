"""Networks of 3x3 convolutions with Winograd's algorithm on and off, against onnxruntime."""

from __future__ import annotations

from functools import cache

import numpy as np
import onnx
import pytest
from onnx_text import Array, in_onnxruntime, relative_error

import nn_opt
from bench import models
from nn_opt.ir.diagnostics import DiagnosticError

# The largest error over the largest output. With Winograd: what the option promises; without: as
# for any other sum of float32 in another order.
TOLERANCES = {"off": 1e-5, "auto": 1e-4, "force2": 1e-4, "force4": 1e-4}


@cache
def network(name: str) -> tuple[onnx.ModelProto, dict[str, Array], list[Array]]:
    """Return a small network, its inputs, and what onnxruntime computes."""
    model = models.build_small(name)
    inputs = models.sample_inputs(model)
    return model, inputs, in_onnxruntime(model, inputs)


@pytest.mark.parametrize("winograd", TOLERANCES)
@pytest.mark.parametrize("name", ["resnet18", "squeezenet1_1"])
def test_networks_agree(name: str, winograd: str) -> None:
    model, inputs, expected = network(name)
    compiled = nn_opt.compile(model, winograd=winograd, threads=1, cache=False)
    one = compiled.run(inputs)
    for got, want in zip(one.values(), expected, strict=True):
        assert relative_error(got, want) < TOLERANCES[winograd]
    for got, want in zip(compiled.run(inputs, threads=2).values(), one.values(), strict=True):
        np.testing.assert_array_equal(got, want)


def test_the_option_reaches_the_kernels() -> None:
    model, _, _ = network("resnet18")
    for winograd, expected in (("off", False), ("force4", True)):
        compiled = nn_opt.compile(model, winograd=winograd, threads=1, cache=False)
        assert ('algorithm "winograd4"' in compiled.ir("graph")) is expected


def test_an_unknown_choice_is_named() -> None:
    model, inputs, _ = network("resnet18")
    with pytest.raises(DiagnosticError, match="winograd is 'fast', expected one of auto"):
        nn_opt.compile(model, winograd="fast", cache=False).run(inputs)
