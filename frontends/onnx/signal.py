"""Converters of signals: DFT, STFT, MelWeightMatrix. Sums run in f64, whatever the operand is."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.contrib import contrib
from nn_opt.frontends.onnx.fourier import Complex, transform
from nn_opt.frontends.onnx.node import (
    Array,
    BadNode,
    Node,
    Results,
    axis_in,
    cast,
    check_count,
    constant,
    rank_of,
    reshaped,
    transposed,
)
from nn_opt.frontends.onnx.table import converts
from nn_opt.ir.types import element_type, mlir_type, shape_of

F64 = mlir_type(np.float64)


def _parts(x: SSAValue) -> Complex:
    """Return numbers [.., 1 or 2] as real and imaginary parts, in f64."""
    shape = shape_of(x)
    if not shape or shape[-1] not in (1, 2):
        raise BadNode(f"operand has shape {list(shape)}, expected 1 or 2 parts along the last axis")
    wide = cast(x, F64)
    if shape[-1] == 1:
        return Complex(reshaped(wide, shape[:-1]), None)
    return Complex(_part(wide, 0), _part(wide, 1))


def _part(x: SSAValue, at: int) -> SSAValue:
    shape = shape_of(x)
    starts, sizes = [0] * (len(shape) - 1) + [at], [*shape[:-1], 1]
    return reshaped(graph.SliceOp(x, starts, sizes, [1] * len(shape)).result, shape[:-1])


def _joined(parts: list[SSAValue], like: SSAValue) -> SSAValue:
    """Return parts along a new last axis, in the element type of `like`."""
    columns = [reshaped(part, [*shape_of(part), 1]) for part in parts]
    both = columns[0] if len(columns) == 1 else graph.ConcatOp(columns, -1).result
    return cast(both, element_type(like))


@converts("DFT")
def dft(node: Node) -> Results:
    """Opset 17 has the axis as an attribute; a one-sided inverse has a real result."""
    x, rank = node[0], rank_of(node[0])
    given = node.known_ints(2) if node.version >= 20 else [node.attrs.int("axis", 1)]
    axis = axis_in((given or [-2])[0], rank)
    if axis == rank - 1:
        raise BadNode(f"axis {axis} is that of the parts of a number")
    inverse, onesided = node.attrs.flag("inverse"), node.attrs.flag("onesided")
    size = shape_of(x)[axis]
    length = (node.known_ints(1) or [2 * (size - 1) if inverse and onesided else size])[0]
    if length < 1:
        raise BadNode(f"dft_length is {length}, expected at least 1")
    forth = [*(a for a in range(rank - 1) if a != axis), axis]
    signal = _parts(x).transposed(forth)
    if inverse and onesided:
        parts = [_real_inverse(signal, length)]
    else:
        parts = _both(signal, length, 1 if inverse else -1, onesided)
    back = [forth.index(a) for a in range(rank - 1)]
    return _joined([transposed(part, back) for part in parts], x)


def _both(x: Complex, length: int, sign: int, onesided: bool) -> list[SSAValue]:
    bins = length // 2 + 1 if onesided else length
    found = transform(x, length, sign, bins)
    assert found.im is not None, "a transform has both parts"
    parts = [found.re, found.im]
    return [_divided(part, length) for part in parts] if sign > 0 else parts


def _divided(x: SSAValue, by: int) -> SSAValue:
    return graph.DivOp(x, constant(np.asarray(by, np.float64))).result


def _real_inverse(x: Complex, length: int) -> SSAValue:
    """Return the signal whose first frequencies are given: the others are their conjugates.

    Twice the real part of the sum over those that have a partner.
    """
    bins = length // 2 + 1
    own = min(bins, x.shape[-1])
    factors = np.full(own, 2.0)
    factors[0] = 1
    if length % 2 == 0 and own == bins:
        factors[-1] = 1
    weighted = x.first(own).times(factors, np.zeros(own))
    return _divided(transform(weighted, length, 1).re, length)


@contrib("Rfft", needs=1, attrs="onesided", only={"normalized": 0, "signal_ndim": 1})
def real_transform(node: Node) -> Results:
    """Of the last axis; both parts of numbers come on a new one."""
    x = node[0]
    signal = Complex(cast(x, F64), None)
    return _joined(_both(signal, shape_of(x)[-1], -1, onesided=True), x)


@contrib("Irfft", needs=1, attrs="onesided", only={"normalized": 0, "signal_ndim": 1})
def real_inverse(node: Node) -> Results:
    x = node[0]
    bins = shape_of(x)[-2]
    if bins < 2:
        raise BadNode(f"{bins} frequencies, expected at least 2")
    return cast(_real_inverse(_parts(x), 2 * (bins - 1)), element_type(x))


@converts("STFT")
def stft(node: Node) -> Results:
    """Frames of the signal, times a window, and their transforms."""
    signal, step = node[0], (node.known_ints(1) or [0])[0]
    window, given = node.get(2), node.known_ints(3)
    if rank_of(signal) == 2:
        signal = reshaped(signal, [*shape_of(signal), 1])
    length = given[0] if given else shape_of(window)[0] if window is not None else 0
    samples = shape_of(signal)[1]
    if step < 1 or not 1 <= length <= samples:
        raise BadNode(f"frames of {length} samples, {step} apart, do not fit {samples} samples")
    starts = np.arange((samples - length) // step + 1, dtype=np.int64) * step
    places = constant(starts[:, None] + np.arange(length))
    parts = _parts(signal)
    frames = [_frames(part, places, window) for part in (parts.re, parts.im) if part is not None]
    both = Complex(frames[0], frames[1] if len(frames) > 1 else None)
    return _joined(_both(both, length, -1, node.attrs.flag("onesided", True)), signal)


def _frames(signal: SSAValue, places: SSAValue, window: SSAValue | None) -> SSAValue:
    frames = graph.GatherOp(signal, places, 1).result
    return frames if window is None else graph.MulOp(frames, cast(window, F64)).result


@converts("MelWeightMatrix")
def mel_weight_matrix(node: Node) -> Results:
    values = [node.known(index) for index in range(5)]
    bins, length, rate, low, high = (float(v.reshape(-1)[0]) for v in values if v is not None)
    check_count(int(bins) * (int(length) // 2 + 1))
    dtype = node.attrs.dtype("output_datatype", TensorProto.FLOAT)
    return constant(mel_weights(int(bins), int(length), int(rate), low, high).astype(dtype))


def mel_weights(bins: int, length: int, rate: int, low: float, high: float) -> Array:
    """Return triangles, as wide as their neighbours are apart on the mel scale.

    Source: ONNX MelWeightMatrix-17; mel(f) = 2595 log10(1 + f / 700).
    """
    first, last = (2595 * np.log10(1 + edge / 700) for edge in (low, high))
    mels = np.arange(bins + 2) * ((last - first) / (bins + 2)) + first
    hertz = 700 * (10 ** (mels / 2595) - 1)
    edges = (((length + 1) * hertz) // rate).astype(np.int64)
    weights = np.zeros((length // 2 + 1, bins))
    for at in range(bins):
        left, center, right = edges[at : at + 3]
        if center == left:
            weights[center, at] = 1
        else:
            weights[left : center + 1, at] = (np.arange(left, center + 1) - left) / (center - left)
        if right > center:
            weights[center:right, at] = (right - np.arange(center, right)) / (right - center)
    return weights
