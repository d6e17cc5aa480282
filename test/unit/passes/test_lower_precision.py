"""precision=bf16: products of rounded numbers, sums in f32; refused where no machine can."""
# ruff: noqa: E501  (lines of IR)

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from programs import apply, normal, op_names, program
from xdsl.dialects.builtin import ModuleOp

from nn_opt.backends.llvm import print_module
from nn_opt.backends.llvm.object import emit_assembly
from nn_opt.compiler import compile, require_runnable
from nn_opt.dialects.loop import DotOp
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.parsing import make_context
from nn_opt.ir.target import host, set_target, target_named
from nn_opt.passes.fold_constants import FoldConstantsPass
from nn_opt.passes.lower_precision import FEATURE, LowerPrecisionPass
from nn_opt.pipelines import expand, run_passes
from nn_opt.reference import run
from nn_opt.runtime.loader import RuntimeFault

MATMUL = """
func.func @main(%x: tensor<{m}x{k}xf32>, %b: tensor<{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %w = graph.constant #graph.resource<"w"> : tensor<{k}x{n}xf32>
  %p = graph.matmul %x, %w : (tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %y = graph.add %p, %b : (tensor<{m}x{n}xf32>, tensor<{n}xf32>) -> tensor<{m}x{n}xf32>
  func.return %y : tensor<{m}x{n}xf32>
}}"""
BLOCK = """
func.func @main(%x: tensor<1x{c}x{h}x{h}xf32>) -> tensor<1x{c}x{h}x{h}xf32> {{
  %w = graph.constant #graph.resource<"w"> : tensor<{c}x{c}x3x3xf32>
  %v = graph.constant #graph.resource<"v"> : tensor<{c}x{c}x1x1xf32>
  %a = graph.relu %x : tensor<1x{c}x{h}x{h}xf32>
  %p = graph.conv %a, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x{c}x{h}x{h}xf32>, tensor<{c}x{c}x3x3xf32>) -> tensor<1x{c}x{h}x{h}xf32>
  %r = graph.relu %p : tensor<1x{c}x{h}x{h}xf32>
  %q = graph.conv %r, %v strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x{c}x{h}x{h}xf32>, tensor<{c}x{c}x1x1xf32>) -> tensor<1x{c}x{h}x{h}xf32>
  %s = graph.add %q, %a : (tensor<1x{c}x{h}x{h}xf32>, tensor<1x{c}x{h}x{h}xf32>) -> tensor<1x{c}x{h}x{h}xf32>
  func.return %s : tensor<1x{c}x{h}x{h}xf32>
}}"""
CAN_RUN = pytest.mark.skipif(not host().has(FEATURE), reason=f"this processor lacks {FEATURE}")
Array = NDArray[Any]


def rounded(x: Array) -> NDArray[np.float64]:
    return x.astype(ml_dtypes.bfloat16).astype(np.float64)


def block(x: Array, w: Array, v: Array) -> NDArray[np.float64]:
    """Return what BLOCK computes of rounded numbers, in float64."""
    a = rounded(np.maximum(x, 0))
    padded = np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    p = np.einsum("ncpqrs,fcrs->nfpq", windows, rounded(w))
    r = rounded(np.maximum(p, 0).astype(np.float32))
    return np.einsum("ncpq,fc->nfpq", r, rounded(v)[:, :, 0, 0]) + a


@pytest.mark.parametrize(("m", "k", "n"), [(5, 64, 32), (1, 34, 48)])
def test_matmuls_multiply_rounded_numbers(m: int, k: int, n: int):
    w, x, b = normal(k, n), normal(m, k, seed=1), normal(n, seed=2)
    module = program(MATMUL.format(m=m, k=k, n=n), w=w)
    set_target(module, "zen4")
    apply(module, LowerPrecisionPass("bf16"), FoldConstantsPass())
    assert op_names(module) == ["graph.cast", "graph.matmul", "graph.add"]
    (result,) = run(module, [x, b])
    np.testing.assert_allclose(result, rounded(x) @ rounded(w) + b, rtol=1e-5, atol=1e-5)


@CAN_RUN
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [
        (1, 64, 16),
        (1, 256, 128),
        (3, 66, 48),
        (17, 160, 32),
        (64, 96, 96),
        (1, 65, 40),
        (9, 33, 72),
    ],
)
def test_compiled_matmuls(m: int, k: int, n: int):
    """The instruction sums pairs without rounding between: f32 sums of k products, at least."""
    w, x, b = normal(k, n), normal(m, k, seed=1), normal(n, seed=2)
    model = compile(program(MATMUL.format(m=m, k=k, n=n), w=w), precision="bf16", cache=False)
    expected = rounded(x) @ rounded(w) + b
    np.testing.assert_allclose(model(x, b), expected, rtol=1e-5, atol=1e-4)
    assert "dot_bf16x2" in model.ir("loop")


@CAN_RUN
@pytest.mark.parametrize("scale", [1.0, 2.0**-60, 2.0**-63])
def test_products_have_the_bits_of_the_interpreter(scale: float):
    """Also where numbers are so small that products, or sums of them, are denormal."""
    w, x, b = normal(66, 48), normal(3, 66, seed=1), np.zeros(48, np.float32)
    w, x = w * np.float32(scale), x * np.float32(scale)
    module = program(MATMUL.format(m=3, k=66, n=48), w=w)
    model = compile(module, precision="bf16", cache=False)
    lowered = program(MATMUL.format(m=3, k=66, n=48), w=w)
    set_target(lowered, "zen4")
    passes = expand("compile", "precision=bf16")
    names = [step.name for step in passes]
    run_passes(make_context(), lowered, passes[: names.index("tensorize-loops") + 1])
    assert any(isinstance(op, DotOp) for op in lowered.walk())
    (expected,) = run(lowered, [x, b])
    assert expected.any()
    np.testing.assert_array_equal(model(x, b).view(np.uint32), expected.view(np.uint32))


@CAN_RUN
@pytest.mark.parametrize(("c", "h"), [(16, 5), (32, 7), (48, 14), (32, 17)])
def test_compiled_convolutions(c: int, h: int):
    """Sums of 9 c products differ in f32; one that rounds to another bf16 moves the result."""
    w, v = normal(c, c, 3, 3) / np.float32(3 * c**0.5), normal(c, c, 1, 1, seed=1)
    x = normal(1, c, h, h, seed=2)
    text = BLOCK.format(c=c, h=h)
    model = compile(program(text, w=w, v=v), precision="bf16", winograd="off", cache=False)
    expected = block(x, w, v)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(model(x) / scale, expected / scale, atol=2e-3)
    assert np.abs(model(x) - expected).mean() / scale < 1e-5
    exact = compile(program(text, w=w, v=v), winograd="off", cache=False)
    assert 1e-4 < np.abs(model(x) - exact(x)).max() / scale < 2e-2


@CAN_RUN
def test_all_blocked_convolutions_become_dots():
    w, v = normal(32, 32, 3, 3), normal(32, 32, 1, 1, seed=1)
    module = program(BLOCK.format(c=32, h=14), w=w, v=v)
    set_target(module, "zen4")
    passes = expand("compile", "precision=bf16 winograd=off")
    names = [step.name for step in passes]
    run_passes(make_context(), module, passes[: names.index("tensorize-loops") + 1])
    kernels = {op.parent_op() for op in module.walk() if isinstance(op, DotOp)}
    assert len(kernels) >= 2
    assert all(dot.group == 2 for dot in module.walk() if isinstance(dot, DotOp))


STEM = """
func.func @main(%x: tensor<1x3x{h}x{h}xf32>) -> tensor<1x32x{p}x{p}xf32> {{
  %w = graph.constant #graph.resource<"w"> : tensor<32x3x3x3xf32>
  %v = graph.constant #graph.resource<"v"> : tensor<32x32x1x1xf32>
  %a = graph.conv %x, %w strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x3x{h}x{h}xf32>, tensor<32x3x3x3xf32>) -> tensor<1x32x{p}x{p}xf32>
  %y = graph.conv %a, %v strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x32x{p}x{p}xf32>, tensor<32x32x1x1xf32>) -> tensor<1x32x{p}x{p}xf32>
  func.return %y : tensor<1x32x{p}x{p}xf32>
}}"""


@CAN_RUN
def test_an_image_of_three_channels_is_filled_up():
    h = 65
    w, v, x = normal(32, 3, 3, 3), normal(32, 32, 1, 1, seed=1) / 6, normal(1, 3, h, h, seed=2)
    module = program(STEM.format(h=h, p=33), w=w, v=v)
    model = compile(module, precision="bf16", cache=False)
    padded = np.pad(rounded(x), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    a = np.einsum("ncpqrs,fcrs->nfpq", windows, rounded(w))
    expected = np.einsum("ncpq,fc->nfpq", rounded(a.astype(np.float32)), rounded(v)[:, :, 0, 0])
    assert "NCHW4c->NCHW16c" in model.ir("kernels")
    scale = np.abs(expected).max()
    np.testing.assert_allclose(model(x) / scale, expected / scale, atol=2e-3)


ATTENTION = """
func.func @main(%q: tensor<{b}x{m}x2x{k}xf32>, %k: tensor<{b}x{n}x2x{k}xf32>, %v: tensor<{b}x{n}x2x{k}xf32>) -> tensor<{b}x2x{m}x{k}xf32> {{
  %a = graph.transpose %q perm [0, 2, 1, 3] : (tensor<{b}x{m}x2x{k}xf32>) -> tensor<{b}x2x{m}x{k}xf32>
  %t = graph.transpose %k perm [0, 2, 3, 1] : (tensor<{b}x{n}x2x{k}xf32>) -> tensor<{b}x2x{k}x{n}xf32>
  %u = graph.transpose %v perm [0, 2, 1, 3] : (tensor<{b}x{n}x2x{k}xf32>) -> tensor<{b}x2x{n}x{k}xf32>
  %s = graph.matmul %a, %t : (tensor<{b}x2x{m}x{k}xf32>, tensor<{b}x2x{k}x{n}xf32>) -> tensor<{b}x2x{m}x{n}xf32>
  %p = graph.softmax %s axis 3 : tensor<{b}x2x{m}x{n}xf32>
  %y = graph.matmul %p, %u : (tensor<{b}x2x{m}x{n}xf32>, tensor<{b}x2x{n}x{k}xf32>) -> tensor<{b}x2x{m}x{k}xf32>
  func.return %y : tensor<{b}x2x{m}x{k}xf32>
}}"""


@CAN_RUN
@pytest.mark.parametrize(("b", "m", "n", "k"), [(1, 64, 64, 32), (2, 40, 48, 16), (1, 33, 96, 64)])
def test_attention_multiplies_packed_keys_and_values(b: int, m: int, n: int, k: int):
    q, key, v = (normal(b, rows, 2, k, seed=seed) for seed, rows in enumerate((m, n, n)))
    module = program(ATTENTION.format(b=b, m=m, n=n, k=k))
    model = compile(module, precision="bf16", cache=False)
    scores = np.einsum("bmhk,bnhk->bhmn", rounded(q), rounded(key))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    expected = np.einsum("bhmn,bnhk->bhmk", rounded(weights.astype(np.float32)), rounded(v))
    assert model.ir("kernels").count("wide") == 2
    np.testing.assert_allclose(model(q, key, v), expected, rtol=1e-3, atol=1e-3)


DEPTHWISE = """
func.func @main(%x: tensor<1x{c}x{h}x{h}xf32>) -> tensor<1x{c}x{h}x{h}xf32> {{
  %w = graph.constant #graph.resource<"w"> : tensor<{c}x{c}x1x1xf32>
  %v = graph.constant #graph.resource<"v"> : tensor<{c}x1x3x3xf32>
  %p = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x{c}x{h}x{h}xf32>, tensor<{c}x{c}x1x1xf32>) -> tensor<1x{c}x{h}x{h}xf32>
  %m = graph.pool %p kind "max" kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : (tensor<1x{c}x{h}x{h}xf32>) -> tensor<1x{c}x{h}x{h}xf32>
  %y = graph.conv %m, %v strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group {c} : (tensor<1x{c}x{h}x{h}xf32>, tensor<{c}x1x3x3xf32>) -> tensor<1x{c}x{h}x{h}xf32>
  func.return %y : tensor<1x{c}x{h}x{h}xf32>
}}"""


@CAN_RUN
@pytest.mark.parametrize(("c", "h"), [(48, 14), (64, 15)])
def test_depthwise_convolutions_and_maxima_read_rounded_images(c: int, h: int):
    w, v = normal(c, c, 1, 1) / np.float32(c**0.5), normal(c, 1, 3, 3, seed=1)
    x = normal(1, c, h, h, seed=2)
    module = program(DEPTHWISE.format(c=c, h=h), w=w, v=v)
    model = compile(module, precision="bf16", cache=False)
    p = rounded(np.einsum("ncpq,fc->nfpq", rounded(x), rounded(w)[:, :, 0, 0]).astype(np.float32))
    padded = np.pad(p, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    m = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3)).max((-2, -1))
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(m, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), axis=(2, 3)
    )
    expected = np.einsum("ncpqrs,crs->ncpq", windows, v[:, 0].astype(np.float64))
    scale = np.abs(expected).max()
    np.testing.assert_allclose(model(x) / scale, expected / scale, atol=2e-3)
    kernels = model.ir("kernels")
    assert "graph.pool" in kernels
    assert all("xbf16>" in line for line in kernels.splitlines() if "graph.pool" in line)


def test_the_largest_of_bf16_is_found_in_vectors():
    """Half floats are compared as single ones, for which there are vectors."""
    module = program(DEPTHWISE.format(c=48, h=14), w=normal(48, 48, 1, 1), v=normal(48, 1, 3, 3))
    set_target(module, "zen4")
    run_passes(make_context(), module, expand("compile", "precision=bf16"))
    assembly = emit_assembly(print_module(module), target_named("zen4"))
    assert "vmaxps" in assembly
    assert "vmaxss" not in assembly


@pytest.mark.parametrize(("winograd", "kept"), [("auto", True), ("off", False), ("force4", True)])
def test_winograd_keeps_what_it_speeds_up_more(winograd: str, kept: bool):
    w, v = normal(64, 64, 3, 3), normal(64, 64, 1, 1, seed=1)
    module = program(BLOCK.format(c=64, h=56), w=w, v=v)
    set_target(module, "zen4")
    passes = expand("optimize-graph", f"precision=bf16 winograd={winograd}")
    run_passes(make_context(), module, passes)
    text = str(module)
    assert ("algorithm" in text) == kept
    assert "OIHW8i16o2i" in text


CUBE = """
func.func @main(%x: tensor<1x{c}x{h}x{h}xf32>) -> tensor<1x{f}x{h}x{h}xf32> {{
  %w = graph.constant #graph.resource<"w"> : tensor<{f}x{c}x3x3xf32>
  %y = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1 : (tensor<1x{c}x{h}x{h}xf32>, tensor<{f}x{c}x3x3xf32>) -> tensor<1x{f}x{h}x{h}xf32>
  func.return %y : tensor<1x{f}x{h}x{h}xf32>
}}"""


@CAN_RUN
@pytest.mark.parametrize(("c", "f", "h"), [(128, 128, 14), (256, 240, 7), (256, 256, 8)])
def test_winograd_in_bf16(c: int, f: int, h: int):
    """Its error is about twice that of the direct sum of rounded numbers."""
    w, x = normal(f, c, 3, 3) / np.float32(3 * c**0.5), normal(1, c, h, h, seed=2)
    text = CUBE.format(c=c, f=f, h=h)
    model = compile(program(text, w=w), precision="bf16", cache=False)
    kernels = model.ir("kernels")
    assert 'weight_layout "OIHW8i16o2i" algorithm "winograd2" wide' in kernels
    assert "dot_bf16x2" in model.ir("loop")
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), axis=(2, 3)
    )
    exact = np.einsum("ncpqrs,fcrs->nfpq", windows, w.astype(np.float64), optimize=True)
    (meaning,) = run(model_graph(text, w), [x])
    size = np.linalg.norm(exact)
    assert 1e-3 < np.linalg.norm(model(x) - exact) / size < 6e-3
    assert np.linalg.norm(model(x) - meaning) / size < 1e-3


def model_graph(text: str, w: Array) -> ModuleOp:
    """Return the graph in bf16 that is compiled."""
    module = program(text, w=w)
    set_target(module, "zen4")
    run_passes(make_context(), module, expand("optimize-graph", "precision=bf16"))
    return module


def test_f32_changes_nothing():
    module = program(MATMUL.format(m=2, k=4, n=16), w=normal(4, 16))
    before = str(module)
    apply(module, LowerPrecisionPass())
    assert str(module) == before


@pytest.mark.parametrize("target", ["x86-64-v4", "x86-64-v3", "neon"])
def test_a_target_without_the_instruction_is_refused(target: str):
    module = program(MATMUL.format(m=2, k=4, n=16), w=normal(4, 16))
    set_target(module, target)
    with pytest.raises(DiagnosticError, match=f"the target '{target}' .* lacks {FEATURE}"):
        apply(module, LowerPrecisionPass("bf16"))


def test_deterministic_bf16_is_refused():
    """Its plan is for a machine without the instruction, so that all machines agree."""
    source = program(MATMUL.format(m=2, k=4, n=16), w=normal(4, 16))
    with pytest.raises(DiagnosticError, match=f"lacks {FEATURE}"):
        compile(source, precision="bf16", deterministic=True, cache=False)(normal(2, 4), normal(16))


SPILL = re.compile(r"[xyz]mm\d+.*\(%rsp|\(%rsp.*[xyz]mm\d+")


@pytest.mark.parametrize(("c", "h"), [(64, 56), (128, 28), (512, 7)])
@pytest.mark.parametrize("winograd", ["off", "auto"])
def test_nothing_spills(c: int, h: int, winograd: str):
    """Winograd's transforms also keep padded images on the stack."""
    w, v = normal(c, c, 3, 3), normal(c, c, 1, 1, seed=1)
    module = program(BLOCK.format(c=c, h=h), w=w, v=v)
    set_target(module, "zen4")
    run_passes(make_context(), module, expand("compile", f"precision=bf16 winograd={winograd}"))
    assembly = emit_assembly(print_module(module), target_named("zen4"))
    blocks = re.split(r"^\S+:$", assembly, flags=re.MULTILINE)
    products = [text for text in blocks if "vdpbf16ps" in text]
    assert products
    assert not any(SPILL.findall(text) for text in (products if winograd == "auto" else blocks))


def test_code_for_a_machine_with_more_features_does_not_run_here(monkeypatch: pytest.MonkeyPatch):
    here = replace(host(), features="+avx512f", vector_bytes=64)
    monkeypatch.setattr("nn_opt.ir.target.host", lambda: here)
    with pytest.raises(RuntimeFault, match="code for 'zen4' cannot run on this"):
        require_runnable("zen4")
