"""Transforms of signals against NumPy's, in f64."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_rows import Row, ints, noise
from onnx_text import at_graph_level, parse

import nn_opt


@pytest.mark.parametrize("length", [1, 5, 64, 67, 90, 521, 1024])
@pytest.mark.parametrize("inverse", [0, 1])
def test_transforms_of_any_length(length: int, inverse: int) -> None:
    parts = noise(2, length, 2, seed=length)
    model = parse(
        f"g (float[2,{length},2] x) => (float[] y) {{ y = DFT<inverse = {inverse}>(x) }}", 20
    )
    (got,) = at_graph_level(model, {"x": parts})
    signal = parts[..., 0] + 1j * parts[..., 1].astype(np.float64)
    want = np.fft.ifft(signal) if inverse else np.fft.fft(signal)
    np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], want, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("length", [6, 9, 12])
@pytest.mark.parametrize("opset", [17, 20])
def test_one_sided_there_and_back(length: int, opset: int) -> None:
    real = noise(2, 8, 3, 1)
    weights = {"n": ints(length), "a": ints(1)}
    axis, operand = ("<axis = 1, ", "") if opset == 17 else ("<", ", a")
    node = f"{{{{ y = DFT{axis}onesided = 1{{}}>(x, n{operand}) }}}}"
    size = f"float[2,{{}},3,{{}}] x) => (float[] y) {node}"
    if opset == 17:
        weights.pop("a")
    forth = parse("g (" + size.format(8, 1, ""), opset, weights)
    (spectrum,) = at_graph_level(forth, {"x": real})
    want = np.fft.rfft(real[..., 0], length, axis=1)
    np.testing.assert_allclose(spectrum[..., 0] + 1j * spectrum[..., 1], want, atol=1e-5)
    back = parse("g (" + size.format(length // 2 + 1, 2, ", inverse = 1"), opset, weights)
    (signal,) = at_graph_level(back, {"x": spectrum})
    padded = np.zeros((2, length, 3))
    padded[:, : min(length, 8)] = real[:, :length, :, 0]
    np.testing.assert_allclose(signal[..., 0], padded, atol=1e-5)


@pytest.mark.parametrize("parts", [1, 2])
def test_frames(parts: int) -> None:
    signal, window = noise(2, 40, parts), np.hanning(16).astype(np.float32)
    onesided = parts == 1
    node = f"y = STFT<onesided = {int(onesided)}>(x, s, w, n)"
    text = f"g (float[2,40,{parts}] x) => (float[] y) {{ {node} }}"
    model = parse(text, 17, {"s": np.int64(5), "w": window, "n": np.int64(16)})
    (got,) = at_graph_level(model, {"x": signal})
    wide = signal[..., 0] if onesided else signal[..., 0] + 1j * signal[..., 1]
    frames = np.stack([wide[:, at : at + 16] * window for at in range(0, 25, 5)], 1)
    want = np.fft.rfft(frames) if onesided else np.fft.fft(frames)
    np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], want, atol=1e-5)


def test_compiled_transforms_are_as_exact() -> None:
    signal = noise(3, 400, 1)
    model = parse("g (float[3,400,1] x) => (float[] y) { y = DFT<onesided = 1>(x) }", 20)
    (got,) = nn_opt.compile(model, threads=1).run({"x": signal}).values()
    want = np.fft.rfft(signal[..., 0].astype(np.float64))
    np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], want, rtol=1e-6, atol=1e-6)


def test_mel_weights_agree_with_onnxruntime() -> None:
    known = {"b": np.int64(8), "n": np.int64(64), "r": np.int64(8192)}
    known |= {"l": np.float32(20), "h": np.float32(4000)}
    Row("y = MelWeightMatrix(b, n, r, l, h)", {}, known).check()


@pytest.mark.parametrize(
    ("node", "shape", "words"),
    [
        ("DFT<axis = -1>(x)", (2, 8, 1), "axis 2 is that of the parts of a number"),
        ("DFT<axis = 1>(x)", (2, 8, 3), "expected 1 or 2 parts along the last axis"),
        ("DFT<axis = 1>(x, z)", (2, 8, 1), "dft_length is 0, expected at least 1"),
        ("STFT(x, s, e, n)", (2, 8, 1), "frames of 16 samples, 5 apart, do not fit 8 samples"),
    ],
)
def test_refusals(node: str, shape: tuple[int, ...], words: str) -> None:
    known = {"z": ints(0), "s": np.int64(5), "n": np.int64(16), "e": np.ones(16, np.float32)}
    row = Row(
        f"y = {node}", {"x": noise(*shape)}, {k: v for k, v in known.items() if f" {k}" in node}
    )
    with pytest.raises(nn_opt.DiagnosticError, match=words):
        at_graph_level(row.model(), row.inputs)
