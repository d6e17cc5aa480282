// The 16 upper bits of a float as in CUDA's header of this name; each operation rounds.
#pragma once

#include "cuda_prelude.h"

using __nv_bfloat16 = __bf16;
using nv_bfloat16 = __bf16;

inline __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
inline float __bfloat162float(__nv_bfloat16 x) { return float(x); }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) {
  return simt::from_bits<unsigned short>(simt::to_bits(x));
}
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) {
  return simt::from_bits<__nv_bfloat16>(simt::to_bits(x));
}
