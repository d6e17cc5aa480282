// Half precision as in CUDA's header of this name; each operation rounds.
#pragma once

#include "cuda_prelude.h"

using __half = _Float16;
using half = _Float16;
SIMT_PAIR(half, __half2, 4)
using half2 = __half2;

inline half __float2half(float x) { return half(x); }
inline half __float2half_rn(float x) { return half(x); }
inline float __half2float(half x) { return float(x); }
inline half2 __floats2half2_rn(float x, float y) { return {half(x), half(y)}; }
inline half2 __halves2half2(half x, half y) { return {x, y}; }
inline half __low2half(half2 v) { return v.x; }
inline half __high2half(half2 v) { return v.y; }
inline float __low2float(half2 v) { return v.x; }
inline float __high2float(half2 v) { return v.y; }
inline unsigned short __half_as_ushort(half x) {
  return simt::from_bits<unsigned short>(simt::to_bits(x));
}
inline half __ushort_as_half(unsigned short x) { return simt::from_bits<half>(simt::to_bits(x)); }
inline short __half_as_short(half x) { return simt::from_bits<short>(simt::to_bits(x)); }
inline half __short_as_half(short x) { return simt::from_bits<half>(simt::to_bits(x)); }
inline half __hadd(half a, half b) { return a + b; }
inline half __hsub(half a, half b) { return a - b; }
inline half __hmul(half a, half b) { return a * b; }
inline half __hdiv(half a, half b) { return a / b; }
inline half __hneg(half a) { return -a; }
inline half __hfma(half a, half b, half c) {
  return half(double(a) * double(b) + double(c));  // 53 bits hold product and sum exactly enough
}
inline half __hmax(half a, half b) { return half(fmaxf(a, b)); }
inline half __hmin(half a, half b) { return half(fminf(a, b)); }
inline half2 __hfma2(half2 a, half2 b, half2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
inline half2 __hadd2(half2 a, half2 b) { return {half(a.x + b.x), half(a.y + b.y)}; }
inline half2 __hmul2(half2 a, half2 b) { return {half(a.x * b.x), half(a.y * b.y)}; }
inline half hexp(half x) { return half(expf(x)); }
inline half hlog(half x) { return half(logf(x)); }
inline half hsqrt(half x) { return half(sqrtf(x)); }
inline half hrsqrt(half x) { return half(1 / sqrtf(x)); }
