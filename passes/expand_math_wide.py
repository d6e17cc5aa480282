"""pow, log2, the hyperbolic functions and the inverse ones: in binary64, then rounded.

With 30 right bits and more before the last rounding, results are within 0.6 units in the last
place, and what is subnormal is rounded once. Domains and infinities follow from the formulas:
the square root of a negative number is NaN, a division by zero is infinity.
"""

from __future__ import annotations

from nn_opt.passes.expand_math_terms import INFINITY, NAN, Term

MANTISSA_BITS = 52
ONE_BITS = 1023 << MANTISSA_BITS  # 1.0 in binary64
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
# 1.5 * 2^52: added to a small float, it leaves the nearest integer in the low bits.
ROUNDER = 6755399441055744.0
ROUNDER_BITS = 0x4338000000000000
LN2 = 0.6931471805599453
LOG10_2 = 0.3010299956639812
LOG2_E = 1.4426950408889634
PI = 3.141592653589793

# 2 atanh(s) / (s ln(2)) in s^2, for (m - 1) / (m + 1) of 1 / sqrt(2) <= m <= sqrt(2); 2^-45
LOG2 = (
    0.282916980744412,
    0.31990452018499504,
    0.4122092811078114,
    0.5770779420796164,
    0.9617966941143258,
    2.8853900817778495,
)
# 2^r for |r| <= 1/2; 2^-28.9
EXP2 = (
    0.0001535337398441429,
    0.0013398900866739868,
    0.009618437473146509,
    0.055503324074581,
    0.24022647911511882,
    0.6931472028820284,
    1.0,
)
# atan(u) / u in u^2, for |u| <= sqrt(2) - 1; 2^-40
ATAN = (
    -0.03774733136980815,
    0.06979747234626983,
    -0.08993865134525476,
    0.11103610820051753,
    -0.142853958245813,
    0.19999993319625697,
    -0.33333333279787813,
    0.999999999999295,
)
TAN_PI_8, TAN_3_PI_8 = 0.41421356237309503, 2.414213562373095
# sinh(x) / x in x^2, for |x| <= 1/16
SINH = (1.0 / 120.0, 1.0 / 6.0, 1.0)

EXP2_BOUND = 160.0  # 2^-160 rounds to 0, 2^160 to infinity
LINEAR = 2.0**-13  # of less, an odd function with slope 1 rounds to x
LINE_OF_SINH = 0.0625


def log2_of_double(x: Term) -> Term:
    """log2 of a binary64 that is no subnormal number."""
    bits = x.bits()
    exponent = (bits - SQRT_HALF_BITS) & -(1 << MANTISSA_BITS)
    fraction = (bits - exponent).from_bits()
    biased = (exponent + ONE_BITS).shift_right(MANTISSA_BITS)
    whole = (biased + ROUNDER_BITS).from_bits() - (ROUNDER + 1023.0)
    ratio = (fraction - 1.0) / (fraction + 1.0)
    return (ratio * ratio).polynomial(LOG2).fma(ratio, whole)


def at_edges_of_log(x: Term, inside: Term) -> Term:
    """Return `inside`, but infinity of infinity, -infinity of zero, NaN of negative or NaN."""
    below = x.compare("oeq", 0.0).choose(x.like(-INFINITY), x.like(NAN))
    result = x.compare("oeq", INFINITY).choose(x, inside)
    return x.compare("ogt", 0.0).choose(result, below)


def exp2_of_double(x: Term) -> Term:
    """2^x in binary64, where beyond 2^160 and 2^-160 it need only be as large and as small."""
    x = x.at_least(-EXP2_BOUND).at_most(EXP2_BOUND)
    shifted = x + ROUNDER
    scale = ((shifted.bits() << MANTISSA_BITS) + ONE_BITS).from_bits()
    return (x - (shifted - ROUNDER)).polynomial(EXP2) * scale


def log_in_base(x: Term, factor: float) -> Term:
    """log2(x) * factor of a binary32."""
    wide = x.to_double()
    result = log2_of_double(wide)
    result = result if factor == 1.0 else result * factor
    return at_edges_of_log(wide, result).to_single()


def log2(x: Term) -> Term:
    """1 ulp"""
    return log_in_base(x, 1.0)


def log10(x: Term) -> Term:
    """1 ulp"""
    return log_in_base(x, LOG10_2)


def exp2(x: Term) -> Term:
    """1 ulp"""
    return exp2_of_double(x.to_double()).to_single()


def pow_(x: Term, y: Term) -> Term:
    """1 ulp; the special cases are those of C99's annex F."""
    base, power = x.to_double(), y.to_double()
    size = abs(base)
    logarithm = size.compare("olt", INFINITY).choose(log2_of_double(size), size)
    logarithm = size.compare("oeq", 0.0).choose(size.like(-INFINITY), logarithm)
    is_one = power.compare("oeq", 0.0) | size.compare("oeq", 1.0)
    result = exp2_of_double(is_one.choose(size.like(0.0), power * logarithm))
    is_whole = power.compare("oeq", power.round_even())
    half = power * 0.5
    is_odd = is_whole & half.compare("one", half.round_even())
    result = is_odd.choose(result.sign_of(base), result)
    is_negative = base.compare("olt", 0.0) & base.compare("ogt", -INFINITY)
    is_real = is_whole | ~is_negative
    return is_real.choose(result, result.like(NAN)).to_single()


def sinh(x: Term) -> Term:
    """1 ulp"""
    wide = x.to_double()
    size = abs(wide)
    large = exp2_of_double(size * LOG2_E)
    large = (large - 1.0 / large) * 0.5
    small = (size * size).polynomial(SINH) * size
    return size.compare("olt", LINE_OF_SINH).choose(small, large).sign_of(wide).to_single()


def cosh(x: Term) -> Term:
    """1 ulp"""
    large = exp2_of_double(abs(x.to_double()) * LOG2_E)
    return ((large + 1.0 / large) * 0.5).to_single()


def odd(x: Term, size: Term, result: Term) -> Term:
    """Return the result for |x| with the sign of x, or x where that is so small that it is both."""
    return size.compare("olt", LINEAR).choose(size, result).sign_of(x).to_single()


def natural_log(x: Term) -> Term:
    """log(x) of a binary64."""
    return at_edges_of_log(x, log2_of_double(x) * LN2)


def asinh(x: Term) -> Term:
    """1 ulp"""
    wide = x.to_double()
    size = abs(wide)
    return odd(wide, size, natural_log(size + (size * size + 1.0).sqrt()))


def acosh(x: Term) -> Term:
    """1 ulp"""
    wide = x.to_double()
    return natural_log(wide + (wide - 1.0).sqrt() * (wide + 1.0).sqrt()).to_single()


def atanh(x: Term) -> Term:
    """1 ulp"""
    wide = x.to_double()
    size = abs(wide)
    return odd(wide, size, natural_log((size + 1.0) / (1.0 - size)) * 0.5)


def atan_of_double(x: Term) -> Term:
    """atan(x) of a positive binary64: of a small angle beside 0, a quarter or half of pi."""
    middle, far = x.compare("ogt", TAN_PI_8), x.compare("ogt", TAN_3_PI_8)
    one = x.like(1.0)
    above = far.choose(-one, middle.choose(x - 1.0, x))
    below = far.choose(x, middle.choose(x + 1.0, one))
    base = far.choose(x.like(PI / 2.0), middle.choose(x.like(PI / 4.0), x.like(0.0)))
    tangent = above / below
    return (tangent * tangent).polynomial(ATAN).fma(tangent, base)


def atan(x: Term) -> Term:
    """1 ulp"""
    wide = x.to_double()
    return atan_of_double(abs(wide)).sign_of(wide).to_single()


def asin(x: Term) -> Term:
    """1 ulp: the angle of the triangle with sides |x| and sqrt(1 - x^2)."""
    wide = x.to_double()
    size = abs(wide)
    cosine = ((1.0 - size) * (size + 1.0)).sqrt()
    return atan_of_double(size / cosine).sign_of(wide).to_single()


def acos(x: Term) -> Term:
    """1 ulp: twice the angle whose tangent is sqrt((1 - x) / (1 + x))."""
    wide = x.to_double()
    return (atan_of_double(((1.0 - wide) / (wide + 1.0)).sqrt()) * 2.0).to_single()


STEPS_OF_REMAINDER = 10  # of 28 bits: quotients of binary32 go up to 2^277
LOW_BITS = (1 << 24) - 1  # of a quotient, left for the next step


def remainder(x: Term, y: Term) -> Term:
    """x - trunc(x / y) * y in binary64, by some leading bits of the quotient at a time.

    Exact: 29 bits times the 24 of y, and what is left, are held by binary64. If the last quotient
    was rounded up, one y is put back. The sign, of zeros too, is that of x.
    """
    x, y = x.to_double(), y.to_double()
    size = abs(y)
    rest = x
    for _ in range(STEPS_OF_REMAINDER):
        quotient = (rest / y).truncated().bits()
        rest = rest - (quotient & ~LOW_BITS).from_bits() * y
    negative = x.compare("olt", 0.0)
    beyond = negative.choose(rest.compare("ogt", 0.0), rest.compare("olt", 0.0))
    rest = beyond.choose(rest + negative.choose(-size, size), rest)
    rest = rest.compare("oeq", 0.0).choose(x * 0.0, rest)
    endless = size.compare("oeq", INFINITY) & abs(x).compare("olt", INFINITY)
    return endless.choose(x, rest).to_single()
