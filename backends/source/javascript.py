"""JavaScript: an ES module without dependencies; buffers are typed arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
)
from xdsl.ir import Attribute

from nn_opt.backends.source.common_rules import half_bits
from nn_opt.backends.source.js_rules import RULES, is_big
from nn_opt.backends.source.language import ProgramLanguage, width

KEYWORDS = frozenset(
    """arguments async await break case catch class const continue debugger default delete do else
    enum eval export extends false finally for function if implements import in instanceof
    interface let new null of package private protected public return static super switch this
    throw true try typeof undefined var void while with yield Math Number BigInt NaN Infinity
    ArrayBuffer DataView globalThis larger smaller erf ldexp copySign roundAway roundEven
    maxNumber minNumber floorBig ceilBig scratch floats ints longs doubles""".split()
)

HELPERS = """\
const scratch = new ArrayBuffer(8);
const floats = new Float32Array(scratch), ints = new Int32Array(scratch);
const doubles = new Float64Array(scratch), longs = new BigInt64Array(scratch);
const bits_f32_i32 = (a) => (floats[0] = a, ints[0]);
const bits_i32_f32 = (a) => (ints[0] = a, floats[0]);
const bits_f64_i64 = (a) => (doubles[0] = a, longs[0]);
const bits_i64_f64 = (a) => (longs[0] = a, doubles[0]);
const larger = (a, b) => (a > b ? a : b);
const smaller = (a, b) => (a < b ? a : b);
const floorBig = (a, b) => a / b - (a % b != 0n && a < 0n != b < 0n ? 1n : 0n);
const ceilBig = (a, b) => a / b + (a % b != 0n && a < 0n == b < 0n ? 1n : 0n);
const maxNumber = (a, b) => (a != a ? b : b != b ? a : Math.max(a, b));
const minNumber = (a, b) => (a != a ? b : b != b ? a : Math.min(a, b));
const copySign = (a, b) => (b < 0 || Object.is(b, -0) ? -Math.abs(a) : Math.abs(a));
const roundAway = (a) => copySign(Math.floor(Math.abs(a) + (Math.abs(a) % 1 >= 0.5 ? 0.5 : 0)), a);
function roundEven(a) {
  const below = Math.floor(a), rest = a - below;
  return copySign(rest < 0.5 || (rest == 0.5 && below % 2 == 0) ? below : below + 1, a);
}
const ldexp = (a, b) => a * Math.pow(2, b >> 1) * Math.pow(2, b - (b >> 1));
/* 2 / sqrt(pi) * exp(-x^2) * sum of 2^n x^(2n+1) / (1 * 3 * ... * (2n+1)) */
function erf(x) {
  const a = Math.abs(x);
  if (!(a < 6)) return a == a ? Math.sign(x) : x;
  let term = a, sum = a;
  for (let n = 3; term > sum * 1e-17; n += 2) sum += (term *= 2 * a * a / n);
  return copySign(1.1283791670955126 * Math.exp(-a * a) * sum, x);
}
const widened_bf16 = (a) => bits_i32_f32(a << 16);
function rounded_bf16(a) {
  const b = bits_f32_i32(a);
  return a != a ? (b >>> 16) | 64 : ((b + 0x7fff + ((b >>> 16) & 1)) >>> 16) & 0xffff;
}
function widened_f16(a) {
  const rest = a & 0x7fff, size = bits_i32_f32(rest << 13);
  const value = rest < 0x7c00 ? size * 2 ** 112 : bits_i32_f32((rest << 13) | 0x7f800000);
  return a & 0x8000 ? -value : value;
}
function rounded_f16(a) {
  const b = bits_f32_i32(a), sign = (b >>> 16) & 0x8000, rest = b & 0x7fffffff;
  if (rest > 0x7f800000) return sign | 0x7e00 | ((rest >> 13) & 0x1ff);
  if (rest >= 0x477ff000) return sign | 0x7c00;
  if (rest < 0x38800000) return sign | (bits_f32_i32(bits_i32_f32(rest) + 0.5) - 0x3f000000);
  return sign | ((rest - 0x38000000 + 0xfff + ((rest >> 13) & 1)) >> 13);
}
"""


class JavaScript(ProgramLanguage):
    """ECMAScript 2020, which has BigInt."""

    name = "JavaScript"
    reserved = KEYWORDS
    rules = RULES
    flag = "js"
    first = "run --lower-to-loops --lower-to-js first"

    def type_word(self, type_: Attribute) -> str | None:
        """Return the typed array for elements of a type."""
        match type_:
            case Float32Type() | IndexType():
                return "Float32Array"
            case Float64Type():
                return "Float64Array"
            case Float16Type() | BFloat16Type():
                return "Uint16Array"
            case IntegerType() if width(type_) == 1:
                return "Uint8Array"
            case IntegerType() if width(type_) in (8, 16, 32):
                return f"Int{width(type_)}Array"
            case IntegerType() if width(type_) == 64:
                return "BigInt64Array"
            case _:
                return None

    def literal(self, value: float, type_: Attribute) -> str:
        if isinstance(type_, Float16Type | BFloat16Type):
            return str(half_bits(value, type_))
        if isinstance(type_, AnyFloat):
            if math.isnan(value) or math.isinf(value):
                text = "NaN" if math.isnan(value) else "Infinity"
                return f"(-{text})" if value < 0 else text
            number = float(np.float32(value)) if isinstance(type_, Float32Type) else value
            text = repr(number).removesuffix(".0")
        else:
            text = f"{int(value)}n" if is_big(type_) else str(int(value))
            text = str(int(value) & 1) if width(type_) == 1 else text
        return f"({text})" if text[0] == "-" else text

    def define(self, name: str, type_: Attribute, value: str) -> str:
        return f"const {name} = {value};"

    def loop(self, index: str, trips: int) -> str:
        return f"for (let {index} = 0; {index} < {trips}; ++{index})"

    def local_buffer(self, name: str, type_: Attribute, elements: int) -> str:
        return f"const {name} = new {self.type_word(type_)}({elements});"

    def view(
        self,
        name: str,
        type_: Attribute,
        elements: int,
        source: str,
        source_type: Attribute,
        at: str,
    ) -> str:
        size = max(width(source_type) // 8, 1)
        place = f"{source}.byteOffset" if at == "0" else f"{source}.byteOffset + {size} * ({at})"
        return f"const {name} = new {self.type_word(type_)}({source}.buffer, {place}, {elements});"

    def define_variables(self, names: Sequence[str], type_: Attribute) -> str:
        zero = self.literal(0, type_)
        return f"let {', '.join(f'{name} = {zero}' for name in names)};"

    def copy(self, source: str, target: str, type_: Attribute, elements: int) -> str:
        return f"{target}.set({source});"

    def divide_index(self, value: str, divisor: int, *, is_natural: bool) -> str:
        return f"Math.floor({value} / {divisor})"

    def modulo_index(self, value: str, divisor: int, *, is_natural: bool) -> str:
        if is_natural:
            return f"({value} % {divisor})"
        return f"(({value} % {divisor} + {divisor}) % {divisor})"
