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
EXP = (0.00138209993019700, 0.00836867094039917, 0.04166826233267784, 0.1666652113199234, 0.5)
# (2^r - 1) / r - 1 for |r| <= 1/2
EXP2 = (
    0.00015382452693302184,
    0.0013387392973527312,
    0.009618310257792473,
    0.05550367385149002,
    0.24022649228572845,
    -0.3068528175354004,
)
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
# (1 - exp(-r) - r) / r^2 for |r| <= ln(2) / 2
ONE_LESS_EXP = (
    -0.001387065858580172,
    0.00836626160889864,
    -0.04166743531823158,
    0.1666654646396637,
    -0.4999999701976776,
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
# -log2(1 - erf(x)) / x - 1 for 0 <= x <= 3.95
ERFC = (
    -1.2926804629387334e-05,
    0.000166047117090784,
    -0.0009005318279378116,
    0.002383689396083355,
    -0.00021184360957704484,
    -0.027641452848911285,
    0.14827923476696014,
    0.9184474349021912,
    0.6279070377349854,
)

EXPONENT_MASK = -(1 << MANTISSA_BITS)  # sign and exponent
EXP_LOWEST, EXP_HIGHEST = -104.0, 89.0  # beyond: 0, infinity
EXP_NORMAL = -87.3365  # of less, the result is no normal number
SQRT_HALF_BITS = 0x3F3504F3
SMALLEST_NORMAL = 1.1754943508222875e-38  # 2^-126
TANH_ONE = 10.0  # tanh of more rounds to 1; so does erf of more than
ERF_ONE = 3.95


def split_exponent(x: Term) -> tuple[Term, Term]:
    """Return (n, r) with x == n * ln(2) + r and |r| < 0.35, n as `exponent` wants it."""
    shifted = x.fma(LOG2_E, ROUNDER)
    whole = shifted - ROUNDER
    return shifted, whole.fma(-LN2_LOW, whole.fma(-LN2_HIGH, x))


def exponent(shifted: Term) -> Term:
    """Return the bits of n + ROUNDER moved to where an exponent is: ROUNDER's own fall off."""
    return shifted.bits() << MANTISSA_BITS


def power_of_two(exponent: Term) -> Term:
    """Return 2^n for a normal result."""
    return (exponent + ONE_BITS).from_bits()


def exp_of_rest(rest: Term) -> Term:
    """exp(r) for |r| < 0.35"""
    return rest.polynomial((*EXP, 1.0, 1.0))


def exp(x: Term) -> Term:
    """1 ulp; the scale is applied in two steps, so that subnormal results are rounded once."""
    shifted, rest = split_exponent(x.at_least(EXP_LOWEST).at_most(EXP_HIGHEST))
    whole = exponent(shifted)
    half = (whole >> 1) & EXPONENT_MASK
    result = (exp_of_rest(rest).bits() + half).from_bits() * power_of_two(whole - half)
    # It is above x, unless that is NaN, whose bits are no longer those of a NaN.
    return result.compare("ogt", x).choose(result, x)


def exp_by_ldexp(x: Term) -> Term:
    """1 ulp, where a machine scales in one instruction."""
    shifted, rest = split_exponent(x.at_least(EXP_LOWEST).at_most(EXP_HIGHEST))
    return exp_of_rest(rest).ldexp(shifted.bits() - ROUNDER_BITS)


def exp_approximate(x: Term) -> Term:
    """1 ulp of results from 2^-125.999 to 2^127; less may become that, more infinity.

    Enough wherever 1 is added to it, as a sigmoid does, or it is a share of a sum of at least 1.
    """
    shifted, rest = split_exponent(x.at_least(EXP_NORMAL).at_most(EXP_HIGHEST))
    return exp_of_rest(rest) * power_of_two(exponent(shifted))


def expm1(x: Term) -> Term:
    """2 ulp; exp(x) - 1 without cancellation."""
    shifted, rest = split_exponent(x.at_least(-18.0).at_most(EXP_HIGHEST))
    less_one = rest.polynomial(EXP).fma(rest * rest, rest)
    half_scale = power_of_two(exponent(shifted - 1.0))
    result = less_one.fma(half_scale, half_scale - 0.5) * 2.0
    # Where 2^n is 1, `less_one` is the answer, down to the smallest numbers.
    return (abs(x).compare("olt", 0.25)).choose(less_one, result).sign_of(x)


def exp2_less_one(x: Term) -> Term:
    """2^x - 1 within 1 ulp for -30 < x <= 0."""
    shifted = x + ROUNDER
    rest = x - (shifted - ROUNDER)
    less_one = rest.polynomial(EXP2).fma(rest, rest)
    scale = power_of_two(exponent(shifted))
    return less_one.fma(scale, scale - 1.0)


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
    """2 ulp: (1 - e) / (1 + e), where e is exp(-2 |x|), from 1 - exp(-r) for a small r."""
    size = abs(x).at_most(TANH_ONE)
    twice = size + size
    shifted = twice.fma(-LOG2_E, ROUNDER)
    whole = shifted - ROUNDER
    rest = whole.fma(LN2_LOW, whole.fma(LN2_HIGH, twice))
    less = rest.polynomial(ONE_LESS_EXP).fma(rest * rest, rest)
    half = power_of_two(exponent(shifted) - (1 << MANTISSA_BITS))
    above, below = less.fma(half, 0.5 - half), (-less).fma(half, half + 0.5)
    return (above / below).sign_of(x)


def erf(x: Term) -> Term:
    """2 ulp: 1 - 2^-g, where g is a polynomial that is 0 at 0."""
    size = abs(x).at_most(ERF_ONE)
    return exp2_less_one(-size.polynomial(ERFC).fma(size, size)).sign_of(x)


def erf_approximate(x: Term) -> Term:
    """3.3e-7 absolute, and 1 from 3.93 on: enough wherever 1 is added to it, as GELU does."""
    x = x.at_most(ERF_BOUND).at_least(-ERF_BOUND)
    square = x * x
    return (x * square.polynomial(ERF_P)) / square.polynomial(ERF_Q)
