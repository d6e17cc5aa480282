// Metal's functions of numbers: of float and half, and of vectors element by element.
#pragma once

namespace metal {

template <class T>
constexpr bool is_half = std::is_same_v<T, half> || std::is_same_v<T, bfloat>;
template <class T>
concept Float = std::is_same_v<T, float> || is_half<T>;
template <class T>
concept Vector = is_vector<T>;

template <class V, class Function, class... More>
V by_element(Function function, V a, More... more) {
  V result{};
  for (unsigned k = 0; k < lanes_of<V>; ++k) {
    if constexpr (std::is_same_v<element_type<V>, bool>)
      result[k] = function(bool(a[k]), element_type<More>(more[k])...);
    else
      result[k] = function(element_type<V>(a[k]), element_type<More>(more[k])...);
  }
  return result;
}

#define SIMT_UNARY(name, expression)                                            \
  template <Float T>                                                            \
  T name(T value) {                                                             \
    float x = float(value);                                                     \
    return T(expression);                                                       \
  }                                                                             \
  template <Vector V>                                                           \
  V name(V value) {                                                             \
    return by_element([](element_type<V> x) { return metal::name(x); }, value); \
  }
#define SIMT_SAME(name) SIMT_UNARY(name, ::name##f(x))
SIMT_SAME(acos) SIMT_SAME(acosh) SIMT_SAME(asin) SIMT_SAME(asinh) SIMT_SAME(atan)
SIMT_SAME(atanh) SIMT_SAME(ceil) SIMT_SAME(cos) SIMT_SAME(cosh) SIMT_SAME(exp)
SIMT_SAME(exp2) SIMT_SAME(exp10) SIMT_SAME(fabs) SIMT_SAME(floor) SIMT_SAME(log)
SIMT_SAME(log2) SIMT_SAME(log10) SIMT_SAME(rint) SIMT_SAME(round) SIMT_SAME(sin)
SIMT_SAME(sinh) SIMT_SAME(sqrt) SIMT_SAME(tan) SIMT_SAME(tanh) SIMT_SAME(trunc)
SIMT_UNARY(rsqrt, 1 / ::sqrtf(x))
SIMT_UNARY(fract, x - ::floorf(x))
SIMT_UNARY(saturate, x > 0 ? (x < 1 ? x : 1.0f) : 0.0f)
SIMT_UNARY(sign, x > 0 ? 1.0f : x < 0 ? -1.0f : x == 0 ? x : 0.0f)

#define SIMT_BINARY(name, expression)                                           \
  template <Float T>                                                            \
  T name(T first, std::type_identity_t<T> second) {                             \
    float a = float(first), b = float(second);                                  \
    return T(expression);                                                       \
  }                                                                             \
  template <Vector V>                                                           \
  V name(V a, V b) {                                                            \
    using T = element_type<V>;                                                  \
    return by_element([](T x, T y) { return metal::name(x, y); }, a, b);        \
  }
SIMT_BINARY(atan2, ::atan2f(a, b))
SIMT_BINARY(copysign, ::copysignf(a, b))
SIMT_BINARY(fmax, ::fmaxf(a, b))
SIMT_BINARY(fmin, ::fminf(a, b))
SIMT_BINARY(fmod, ::fmodf(a, b))
SIMT_BINARY(pow, ::powf(a, b))
SIMT_BINARY(powr, ::powf(a, b))
SIMT_BINARY(step, b < a ? 0.0f : 1.0f)

inline float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
inline half fma(half a, half b, half c) { return half(double(a) * double(b) + double(c)); }
template <Vector V>
V fma(V a, V b, V c) {
  using T = element_type<V>;
  return by_element([](T x, T y, T z) { return metal::fma(x, y, z); }, a, b, c);
}

// Of integers and of floats; the types of both operands are the same.
template <class T>
  requires std::is_arithmetic_v<T> || Float<T>
T max(T a, T b) {
  if constexpr (Float<T>) return metal::fmax(a, b);
  else return a > b ? a : b;
}
template <class T>
  requires std::is_arithmetic_v<T> || Float<T>
T min(T a, T b) {
  if constexpr (Float<T>) return metal::fmin(a, b);
  else return a < b ? a : b;
}
template <Vector V>
V max(V a, V b) {
  using T = element_type<V>;
  return by_element([](T x, T y) { return metal::max(x, y); }, a, b);
}
template <Vector V>
V min(V a, V b) {
  using T = element_type<V>;
  return by_element([](T x, T y) { return metal::min(x, y); }, a, b);
}
template <class T>
T clamp(T value, std::type_identity_t<T> low, std::type_identity_t<T> high) {
  return metal::min(metal::max(value, low), high);
}
template <class T>
T mix(T a, T b, std::type_identity_t<T> part) {
  return a + (b - a) * part;
}
template <class T>
  requires std::is_arithmetic_v<T> || Float<T>
T abs(T value) {
  return value < T(0) ? T(-value) : value;
}
template <Vector V>
V abs(V value) {
  using T = element_type<V>;
  return by_element([](T x) { return metal::abs(x); }, value);
}

// The second where the condition holds.
template <class T>
T select(T otherwise, T chosen, bool condition) {
  return condition ? chosen : otherwise;
}
template <Vector V, Vector B>
V select(V otherwise, V chosen, B condition) {
  for (unsigned k = 0; k < lanes_of<V>; ++k)
    if (condition[k]) otherwise[k] = chosen[k];
  return otherwise;
}
template <Vector B>
bool any(B value) {
  for (unsigned k = 0; k < lanes_of<B>; ++k)
    if (value[k]) return true;
  return false;
}
template <Vector B>
bool all(B value) {
  for (unsigned k = 0; k < lanes_of<B>; ++k)
    if (!value[k]) return false;
  return true;
}
template <Vector V>
element_type<V> dot(V a, V b) {
  element_type<V> sum = 0;
  for (unsigned k = 0; k < lanes_of<V>; ++k) sum += a[k] * b[k];
  return sum;
}

inline bool isnan(float x) { return __builtin_isnan(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline bool signbit(float x) { return __builtin_signbit(x); }
inline float ldexp(float x, int power) { return ::ldexpf(x, power); }
template <class T>
  requires std::is_integral_v<T>
T popcount(T value) {
  return T(__builtin_popcountll(std::make_unsigned_t<T>(value)));
}
template <class T>
  requires std::is_integral_v<T>
T clz(T value) {
  unsigned long long bits = std::make_unsigned_t<T>(value);
  return bits ? T(__builtin_clzll(bits) - 64 + int(sizeof(T)) * 8) : T(sizeof(T) * 8);
}
template <class T>
  requires std::is_integral_v<T>
T ctz(T value) {
  return value ? T(__builtin_ctzll(std::make_unsigned_t<T>(value))) : T(sizeof(T) * 8);
}
inline int mulhi(int a, int b) { return int(long(a) * b >> 32); }
inline uint mulhi(uint a, uint b) { return uint(ulong(a) * b >> 32); }

// Exact here; on a device `fast` may be less so.
namespace precise {
using metal::abs, metal::clamp, metal::mix, metal::saturate, metal::sign;
using metal::acos, metal::acosh, metal::asin, metal::asinh, metal::atan, metal::atan2;
using metal::atanh, metal::ceil, metal::cos, metal::cosh, metal::exp, metal::exp10;
using metal::exp2, metal::fabs, metal::floor, metal::fma, metal::fmax, metal::fmin;
using metal::fmod, metal::log, metal::log10, metal::log2, metal::max, metal::min;
using metal::pow, metal::powr, metal::rint, metal::round, metal::rsqrt, metal::sin;
using metal::sinh, metal::sqrt, metal::tan, metal::tanh, metal::trunc;
}  // namespace precise
namespace fast = precise;

template <class To, class From>
To as_type(From value) {
  static_assert(sizeof(To) == sizeof(From), "as_type keeps the size");
  To result;
  __builtin_memcpy(&result, &value, sizeof value);
  return result;
}

}  // namespace metal

using metal::as_type;
