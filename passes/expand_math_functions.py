"""exp, log, tanh, erf and their kin in binary32, from polynomials.

The polynomials are near-minimax: reweighted least squares on Chebyshev nodes against 40-digit
values, coefficients rounded to binary32 one after the other. The bounds in units in the last
place are checked by the tests on dense samples; NaN, infinities, signed zeros and subnormal
numbers come out as IEEE 754 and C99 say.
"""

from __future__ import annotations

from nn_opt.passes.expand_math_terms import (
    INFINITY,
    MANTISSA_BITS,
    NAN,
    ONE_BITS,
    Term,
)

LOG2_E = 1.4426950408889634
# ln 2 in two parts: the first has 15 bits, so that its product with an exponent is exact.
LN2_HIGH = 0.693145751953125
LN2_LOW = 1.42860682030941723212e-6
# 1.5 * 2^23: added to a small float, it leaves the nearest integer in the low bits.
ROUNDER = 12582912.0
ROUNDER_BITS = 0x4B400000

# (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2
EXP = (0.0013937846524640918, 0.008368968032300472, 0.041666433215141296, 0.166665181517601, 0.5)
# (log(1 + f) - f + f^2 / 2) / f^3 for 1 / sqrt(2) <= 1 + f <= sqrt(2)
LOG = (
    0.06733614206314087,
    -0.11661745607852936,
    0.11886527389287949,
    -0.12408076971769333,
    0.14220185577869415,
    -0.16667857766151428,
    0.20002074539661407,
    -0.25000011920928955,
    0.3333331346511841,
)
# (tanh(x) / x - 1) / u with u = x^2, for |x| <= 0.625
TANH = (
    -0.0057162027806043625,
    0.020649708807468414,
    -0.05374317243695259,
    0.13331486284732819,
    -0.3333328366279602,
)
# erf(x) / x - 1 as a polynomial in x^2, for |x| <= 1
ERF = (
    7.924130477476865e-05,
    -0.0008031835895963013,
    0.005190844647586346,
    -0.02685517445206642,
    0.11283618956804276,
    -0.3761262893676758,
    0.12837916612625122,
)
# erf(x) is x P(x^2) / Q(x^2) within 3.3e-7 for |x| <= 3.93, and rounds to 1 there.
ERF_P = (
    2.0269576452847105e-06,
    0.00028749307966791093,
    0.0038840975612401962,
    0.05310752987861633,
    0.19317668676376343,
    1.128378987312317,
)
ERF_Q = (
    3.799113619606942e-05,
    0.0011913160560652614,
    0.015203975141048431,
    0.11524838209152222,
    0.5045300126075745,
    1.0,
)
ERF_BOUND = 3.93
# -log(1 - erf(x)) for 1 <= x <= 4
ERFC = (
    -8.597006058153056e-07,
    1.3717517504119314e-05,
    -7.361143070738763e-05,
    -6.289855809882283e-05,
    0.003257553093135357,
    -0.023658933117985725,
    0.10676062107086182,
    0.6343395709991455,
    1.1291451454162598,
    -0.00011479532986413687,
)

EXP_LOWEST, EXP_HIGHEST = -104.0, 89.0  # beyond: 0, infinity
EXP_NORMAL = -87.3365  # of less, the result is no normal number
SQRT_HALF_BITS = 0x3F3504F3
SMALLEST_NORMAL = 1.1754943508222875e-38  # 2^-126
TANH_ONE = 10.0  # tanh of more rounds to 1; so does erf of more than
ERF_ONE = 3.95


def split_exponent(x: Term) -> tuple[Term, Term]:
    """Return (n, e) with exp(x) == 2^n * (1 + e), n an integer's bits and |e| < 0.42."""
    shifted = x.fma(LOG2_E, ROUNDER)
    whole = shifted - ROUNDER
    rest = whole.fma(-LN2_LOW, whole.fma(-LN2_HIGH, x))
    tail = rest.polynomial(EXP)
    return shifted.bits() - ROUNDER_BITS, tail.fma(rest * rest, rest)


def power_of_two(exponent: Term) -> Term:
    """Return 2^exponent for a normal result."""
    return ((exponent << MANTISSA_BITS) + ONE_BITS).from_bits()


def exp(x: Term) -> Term:
    """1 ulp; the scale is applied in two steps, so that subnormal results are rounded once."""
    exponent, rest = split_exponent(x.at_least(EXP_LOWEST).at_most(EXP_HIGHEST))
    half = exponent >> 1
    return (rest + 1.0) * power_of_two(half) * power_of_two(exponent - half)


def bounded_exp(x: Term) -> Term:
    """exp where the result is a normal number."""
    exponent, rest = split_exponent(x)
    return (rest + 1.0) * power_of_two(exponent)


def exp_approximate(x: Term) -> Term:
    """1 ulp of results from 2^-125.999 to 2^127; less may become that, more infinity.

    Enough wherever 1 is added to it, as a sigmoid does, or it is a share of a sum of at least 1.
    """
    return bounded_exp(x.at_least(EXP_NORMAL).at_most(EXP_HIGHEST))


def expm1(x: Term) -> Term:
    """2 ulp; exp(x) - 1 without cancellation."""
    exponent, rest = split_exponent(x.at_least(-18.0).at_most(EXP_HIGHEST))
    half_scale = power_of_two(exponent - 1)
    result = rest.fma(half_scale, half_scale - 0.5) * 2.0
    # Where 2^n is 1, `rest` is the answer, down to the smallest numbers.
    return (abs(x).compare("olt", 0.25)).choose(rest, result).sign_of(x)


def log_of_normal(x: Term, shift: Term | float = 0.0) -> Term:
    """log(x) + shift * ln(2) for a positive normal number."""
    bits = x.bits()
    exponent = (bits - SQRT_HALF_BITS) >> MANTISSA_BITS
    fraction = (bits - (exponent << MANTISSA_BITS)).from_bits() - 1.0
    whole = exponent.to_float() + shift
    square = fraction * fraction
    tail = fraction.polynomial(LOG) * (fraction * square)
    tail = whole.fma(LN2_LOW, tail)
    tail = square.fma(-0.5, tail)
    return whole.fma(LN2_HIGH, fraction + tail)


def log(x: Term) -> Term:
    """1 ulp; subnormal numbers are scaled by 2^23 first."""
    tiny = x.compare("olt", SMALLEST_NORMAL)
    normal = tiny.choose(x * float(1 << MANTISSA_BITS), x)
    shift = tiny.choose(x.like(-float(MANTISSA_BITS)), x.like(0.0))
    return at_edges_of_log(x, log_of_normal(normal, shift))


def at_edges_of_log(x: Term, inside: Term) -> Term:
    """Return `inside`, but infinity of infinity, -infinity of zero, NaN of negative or NaN."""
    below = x.compare("oeq", 0.0).choose(x.like(-INFINITY), x.like(NAN))
    result = x.compare("oeq", INFINITY).choose(x, inside)
    return x.compare("ogt", 0.0).choose(result, below)


def log1p(x: Term) -> Term:
    """2 ulp; what 1 + x rounds away comes back as its share of the derivative."""
    sum_ = x + 1.0
    # 1 + x is rounded once: the error is exact in this order for either size of x.
    lost = (abs(x).compare("olt", 1.0)).choose(x - (sum_ - 1.0), 1.0 - (sum_ - x))
    result = log_of_normal(sum_) + lost / sum_
    result = at_edges_of_log(sum_, result)
    return (abs(x).compare("olt", 2.0**-24)).choose(x, result)


def tanh(x: Term) -> Term:
    """2 ulp"""
    size = abs(x).at_most(TANH_ONE)
    large = (1.0 / (bounded_exp(size + size) + 1.0)).fma(-2.0, 1.0)
    square = x * x
    small = (square.polynomial(TANH) * square).fma(x, x)
    result = size.compare("olt", 0.625).choose(small, large)
    return result.sign_of(x)


def erf(x: Term) -> Term:
    """2 ulp"""
    size = abs(x).at_most(ERF_ONE)
    large = 1.0 - bounded_exp(-size.polynomial(ERFC))
    small = (x * x).polynomial(ERF).fma(x, x)
    result = size.compare("olt", 1.0).choose(small, large)
    return result.sign_of(x)


def erf_approximate(x: Term) -> Term:
    """3.3e-7 absolute, and 1 from 3.93 on: enough wherever 1 is added to it, as GELU does."""
    x = x.at_most(ERF_BOUND).at_least(-ERF_BOUND)
    square = x * x
    return (x * square.polynomial(ERF_P)) / square.polynomial(ERF_Q)
