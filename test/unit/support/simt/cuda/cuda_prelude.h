// What CUDA C++ knows without an include, on the runtime for threads of a GPU.
#pragma once

#include <algorithm>
#include <cmath>

#include "../runtime.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ SIMT_SHARED
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

// Structures without operators, as there. Copies are functions, so that addresses are checked.
#define SIMT_PAIR(T, name, alignment)                                            \
  struct alignas(alignment) name {                                               \
    T x, y;                                                                      \
    name() = default;                                                            \
    name(T x, T y) : x(x), y(y) {}                                               \
    name(const name& v) : x(v.x), y(v.y) {}                                      \
    name& operator=(const name& v) {                                             \
      x = v.x, y = v.y;                                                          \
      return *this;                                                              \
    }                                                                            \
  };                                                                             \
  inline name make_##name(T x, T y) { return {x, y}; }
#define SIMT_FOUR(T, name, alignment)                                            \
  struct alignas(alignment) name {                                               \
    T x, y, z, w;                                                                \
    name() = default;                                                            \
    name(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}                         \
    name(const name& v) : x(v.x), y(v.y), z(v.z), w(v.w) {}                      \
    name& operator=(const name& v) {                                             \
      x = v.x, y = v.y, z = v.z, w = v.w;                                        \
      return *this;                                                              \
    }                                                                            \
  };                                                                             \
  inline name make_##name(T x, T y, T z, T w) { return {x, y, z, w}; }
#define SIMT_VECTORS(T, name, align2, align4)                                    \
  struct name##1 { T x; };                                                       \
  struct name##3 { T x, y, z; };                                                 \
  inline name##1 make_##name##1(T x) { return {x}; }                             \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }             \
  SIMT_PAIR(T, name##2, align2)                                                  \
  SIMT_FOUR(T, name##4, align4)
SIMT_VECTORS(signed char, char, 2, 4)
SIMT_VECTORS(unsigned char, uchar, 2, 4)
SIMT_VECTORS(short, short, 4, 8)
SIMT_VECTORS(unsigned short, ushort, 4, 8)
SIMT_VECTORS(int, int, 8, 16)
SIMT_VECTORS(unsigned, uint, 8, 16)
SIMT_VECTORS(float, float, 8, 16)
SIMT_VECTORS(double, double, 16, 16)
SIMT_VECTORS(long long, longlong, 16, 16)
SIMT_VECTORS(unsigned long long, ulonglong, 16, 16)

#define threadIdx (std::as_const(::simt::place.thread))
#define blockIdx (std::as_const(::simt::place.block))
#define blockDim (std::as_const(::simt::block_size))
#define gridDim (std::as_const(::simt::grid_size))
constexpr int warpSize = int(simt::kLanes);

inline void __syncthreads(int line = __builtin_LINE(), int column = __builtin_COLUMN()) {
  simt::barrier(line, column);
}
inline void __syncwarp(unsigned mask = ~0u, int line = __builtin_LINE()) {
  simt::meet(0, mask, "__syncwarp", line, true);
}
inline void __threadfence() {}
inline void __threadfence_block() {}

// Shuffles stay in groups of `width` lanes; where there is no such lane, they give the own value.
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, int line = __builtin_LINE()) {
  auto met = simt::meet(simt::to_bits(value), mask, "__shfl_sync", line, false);
  unsigned from = (simt::lane() & ~unsigned(width - 1)) | (unsigned(source) & unsigned(width - 1));
  return simt::value_of<T>(met, from, "__shfl_sync", line);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 int line = __builtin_LINE()) {
  auto met = simt::meet(simt::to_bits(value), mask, "__shfl_up_sync", line, false);
  unsigned inside = simt::lane() & unsigned(width - 1);
  unsigned from = inside >= delta ? simt::lane() - delta : simt::lane();
  return simt::value_of<T>(met, from, "__shfl_up_sync", line);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   int line = __builtin_LINE()) {
  auto met = simt::meet(simt::to_bits(value), mask, "__shfl_down_sync", line, false);
  unsigned inside = simt::lane() & unsigned(width - 1);
  unsigned from = inside + delta < unsigned(width) ? simt::lane() + delta : simt::lane();
  return simt::value_of<T>(met, from, "__shfl_down_sync", line);
}
// Unlike the others, this one may read of a group before its own.
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, int line = __builtin_LINE()) {
  auto met = simt::meet(simt::to_bits(value), mask, "__shfl_xor_sync", line, false);
  unsigned from = simt::lane() ^ unsigned(bits);
  if (from / unsigned(width) > simt::lane() / unsigned(width)) from = simt::lane();
  return simt::value_of<T>(met, from, "__shfl_xor_sync", line);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  auto met = simt::meet(predicate != 0, mask, "__ballot_sync", line, false);
  unsigned votes = 0;
  for (unsigned k = 0; k < simt::kLanes; ++k)
    if (met.lanes >> k & 1 && met.values[k]) votes |= 1u << k;
  return votes;
}
inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return __ballot_sync(mask, predicate, line) != 0;
}
inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return __ballot_sync(mask, !predicate, line) == 0;
}

// Integers of 32 bits alone, as there.
template <class T, class Combine>
T simt_reduce(unsigned mask, T value, const char* what, int line, Combine combine) {
  auto met = simt::meet(simt::to_bits(value), mask, what, line, false);
  T total = value;
  for (unsigned k = 0; k < simt::kLanes; ++k)
    if (met.lanes >> k & 1 && k != simt::lane())
      total = combine(total, simt::from_bits<T>(met.values[k]));
  return total;
}
#define SIMT_REDUCE(T, name, expression)                                        \
  inline T __reduce_##name##_sync(unsigned mask, T value, int line = __builtin_LINE()) { \
    return simt_reduce(mask, value, "__reduce_" #name "_sync", line,            \
                       [](T a, T b) -> T { return expression; });               \
  }
SIMT_REDUCE(unsigned, add, a + b)
SIMT_REDUCE(int, add, int(unsigned(a) + unsigned(b)))
SIMT_REDUCE(unsigned, max, a > b ? a : b)
SIMT_REDUCE(int, max, a > b ? a : b)
SIMT_REDUCE(unsigned, min, a < b ? a : b)
SIMT_REDUCE(int, min, a < b ? a : b)
SIMT_REDUCE(unsigned, and, a & b)
SIMT_REDUCE(unsigned, or, a | b)
SIMT_REDUCE(unsigned, xor, a ^ b)

// Atomics give the value from before. Threads change only where they wait: no more is needed.
template <class T, class Change>
__attribute__((disable_sanitizer_instrumentation)) T simt_atomic(T* address, Change change) {
  simt::atomic_access(address, sizeof *address);
  T before = *address;
  *address = change(before);
  return before;
}
template <class T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  return simt_atomic(at, [=](T old) { return T(old + value); });
}
template <class T>
T atomicSub(T* at, std::type_identity_t<T> value) {
  return simt_atomic(at, [=](T old) { return T(old - value); });
}
template <class T>
T atomicExch(T* at, std::type_identity_t<T> value) {
  return simt_atomic(at, [=](T) { return value; });
}
template <class T>
T atomicCAS(T* at, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  return simt_atomic(at, [=](T old) { return old == compare ? value : old; });
}
#define SIMT_ATOMIC(name, expression)                                            \
  template <class T>                                                             \
    requires std::is_integral_v<T>                                               \
  T atomic##name(T* at, std::type_identity_t<T> value) {                         \
    return simt_atomic(at, [=](T old) -> T { return expression; });              \
  }
SIMT_ATOMIC(Max, old > value ? old : value)
SIMT_ATOMIC(Min, old < value ? old : value)
SIMT_ATOMIC(And, old & value)
SIMT_ATOMIC(Or, old | value)
SIMT_ATOMIC(Xor, old ^ value)

// Numbers. The C library has names of its own that begin like those of CUDA's fast functions.
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;
#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __powf(x, y) powf(x, y)
inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frcp_rn(float x) { return 1 / x; }
inline int __float2int_rn(float x) { return int(rintf(x)); }
inline int __float2int_rz(float x) { return int(x); }
inline float __int2float_rn(int x) { return float(x); }
inline int __float_as_int(float x) { return simt::from_bits<int>(simt::to_bits(x)); }
inline unsigned __float_as_uint(float x) { return simt::from_bits<unsigned>(simt::to_bits(x)); }
inline float __int_as_float(int x) { return simt::from_bits<float>(simt::to_bits(x)); }
inline float __uint_as_float(unsigned x) { return simt::from_bits<float>(simt::to_bits(x)); }
inline long long __double_as_longlong(double x) {
  return simt::from_bits<long long>(simt::to_bits(x));
}
inline double __longlong_as_double(long long x) {
  return simt::from_bits<double>(simt::to_bits(x));
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return unsigned((unsigned long long)a * b >> 32);
}
inline int __dp4a(int a, int b, int sum) {
  for (int k = 0; k < 32; k += 8) sum += (signed char)(a >> k) * (signed char)(b >> k);
  return sum;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  for (int k = 0; k < 32; k += 8) sum += (a >> k & 255) * (b >> k & 255);
  return sum;
}
#define SIMT_MIN_MAX(T)                               \
  inline T min(T a, T b) { return a < b ? a : b; }    \
  inline T max(T a, T b) { return a > b ? a : b; }
SIMT_MIN_MAX(int)
SIMT_MIN_MAX(unsigned)
SIMT_MIN_MAX(long)
SIMT_MIN_MAX(unsigned long)
SIMT_MIN_MAX(long long)
SIMT_MIN_MAX(unsigned long long)
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
template <class T>
T __ldg(const T* at) {
  return *at;
}
