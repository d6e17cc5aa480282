"""Functions that kernels' texts define for themselves, in languages like C: those they use."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_NAME = re.compile(r"\b[a-z]\w*_[a-z]+\d+\b")
# {q}: how a function begins; {t}: the type of a name's end, such as f32; {T}: its word.
TEMPLATES = {
    "maximum": "{q}{T} maximum_{t}({T} a, {T} b) { return a > b || a != a ? a : b; }",
    "minimum": "{q}{T} minimum_{t}({T} a, {T} b) { return a < b || a != a ? a : b; }",
    "larger": "{q}{T} larger_{t}({T} a, {T} b) { return a > b ? a : b; }",
    "smaller": "{q}{T} smaller_{t}({T} a, {T} b) { return a < b ? a : b; }",
    "fused": "{q}{T} fused_{t}({T} a, {T} b, {T} c) { return fma(a, b, c); }",
    "floor_divide": """\
{q}{T} floor_divide_{t}({T} a, {T} b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }""",
    "ceil_divide": """\
{q}{T} ceil_divide_{t}({T} a, {T} b) { return a / b + (a % b != 0 && (a < 0) == (b < 0)); }""",
    "floor_modulo": """\
{q}{T} floor_modulo_{t}({T} a, {T} b) { return a % b + (a % b < 0 ? b : 0); }""",
    "ones": """\
{q}{T} ones_{t}({T} a) {
  {T} count = 0;
  for (int bit = 0; bit < {bits}; ++bit) count += a >> bit & 1;
  return count;
}""",
    "widened_bf": "{q}float widened_{t}({ushort} a) { return {float_of}((int)a << 16); }",
    "rounded_bf": """\
{q}{ushort} rounded_{t}(float a) {
  const {uint} b = ({uint}){int_of}(a);
  if (a != a) return ({ushort})(b >> 16 | 64);
  return ({ushort})((b + 0x7fff + (b >> 16 & 1)) >> 16);
}""",
    "widened_f": """\
{q}float widened_{t}({ushort} a) {
  const {uint} sign = ({uint})(a & 0x8000) << 16, rest = a & 0x7fff;
  const float two_112 = {float_of}(0x77800000);
  const float size = rest < 0x7c00 ? {float_of}((int)(rest << 13)) * two_112
                                   : {float_of}((int)(rest << 13 | 0x7f800000));
  return {float_of}((int)(sign | ({uint}){int_of}(size)));
}""",
    "rounded_f": """\
{q}{ushort} rounded_{t}(float a) {
  const {uint} b = ({uint}){int_of}(a), sign = b >> 16 & 0x8000, rest = b & 0x7fffffff;
  if (rest > 0x7f800000) return ({ushort})(sign | 0x7e00 | (rest >> 13 & 0x1ff));
  if (rest >= 0x477ff000) return ({ushort})(sign | 0x7c00);
  if (rest < 0x38800000) { /* the sum rounds to multiples of 2^-24, which its last bits count */
    const float sum = {float_of}((int)rest) + 0.5f;
    return ({ushort})(sign | (({uint}){int_of}(sum) - 0x3f000000));
  }
  return ({ushort})(sign | ((rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13));
}""",
    # N. Juffa's erff: at most 1 ulp
    "erf": """\
{q}float erf_{t}(float a) {
  const float x = fabs(a), s = a * a;
  if (x > 0.927734375f) {
    float r = fma(-1.72853470e-5f, x, 3.83197126e-4f);
    const float u = fma(-3.88396438e-3f, x, 2.42546219e-2f);
    r = fma(r, s, u);
    r = fma(r, x, -1.06777877e-1f);
    r = fma(r, x, -6.34846687e-1f);
    r = fma(r, x, -1.28717512e-1f);
    r = fma(r, x, -x);
    return copysign(1.0f - exp(r), a);
  }
  float r = -5.96761703e-4f;
  r = fma(r, s, 4.99119423e-3f);
  r = fma(r, s, -2.67681349e-2f);
  r = fma(r, s, 1.12819925e-1f);
  r = fma(r, s, -3.76125336e-1f);
  r = fma(r, s, 1.28379166e-1f);
  return fma(r, a, a);
}""",
    # W. Kahan: the error of the rounded argument cancels in the quotient
    "expm1": """\
{q}float expm1_{t}(float a) {
  const float u = exp(a), v = u - 1.0f;
  if (u == 1.0f) return a;
  if (v == -1.0f || u > 3.0e38f) return v;
  return fabs(a) < 1.0f ? v * a / log(u) : v;
}""",
    "log1p": """\
{q}float log1p_{t}(float a) {
  const float u = 1.0f + a;
  if (u == 1.0f) return a;
  return u > 3.0e38f ? log(u) : log(u) * (a / (u - 1.0f));
}""",
    "cbrt": "{q}float cbrt_{t}(float a) { return copysign(pow(fabs(a), 1.0f / 3.0f), a); }",
}
# Halves are told apart by the end of their names.
_HALVES = {
    "widened_bf16": "widened_bf",
    "rounded_bf16": "rounded_bf",
    "widened_f16": "widened_f",
    "rounded_f16": "rounded_f",
}


def used(text: str, known: Callable[[str], str | None]) -> list[str]:
    """Return the functions that a text calls, and those that they call, before their callers."""
    found: dict[str, str] = {}

    def visit(part: str, caller: str) -> None:
        for name in dict.fromkeys(_NAME.findall(part)):
            if name == caller or name in found:
                continue
            body = known(name)
            if body is not None:
                visit(body, name)
                found[name] = body

    visit(text, "")
    return list(found.values())


def definition(
    name: str, words: Mapping[str, str], own: Mapping[str, str], type_word: Callable[[str], str]
) -> str | None:
    """Return the text of a function, or None for what is none.

    words: what stands for the parts in braces; own: templates that a language has of its own.
    """
    base, _, kind = name.rpartition("_")
    template = own.get(name) or own.get(base) or TEMPLATES.get(_HALVES.get(name, base))
    if template is None:
        return None
    portable = TEMPLATES.get(_HALVES.get(name, base), "")
    template = template.replace("{portable}", portable)
    parts = {**words, "t": kind, "T": type_word(kind), "bits": kind.lstrip("iuf")}
    for key, value in parts.items():
        template = template.replace(f"{{{key}}}", value)
    return template
