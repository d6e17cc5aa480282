"""Functions that texts in WGSL define for themselves: those they use."""

from __future__ import annotations

_EXTREME = (
    "fn {name}_f32(a: f32, b: f32) -> f32 {{ return select(b, a, a {sign} b || is_nan_f32({n})); }}"
)
_OF_BIG = (
    "fn {name}_{t}(a: vec2u, b: vec2u) -> vec2u {{ return select({x}, {y}, less_{t}(a, b)); }}"
)
_LESS = """\
fn less_{t}(a: vec2u, b: vec2u) -> bool {{ return select({high}, a.x < b.x, a.y == b.y); }}"""
_SIGNED_HIGH = "bitcast<i32>(a.y) < bitcast<i32>(b.y)"
HELPERS = {
    # What is computed from a constant by the compiler may be no infinity.
    "infinity_f32": """\
var<private> infinity_bits: u32 = 0x7f800000u;
fn infinity_f32() -> f32 { return bitcast<f32>(infinity_bits); }""",
    "nan_f32": """\
var<private> nan_bits: u32 = 0x7fc00000u;
fn nan_f32() -> f32 { return bitcast<f32>(nan_bits); }""",
    "is_nan_f32": """\
fn is_nan_f32(a: f32) -> bool { return (bitcast<u32>(a) & 0x7fffffffu) > 0x7f800000u; }""",
    "maximum_f32": _EXTREME.format(name="maximum", sign=">", n="a"),
    "minimum_f32": _EXTREME.format(name="minimum", sign="<", n="a"),
    "larger_number_f32": _EXTREME.format(name="larger_number", sign=">", n="b"),
    "smaller_number_f32": _EXTREME.format(name="smaller_number", sign="<", n="b"),
    "copysign_f32": """\
fn copysign_f32(a: f32, b: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(a) & 0x7fffffffu) | (bitcast<u32>(b) & 0x80000000u));
}""",
    # Exact: long division of the mantissas, 8 bits at a time.
    "remainder_f32": """\
fn remainder_f32(x: f32, y: f32) -> f32 {
  let a = bitcast<u32>(x) & 0x7fffffffu;
  let b = bitcast<u32>(y) & 0x7fffffffu;
  if (a >= 0x7f800000u || b > 0x7f800000u || b == 0u) { return nan_f32(); }
  if (a < b) { return x; }
  let above = max(a >> 23u, 1u);
  let below = max(b >> 23u, 1u);
  let divisor = b - ((below - 1u) << 23u);
  var rest = (a - ((above - 1u) << 23u)) % divisor;
  for (var bits = above - below; bits > 0u; bits -= min(bits, 8u)) {
    rest = (rest << min(bits, 8u)) % divisor;
  }
  let up = min(23u - min(firstLeadingBit(rest), 23u), below - 1u);
  let size = select((rest << up) + ((below - up - 1u) << 23u), 0u, rest == 0u);
  return bitcast<f32>(size | (bitcast<u32>(x) & 0x80000000u));
}""",
    "round_away_f32": """\
fn round_away_f32(a: f32) -> f32 {
  let whole = trunc(abs(a));
  return copysign_f32(whole + select(0.0f, 1.0f, abs(a) - whole >= 0.5f), a);
}""",
    "scaled_f32": """\
fn scaled_f32(a: f32, n: i32) -> f32 {
  let b = clamp(n, -300, 300);
  let c = b / 3;
  let third = bitcast<f32>((127 + c) << 23u);
  return a * third * third * bitcast<f32>((127 + b - 2 * c) << 23u);
}""",
    "reciprocal_root_f32": "fn reciprocal_root_f32(a: f32) -> f32 { return 1.0f / sqrt(a); }",
    "decimal_log_f32": "fn decimal_log_f32(a: f32) -> f32 { return log(a) * 0.4342944819f; }",
    "hyperbolic_tangent_f32": """\
fn hyperbolic_tangent_f32(a: f32) -> f32 {
  let b = abs(a);
  if (b < 0.5f) {
    let u = expm1_f32(2.0f * b);
    return copysign_f32(u / (u + 2.0f), a);
  }
  if (is_nan_f32(a)) { return a; }
  return copysign_f32(1.0f - 2.0f / (exp(2.0f * min(b, 20.0f)) + 1.0f), a);
}""",
    "hyperbolic_sine_f32": """\
fn hyperbolic_sine_f32(a: f32) -> f32 {
  let u = expm1_f32(abs(a));
  if (u > 1.0e30f) { return copysign_f32(exp(abs(a) - 0.6931471806f), a); }
  return copysign_f32(0.5f * (u + u / (u + 1.0f)), a);
}""",
    # S. Moshier, Cephes: atanf
    "arctangent_f32": """\
fn arctangent_f32(a: f32) -> f32 {
  let x = abs(a);
  let steep = x > 2.414213562f;
  let middle = !steep && x > 0.4142135624f;
  let b = select(select(x, (x - 1.0f) / (x + 1.0f), middle), -1.0f / x, steep);
  let start = select(select(0.0f, 0.7853981634f, middle), 1.5707963268f, steep);
  let z = b * b;
  let r = fma(z, fma(z, fma(z, 8.05374449538e-2f, -1.38776856032e-1f), 1.99777106478e-1f),
    -3.33329491539e-1f);
  return copysign_f32(start + fma(r * z, b, b), a);
}""",
    "angle_f32": """\
fn angle_f32(y: f32, x: f32) -> f32 {
  if (is_nan_f32(x) || is_nan_f32(y)) { return x + y; }
  let same = abs(x) == abs(y);
  let rest = select(abs(y) / abs(x), select(1.0f, 0.0f, y == 0.0f), same);
  let size = arctangent_f32(rest);
  return copysign_f32(select(size, 3.1415926536f - size, (bitcast<u32>(x) >> 31u) != 0u), y);
}""",
    "arcsine_f32": """\
fn arcsine_f32(a: f32) -> f32 { return angle_f32(a, sqrt((1.0f - a) * (1.0f + a))); }""",
    "arccosine_f32": """\
fn arccosine_f32(a: f32) -> f32 { return angle_f32(sqrt((1.0f - a) * (1.0f + a)), a); }""",
    "arsinh_f32": """\
fn arsinh_f32(a: f32) -> f32 {
  let b = abs(a);
  if (b > 1.0e18f) { return copysign_f32(log(b) + 0.6931471806f, a); }
  return copysign_f32(log1p_f32(b + b * b / (1.0f + sqrt(b * b + 1.0f))), a);
}""",
    "arcosh_f32": """\
fn arcosh_f32(a: f32) -> f32 {
  if (a > 1.0e18f) { return log(a) + 0.6931471806f; }
  let b = a - 1.0f;
  return log1p_f32(b + sqrt(b * (a + 1.0f)));
}""",
    "artanh_f32": """\
fn artanh_f32(a: f32) -> f32 {
  let b = abs(a);
  return copysign_f32(0.5f * log1p_f32(2.0f * b / (1.0f - b)), a);
}""",
    # W. Kahan: the error of the rounded argument cancels in the quotient; Taylor's sum near 0,
    # where functions of the device may be off by more than a rounding
    "expm1_f32": """\
fn expm1_f32(a: f32) -> f32 {
  if (abs(a) < 0.35f) {
    let r = fma(a, fma(a, fma(a, 1.9841270e-4f, 1.3888889e-3f), 8.3333333e-3f), 4.1666667e-2f);
    return fma(a * a, fma(a, fma(a, r, 1.6666667e-1f), 0.5f), a);
  }
  return exp(a) - 1.0f;
}""",
    "log1p_f32": """\
fn log1p_f32(a: f32) -> f32 {
  if (abs(a) < 0.25f) {
    let s = a / (2.0f + a);
    let z = s * s;
    let r = fma(z, fma(z, fma(z, 1.1111111e-1f, 1.4285714e-1f), 2.0e-1f), 3.3333333e-1f);
    return 2.0f * fma(s * z, r, s);
  }
  return log(1.0f + a);
}""",
    "cbrt_f32": """\
fn cbrt_f32(a: f32) -> f32 {
  let b = abs(a);
  let r = copysign_f32(exp2(log2(b) / 3.0f), a);
  return select(r - (r * r * r - a) / (3.0f * r * r), a, b == 0.0f || b > 3.0e38f || is_nan_f32(a));
}""",
    "power_f32": """\
fn power_f32(a: f32, b: f32) -> f32 {
  if (b == 0.0f || a == 1.0f) { return 1.0f; }
  if (is_nan_f32(a) || is_nan_f32(b)) { return nan_f32(); }
  let whole = floor(b) == b;
  let odd = whole && abs(b) < 16777216.0f && (i32(b) & 1) != 0;
  if (a == 0.0f) {
    let r = select(0.0f, infinity_f32(), b < 0.0f);
    return select(r, copysign_f32(r, a), odd);
  }
  if (a < 0.0f && !whole) { return nan_f32(); }
  let r = pow(abs(a), b);
  return select(r, -r, a < 0.0f && odd);
}""",
    # N. Juffa's erff: at most 1 ulp, if exp is exact
    "erf_f32": """\
fn erf_f32(a: f32) -> f32 {
  let x = abs(a);
  let s = a * a;
  if (x > 0.927734375f) {
    var r = fma(-1.72853470e-5f, x, 3.83197126e-4f);
    let u = fma(-3.88396438e-3f, x, 2.42546219e-2f);
    r = fma(r, s, u);
    r = fma(r, x, -1.06777877e-1f);
    r = fma(r, x, -6.34846687e-1f);
    r = fma(r, x, -1.28717512e-1f);
    r = fma(r, min(x, 10.0f), -x);
    return copysign_f32(1.0f - exp(r), a);
  }
  var r = -5.96761703e-4f;
  r = fma(r, s, 4.99119423e-3f);
  r = fma(r, s, -2.67681349e-2f);
  r = fma(r, s, 1.12819925e-1f);
  r = fma(r, s, -3.76125336e-1f);
  r = fma(r, s, 1.28379166e-1f);
  return fma(r, a, a);
}""",
    "widened_bf16": "fn widened_bf16(a: u32) -> f32 { return bitcast<f32>(a << 16u); }",
    "rounded_bf16": """\
fn rounded_bf16(a: f32) -> u32 {
  let b = bitcast<u32>(a);
  return select((b + 0x7fffu + ((b >> 16u) & 1u)) >> 16u, (b >> 16u) | 64u, is_nan_f32(a));
}""",
    "widened_f16": """\
fn widened_f16(a: u32) -> f32 {
  let rest = a & 0x7fffu;
  let size = select(
    bitcast<u32>(f32(rest & 0x3ffu) * 5.9604645e-8f), (rest << 13u) + 0x38000000u, rest >= 0x400u);
  return bitcast<f32>(select(size, (rest << 13u) | 0x7f800000u, rest >= 0x7c00u)
    | ((a & 0x8000u) << 16u));
}""",
    "rounded_f16": """\
fn rounded_f16(a: f32) -> u32 {
  let b = bitcast<u32>(a);
  let sign = (b >> 16u) & 0x8000u;
  let rest = b & 0x7fffffffu;
  if (rest > 0x7f800000u) { return sign | 0x7e00u | ((rest >> 13u) & 0x1ffu); }
  if (rest >= 0x477ff000u) { return sign | 0x7c00u; }
  if (rest < 0x38800000u) { /* the sum rounds to multiples of 2^-24, which its last bits count */
    return sign | (bitcast<u32>(bitcast<f32>(rest) + 0.5f) - 0x3f000000u);
  }
  return sign | ((rest - 0x38000000u + 0xfffu + ((rest >> 13u) & 1u)) >> 13u);
}""",
    "floor_divide_i32": """\
fn floor_divide_i32(a: i32, b: i32) -> i32 {
  return a / b - select(0, 1, a % b != 0 && (a < 0) != (b < 0));
}""",
    "ceil_divide_i32": """\
fn ceil_divide_i32(a: i32, b: i32) -> i32 {
  return a / b + select(0, 1, a % b != 0 && (a < 0) == (b < 0));
}""",
    "floor_modulo_i32": """\
fn floor_modulo_i32(a: i32, b: i32) -> i32 {
  let rest = a % b;
  return rest + select(0, b, rest < 0);
}""",
    "long_i32": """\
fn long_i32(a: i32) -> vec2u { return vec2u(bitcast<u32>(a), bitcast<u32>(a >> 31u)); }""",
    "add_i64": """\
fn add_i64(a: vec2u, b: vec2u) -> vec2u {
  let low = a.x + b.x;
  return vec2u(low, a.y + b.y + select(0u, 1u, low < a.x));
}""",
    "subtract_i64": """\
fn subtract_i64(a: vec2u, b: vec2u) -> vec2u {
  return vec2u(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}""",
    "multiply_i64": """\
fn multiply_i64(a: vec2u, b: vec2u) -> vec2u {
  let p = (a.x & 0xffffu) * (b.x & 0xffffu);
  let q = (a.x >> 16u) * (b.x & 0xffffu) + (p >> 16u);
  let r = (a.x & 0xffffu) * (b.x >> 16u) + (q & 0xffffu);
  let high = (a.x >> 16u) * (b.x >> 16u) + (q >> 16u) + (r >> 16u);
  return vec2u(a.x * b.x, high + a.x * b.y + a.y * b.x);
}""",
    "absolute_i64": """\
fn absolute_i64(a: vec2u) -> vec2u {
  return select(a, subtract_i64(vec2u(0u, 0u), a), a.y >= 0x80000000u);
}""",
    "less_u64": _LESS.format(t="u64", high="a.y < b.y"),
    "less_i64": _LESS.format(t="i64", high=_SIGNED_HIGH),
    "larger_i64": _OF_BIG.format(name="larger", t="i64", x="a", y="b"),
    "smaller_i64": _OF_BIG.format(name="smaller", t="i64", x="b", y="a"),
    "larger_u64": _OF_BIG.format(name="larger", t="u64", x="a", y="b"),
    "smaller_u64": _OF_BIG.format(name="smaller", t="u64", x="b", y="a"),
    "shift_left_i64": """\
fn shift_left_i64(a: vec2u, n: u32) -> vec2u {
  if (n >= 32u) { return vec2u(0u, a.x << (n - 32u)); }
  return vec2u(a.x << n, (a.y << n) | select(0u, a.x >> (32u - n), n > 0u));
}""",
    "shift_right_u64": """\
fn shift_right_u64(a: vec2u, n: u32) -> vec2u {
  if (n >= 32u) { return vec2u(a.y >> (n - 32u), 0u); }
  return vec2u((a.x >> n) | select(0u, a.y << (32u - n), n > 0u), a.y >> n);
}""",
    "shift_right_i64": """\
fn shift_right_i64(a: vec2u, n: u32) -> vec2u {
  let high = bitcast<i32>(a.y);
  let sign = bitcast<u32>(high >> 31u);
  if (n >= 32u) { return vec2u(bitcast<u32>(high >> (n - 32u)), sign); }
  return vec2u((a.x >> n) | select(0u, a.y << (32u - n), n > 0u), bitcast<u32>(high >> n));
}""",
    # Quotient and remainder, bit by bit.
    "divided_u64": """\
fn divided_u64(a: vec2u, b: vec2u) -> vec4u {
  var quotient = vec2u(0u, 0u);
  var rest = vec2u(0u, 0u);
  for (var bit = 63; bit >= 0; bit--) {
    let word = select(a.x, a.y, bit >= 32);
    let next = (word >> (bitcast<u32>(bit) & 31u)) & 1u;
    let over = rest.y >= 0x80000000u;
    rest = vec2u((rest.x << 1u) | next, (rest.y << 1u) | (rest.x >> 31u));
    quotient = vec2u(quotient.x << 1u, (quotient.y << 1u) | (quotient.x >> 31u));
    if (over || !less_u64(rest, b)) {
      rest = subtract_i64(rest, b);
      quotient.x |= 1u;
    }
  }
  return vec4u(quotient, rest);
}""",
    "divide_u64": "fn divide_u64(a: vec2u, b: vec2u) -> vec2u { return divided_u64(a, b).xy; }",
    "remainder_u64": """\
fn remainder_u64(a: vec2u, b: vec2u) -> vec2u { return divided_u64(a, b).zw; }""",
    "divide_i64": """\
fn divide_i64(a: vec2u, b: vec2u) -> vec2u {
  let size = divide_u64(absolute_i64(a), absolute_i64(b));
  return select(size, subtract_i64(vec2u(0u, 0u), size), ((a.y ^ b.y) >> 31u) != 0u);
}""",
    "remainder_i64": """\
fn remainder_i64(a: vec2u, b: vec2u) -> vec2u {
  let size = remainder_u64(absolute_i64(a), absolute_i64(b));
  return select(size, subtract_i64(vec2u(0u, 0u), size), (a.y >> 31u) != 0u);
}""",
    "floor_divide_i64": """\
fn floor_divide_i64(a: vec2u, b: vec2u) -> vec2u {
  let exact = all(remainder_i64(a, b) == vec2u(0u, 0u)) || ((a.y ^ b.y) >> 31u) == 0u;
  return subtract_i64(divide_i64(a, b), vec2u(select(1u, 0u, exact), 0u));
}""",
    "ceil_divide_i64": """\
fn ceil_divide_i64(a: vec2u, b: vec2u) -> vec2u {
  let exact = all(remainder_i64(a, b) == vec2u(0u, 0u)) || ((a.y ^ b.y) >> 31u) != 0u;
  return add_i64(divide_i64(a, b), vec2u(select(1u, 0u, exact), 0u));
}""",
    # The highest 32 bits, of which the last says whether there are any below: rounded once.
    "float_u64": """\
fn float_u64(a: vec2u) -> f32 {
  if (a.y == 0u) { return f32(a.x); }
  let zeros = countLeadingZeros(a.y);
  let shifted = shift_left_i64(a, zeros);
  let top = f32(shifted.y | select(0u, 1u, shifted.x != 0u));
  return top * bitcast<f32>((159u - zeros) << 23u);
}""",
    "float_i64": """\
fn float_i64(a: vec2u) -> f32 {
  let size = float_u64(absolute_i64(a));
  return select(size, -size, a.y >= 0x80000000u);
}""",
    "whole_u64": """\
fn whole_u64(a: f32) -> vec2u {
  let b = trunc(a);
  let high = floor(b * 2.3283064e-10f);
  return vec2u(u32(b - high * 4294967296.0f), u32(high));
}""",
    "whole_i64": """\
fn whole_i64(a: f32) -> vec2u {
  let size = whole_u64(abs(a));
  return select(size, subtract_i64(vec2u(0u, 0u), size), a < 0.0f);
}""",
}
