"""sin, cos, tan: the angle in turns, exact for every binary32, then polynomials.

A turn is 2 pi. 1 / (2 pi) is cut into pieces of 29 bits: a binary32 times one of them is exact in
binary64, and so is what is left of it without its whole turns. The last piece has 53 bits; it
ends 2^-202, far below what the largest binary32 needs.
"""

from __future__ import annotations

from functools import reduce

from nn_opt.passes.expand_math_terms import Term

PIECES = (
    0.15915494272485375,
    3.6704158115630214e-10,
    5.690025167992954e-19,
    1.4703036846932608e-27,
    2.5867171752090537e-36,
    9.458140970740169e-46,
)
TWO_PI = 6.283185307179586
ROUNDER = 12582912.0  # 1.5 * 2^23
LINEAR = 2.0**-13  # of less, sin(x) and tan(x) round to x

# (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4 in r^2, for |r| <= pi / 4
SIN = (
    2.832765858329367e-06,
    -0.00019853074627462775,
    0.008333379402756691,
    -0.1666666716337204,
)
COS = (2.4432563805021346e-05, -0.0013887310633435845, 0.04166664555668831)
# the same in binary64: sin(r) / r within 2^-37, cos(r) within 2^-34
SIN_DOUBLE = (
    2.7171450988428284e-06,
    -0.0001983917751739484,
    0.008333328687354822,
    -0.16666666630417037,
    0.9999999999954458,
)
COS_DOUBLE = (
    2.4372590915779846e-05,
    -0.0013886528171130606,
    0.04166661320022766,
    -0.49999999571201376,
    0.9999999999438777,
)


def quarters(x: Term) -> tuple[Term, Term]:
    """Return (r, n): x is n quarters of a turn and an angle |r| <= pi / 4, in binary64.

    n is an integer's low bits. NaN and infinities give NaN.
    """
    wide = x.to_double()
    products = [wide * piece for piece in PIECES]
    parts = [product - product.round_even() for product in products]
    whole = (reduce(Term.__add__, parts) * 4.0).round_even()
    # What may cancel is added first, so that each sum's error is small beside the result.
    first, *others = parts
    turns = reduce(Term.__add__, others, first - whole * 0.25)
    return turns * TWO_PI, (whole.to_single() + ROUNDER).bits()


def wave(angle: Term, quarter: Term) -> Term:
    """sin(r + n * pi / 2)"""
    square = angle * angle
    sine = (square.polynomial(SIN) * square).fma(angle, angle)
    cosine = (square.polynomial(COS)).fma(square * square, square.fma(-0.5, 1.0))
    result = quarter.has_bits(1).choose(cosine, sine)
    return (result.bits() ^ ((quarter & 2) << 30)).from_bits()


def sin(x: Term) -> Term:
    """2 ulp"""
    angle, quarter = quarters(x)
    result = wave(angle.to_single(), quarter)
    return abs(x).compare("olt", LINEAR).choose(x, result)


def cos(x: Term) -> Term:
    """2 ulp"""
    angle, quarter = quarters(x)
    return wave(angle.to_single(), quarter + 1)


def tan(x: Term) -> Term:
    """1 ulp; in odd quarters -cos(r) / sin(r)."""
    angle, quarter = quarters(x)
    square = angle * angle
    sine, cosine = square.polynomial(SIN_DOUBLE) * angle, square.polynomial(COS_DOUBLE)
    is_odd = quarter.has_bits(1)
    result = is_odd.choose(-cosine, sine) / is_odd.choose(sine, cosine)
    return abs(x).compare("olt", LINEAR).choose(x, result.to_single())
