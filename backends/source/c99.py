"""C99: one file without dependencies but the compiler's own headers and <math.h>."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
)
from xdsl.ir import Attribute

from nn_opt.backends.source.c_rules import RULES
from nn_opt.backends.source.common_rules import half_bits
from nn_opt.backends.source.language import ProgramLanguage, width

KEYWORDS = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while and bool catch class delete export friend new not operator
    or private protected public template this throw try using virtual xor y0 y1 yn j0 j1 jn gamma
    signgam index""".split()  # C's, C++'s, and what <math.h> and <strings.h> have
)

_HELPERS = """\
static inline float maximum_f32(float a, float b) { return a > b || a != a ? a : b; }
static inline double maximum_f64(double a, double b) { return a > b || a != a ? a : b; }
static inline float minimum_f32(float a, float b) { return a < b || a != a ? a : b; }
static inline double minimum_f64(double a, double b) { return a < b || a != a ? a : b; }
#ifdef FP_FAST_FMAF
static inline float fused_f32(float a, float b, float c) { return fmaf(a, b, c); }
#else
static inline float fused_f32(float a, float b, float c) { return a * b + c; }
#endif
#ifdef FP_FAST_FMA
static inline double fused_f64(double a, double b, double c) { return fma(a, b, c); }
#else
static inline double fused_f64(double a, double b, double c) { return a * b + c; }
#endif
static inline int32_t bits_f32_i32(float a) { int32_t b; memcpy(&b, &a, 4); return b; }
static inline float bits_i32_f32(int32_t a) { float b; memcpy(&b, &a, 4); return b; }
static inline int64_t bits_f64_i64(double a) { int64_t b; memcpy(&b, &a, 8); return b; }
static inline double bits_i64_f64(int64_t a) { double b; memcpy(&b, &a, 8); return b; }
{integers}
static inline int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t ceil_divide(int64_t a, int64_t b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}
static inline int64_t floor_modulo(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }
static inline float widened_bf16(uint16_t a) { return bits_i32_f32((int32_t)((uint32_t)a << 16)); }
static inline uint16_t rounded_bf16(float a) {
  const uint32_t b = (uint32_t)bits_f32_i32(a);
  if (a != a) return (uint16_t)(b >> 16 | 64);
  return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}
static inline float widened_f16(uint16_t a) {
  const uint32_t sign = (uint32_t)(a & 0x8000) << 16, rest = a & 0x7fff;
  const float size = rest < 0x7c00 ? bits_i32_f32((int32_t)(rest << 13)) * 0x1p112f
                                   : bits_i32_f32((int32_t)(rest << 13 | 0x7f800000));
  return bits_i32_f32((int32_t)(sign | (uint32_t)bits_f32_i32(size)));
}
static inline uint16_t rounded_f16(float a) {
  const uint32_t b = (uint32_t)bits_f32_i32(a), sign = b >> 16 & 0x8000, rest = b & 0x7fffffff;
  if (rest > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (rest >> 13 & 0x1ff));
  if (rest >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
  if (rest < 0x38800000) { /* the sum rounds to multiples of 2^-24, which its last bits count */
    const float sum = bits_i32_f32((int32_t)rest) + 0.5f;
    return (uint16_t)(sign | ((uint32_t)bits_f32_i32(sum) - 0x3f000000));
  }
  return (uint16_t)(sign | ((rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13));
}
"""
_INTEGERS = """\
static inline {type} larger_{name}({type} a, {type} b) {{ return a > b ? a : b; }}
static inline {type} smaller_{name}({type} a, {type} b) {{ return a < b ? a : b; }}"""
HELPERS = _HELPERS.replace(
    "{integers}",
    "\n".join(
        _INTEGERS.format(type=f"{prefix}int{bits}_t", name=f"{letter}{bits}")
        for prefix, letter in (("", "i"), ("u", "u"))
        for bits in (8, 16, 32, 64)
    ),
)
_FUNCTION = re.compile(
    r"^#ifdef .*?^#endif\n|^static inline [^\n]*\}\n|^static inline .*?^\}\n",
    re.MULTILINE | re.DOTALL,
)
_DEFINED = re.compile(r"^static inline \w+ (\w+)\(", re.MULTILINE)


def helpers_of(text: str) -> str:
    """Return those of HELPERS that a text calls, and those that they call."""
    words = set(re.findall(r"\w+", text))
    kept: list[str] = []
    for function in reversed(_FUNCTION.findall(HELPERS)):  # each calls earlier ones
        if not words.isdisjoint(_DEFINED.findall(function)):
            kept.append(function)
            words.update(re.findall(r"\w+", function))
    return "".join(reversed(kept))


class C99(ProgramLanguage):
    """C as of 1999, also accepted by compilers of C++ where declarations are concerned."""

    name = "C99"
    reserved = KEYWORDS
    rules = RULES
    flag = "c"
    first = "run --lower-to-loops --lower-to-c first"

    def type_word(self, type_: Attribute) -> str | None:
        match type_:
            case Float32Type():
                return "float"
            case Float64Type():
                return "double"
            case Float16Type() | BFloat16Type():
                return "uint16_t"
            case IndexType():
                return "int64_t"
            case IntegerType() if width(type_) == 1:
                return "_Bool"
            case IntegerType() if width(type_) in (8, 16, 32, 64):
                return f"int{width(type_)}_t"
            case _:
                return None

    def stored_word(self, type_: Attribute) -> str:
        """Return the word for an element in memory: a boolean is a byte."""
        word = self.type_word(type_)
        assert word is not None, f"no word for {type_}"
        return "uint8_t" if word == "_Bool" else word

    def literal(self, value: float, type_: Attribute) -> str:
        if isinstance(type_, Float16Type | BFloat16Type):
            return hex(half_bits(value, type_))
        if isinstance(type_, Float32Type | Float64Type):
            return float_literal(value, is_double=isinstance(type_, Float64Type))
        number = int(value)
        if width(type_) == 1:
            return str(int(number != 0))
        if -(1 << 31) < number < 1 << 31:
            return _signed(str(abs(number)), number)
        if number == -(1 << width(type_) - 1):
            return f"INT{width(type_)}_MIN"
        return _signed(f"INT64_C({abs(number)})", number)

    def define(self, name: str, type_: Attribute, value: str) -> str:
        return f"const {self.type_word(type_)} {name} = {value};"

    def loop(self, index: str, trips: int) -> str:
        return f"for (int64_t {index} = 0; {index} < {trips}; ++{index})"

    def local_buffer(self, name: str, type_: Attribute, elements: int) -> str:
        return f"{self.stored_word(type_)} {name}[{max(elements, 1)}];"

    def view(
        self,
        name: str,
        type_: Attribute,
        elements: int,
        source: str,
        source_type: Attribute,
        at: str,
    ) -> str:
        word = self.stored_word(type_)
        place = source if at == "0" else f"{source} + {at}"
        cast = "" if type_ == source_type else f"({word} *)(void *)"
        return f"{word} *const {name} = {cast}({place});"

    def define_variables(self, names: Sequence[str], type_: Attribute) -> str:
        return f"{self.stored_word(type_)} {', '.join(names)};"

    def copy(self, source: str, target: str, type_: Attribute, elements: int) -> str:
        return f"memmove({target}, {source}, {elements} * sizeof({self.stored_word(type_)}));"

    def divide_index(self, value: str, divisor: int, *, is_natural: bool) -> str:
        return f"({value} / {divisor})" if is_natural else f"floor_divide({value}, {divisor})"

    def modulo_index(self, value: str, divisor: int, *, is_natural: bool) -> str:
        return f"({value} % {divisor})" if is_natural else f"floor_modulo({value}, {divisor})"


def _signed(text: str, number: int) -> str:
    return f"(-{text})" if number < 0 else text


def float_literal(value: float, *, is_double: bool) -> str:
    """Return the shortest decimal text that is read as the same number; NaN has no payload."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    number = np.float64(value) if is_double else np.float32(value)
    text = np.format_float_scientific(number, trim="0") if _is_long(value) else str(number)
    return f"({text}{_f(is_double)})" if text[0] == "-" else f"{text}{_f(is_double)}"


def _is_long(value: float) -> bool:
    return value != 0 and not 1e-4 <= abs(value) < 1e7


def _f(is_double: bool) -> str:
    return "" if is_double else "f"
