// Words of the language; from here on the text of a program follows.
#pragma once

#define device
#define constant const
#define thread
#define threadgroup
#define kernel
#define SIMT_MAKE(type, ...) ::metal::make<type>(__VA_ARGS__)
#define char2(...) SIMT_MAKE(char2, __VA_ARGS__)
#define char3(...) SIMT_MAKE(char3, __VA_ARGS__)
#define char4(...) SIMT_MAKE(char4, __VA_ARGS__)
#define uchar2(...) SIMT_MAKE(uchar2, __VA_ARGS__)
#define uchar3(...) SIMT_MAKE(uchar3, __VA_ARGS__)
#define uchar4(...) SIMT_MAKE(uchar4, __VA_ARGS__)
#define short2(...) SIMT_MAKE(short2, __VA_ARGS__)
#define short3(...) SIMT_MAKE(short3, __VA_ARGS__)
#define short4(...) SIMT_MAKE(short4, __VA_ARGS__)
#define ushort2(...) SIMT_MAKE(ushort2, __VA_ARGS__)
#define ushort3(...) SIMT_MAKE(ushort3, __VA_ARGS__)
#define ushort4(...) SIMT_MAKE(ushort4, __VA_ARGS__)
#define int2(...) SIMT_MAKE(int2, __VA_ARGS__)
#define int3(...) SIMT_MAKE(int3, __VA_ARGS__)
#define int4(...) SIMT_MAKE(int4, __VA_ARGS__)
#define uint2(...) SIMT_MAKE(uint2, __VA_ARGS__)
#define uint3(...) SIMT_MAKE(uint3, __VA_ARGS__)
#define uint4(...) SIMT_MAKE(uint4, __VA_ARGS__)
#define long2(...) SIMT_MAKE(long2, __VA_ARGS__)
#define long3(...) SIMT_MAKE(long3, __VA_ARGS__)
#define long4(...) SIMT_MAKE(long4, __VA_ARGS__)
#define ulong2(...) SIMT_MAKE(ulong2, __VA_ARGS__)
#define ulong3(...) SIMT_MAKE(ulong3, __VA_ARGS__)
#define ulong4(...) SIMT_MAKE(ulong4, __VA_ARGS__)
#define half2(...) SIMT_MAKE(half2, __VA_ARGS__)
#define half3(...) SIMT_MAKE(half3, __VA_ARGS__)
#define half4(...) SIMT_MAKE(half4, __VA_ARGS__)
#define float2(...) SIMT_MAKE(float2, __VA_ARGS__)
#define float3(...) SIMT_MAKE(float3, __VA_ARGS__)
#define float4(...) SIMT_MAKE(float4, __VA_ARGS__)
#define bool2(...) SIMT_MAKE(bool2, __VA_ARGS__)
#define bool3(...) SIMT_MAKE(bool3, __VA_ARGS__)
#define bool4(...) SIMT_MAKE(bool4, __VA_ARGS__)

// What the headers of the checks know, and Metal does not.
#pragma GCC poison double erf erff erfc erfcf tgamma tgammaf lgamma lgammaf expm1 expm1f log1p
#pragma GCC poison log1pf cbrt cbrtf hypot hypotf remainder fdim native_exp
#pragma GCC poison expf exp2f logf log2f log10f sqrtf powf tanhf sinf cosf tanf asinf acosf atanf
#pragma GCC poison atan2f sinhf coshf asinhf acoshf atanhf fabsf floorf ceilf truncf rintf roundf
#pragma GCC poison fmaxf fminf fmaf fmodf ldexpf copysignf printf malloc memcpy memset
#pragma GCC poison barrier get_global_id get_local_id get_group_id get_local_size
