"""Networks of 3x3 convolutions with Winograd's algorithm on and off, against onnxruntime."""

from __future__ import annotations

from functools import cache

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
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


# The bounds that --choose-convolution states, for outputs about N(0, 1).
@pytest.mark.parametrize(("winograd", "bound"), [("force4", 5e-5), ("force2", 5e-6)])
def test_the_stated_error_holds_for_many_channels(winograd: str, bound: float) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((1, 512, 13, 14)).astype(np.float32)
    w = (rng.standard_normal((32, 512, 3, 3)) / np.sqrt(9 * 512)).astype(np.float32)
    compiled = nn_opt.compile(one_conv(x, w), winograd=winograd, threads=1, cache=False)
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    exact = np.einsum("ncpqrs,fcrs->nfpq", windows, w.astype(np.float64), optimize=True)
    assert 0.9 < exact.std() < 1.1
    assert np.abs(compiled.run({"x": x})["y"] - exact).max() < bound


def one_conv(x: Array, w: Array) -> onnx.ModelProto:
    """Return the model y = conv(x, w) that keeps the size of the image."""
    shape = [x.shape[0], w.shape[0], *x.shape[2:]]
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])],
        "one_conv",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(w, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_the_option_reaches_the_kernels() -> None:
    model, _, _ = network("resnet18")
    for winograd, expected in (("off", False), ("force4", True)):
        compiled = nn_opt.compile(model, winograd=winograd, threads=1, cache=False)
        assert ('algorithm "winograd4"' in compiled.ir("graph")) is expected


def test_an_unknown_choice_is_named() -> None:
    model, inputs, _ = network("resnet18")
    with pytest.raises(DiagnosticError, match="winograd is 'fast', expected one of auto"):
        nn_opt.compile(model, winograd="fast", cache=False).run(inputs)
