"""Discrete Fourier transforms as matrix products, of factors of the length where it is long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from nn_opt.dialects import graph
from nn_opt.frontends.onnx.node import Array, constant, reshaped, transposed
from nn_opt.ir.types import shape_of

SHORT = 64  # lengths whose transform is one product with a matrix
PRIME = 512  # ... and prime ones, longer than which a transform is a convolution


@dataclass(frozen=True)
class Complex:
    """Real and imaginary parts, f64 of one shape; no imaginary part stands for zeros."""

    re: SSAValue
    im: SSAValue | None

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.re)

    def reshaped(self, shape: Sequence[int]) -> Complex:
        return Complex(
            reshaped(self.re, shape), None if self.im is None else reshaped(self.im, shape)
        )

    def transposed(self, perm: Sequence[int]) -> Complex:
        im = None if self.im is None else transposed(self.im, perm)
        return Complex(transposed(self.re, perm), im)

    def swapped(self) -> Complex:
        """Return the last two axes exchanged."""
        rank = len(self.shape)
        return self.transposed([*range(rank - 2), rank - 1, rank - 2])

    def first(self, count: int) -> Complex:
        """Return the first elements along the last axis, zeros after the end."""
        return Complex(_first(self.re, count), None if self.im is None else _first(self.im, count))

    def times(self, re: Array, im: Array) -> Complex:
        """Return the product with known numbers, element by element."""
        c, s = constant(re), constant(im)
        if self.im is None:
            return Complex(_mul(self.re, c), _mul(self.re, s))
        real = graph.SubOp(_mul(self.re, c), _mul(self.im, s)).result
        return Complex(real, graph.AddOp(_mul(self.re, s), _mul(self.im, c)).result)

    def product(self, re: Array, im: Array) -> Complex:
        """Return the matrix product with known numbers."""
        c, s = constant(re), constant(im)
        if self.im is None:
            return Complex(_dot(self.re, c), _dot(self.re, s))
        real = graph.SubOp(_dot(self.re, c), _dot(self.im, s)).result
        return Complex(real, graph.AddOp(_dot(self.re, s), _dot(self.im, c)).result)


def _mul(a: SSAValue, b: SSAValue) -> SSAValue:
    return graph.MulOp(a, b).result


def _dot(a: SSAValue, b: SSAValue) -> SSAValue:
    return graph.MatmulOp(a, b).result


def _first(x: SSAValue, count: int) -> SSAValue:
    shape = shape_of(x)
    if count == shape[-1]:
        return x
    none = [0] * len(shape)
    return graph.PadOp(x, [*none, *none[1:], count - shape[-1]]).result


def _roots(exponents: Array, length: int, sign: int) -> tuple[Array, Array]:
    """Return the real and imaginary parts of exp(sign * 2 pi i * exponent / length)."""
    angles = 2 * np.pi * (exponents % length) / length
    return np.cos(angles), sign * np.sin(angles)


def _factor(length: int) -> int:
    """Return the largest factor up to the square root; 1 of a prime number."""
    return next(f for f in range(int(length**0.5), 0, -1) if length % f == 0)


def transform(x: Complex, length: int, sign: int, bins: int | None = None) -> Complex:
    """Return the first `bins` of all sums of x[n] * exp(sign * 2 pi i * k * n / length), n along
    the last axis, cut off or with zeros at its end to be as long.
    """
    bins = length if bins is None else bins
    x = x.first(min(length, x.shape[-1]))
    factor = _factor(length)
    if length <= SHORT or (factor == 1 and length <= PRIME):
        exponents = np.outer(np.arange(x.shape[-1]), np.arange(bins))
        return x.product(*_roots(exponents, length, sign))
    if factor == 1:
        return _by_convolution(x, length, sign).first(bins)
    return _by_factors(x.first(length), factor, length // factor, sign).first(bins)


def _by_factors(x: Complex, a: int, b: int, sign: int) -> Complex:
    """With n = b n1 + n2 and k = k1 + a k2: transforms along n1, roots of both, along n2."""
    outer = x.shape[:-1]
    columns = transform(x.reshaped([*outer, a, b]).swapped(), a, sign)
    roots = _roots(np.outer(np.arange(b), np.arange(a)), a * b, sign)
    rows = transform(columns.times(*roots).swapped(), b, sign)
    return rows.swapped().reshaped([*outer, a * b])


def _by_convolution(x: Complex, length: int, sign: int) -> Complex:
    """n k = (n^2 + k^2 - (k - n)^2) / 2 makes of it a convolution. Source: Bluestein, 1970."""
    size = 1 << (2 * length - 1).bit_length()
    squares = np.arange(length, dtype=np.int64) ** 2
    chirp = _roots(squares, 2 * length, sign)
    wave = np.zeros(size, np.complex128)
    wave[:length] = chirp[0] - 1j * chirp[1]
    wave[size - length + 1 :] = wave[length - 1 : 0 : -1]
    spectrum = np.fft.fft(wave) / size
    own = x.shape[-1]
    folded = transform(x.times(chirp[0][:own], chirp[1][:own]), size, -1)
    around = transform(folded.times(spectrum.real, spectrum.imag), size, 1, length)
    return around.times(*chirp)
