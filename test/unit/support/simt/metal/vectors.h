// Scalars and vectors of Metal: clang's extended vectors, and constructors that take any parts.
#pragma once

#include <cstddef>
#include <type_traits>

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;
using half = _Float16;
using bfloat = __bf16;
constexpr half operator""h(long double value) { return half(value); }
constexpr half operator""h(unsigned long long value) { return half(value); }

namespace metal {
template <class T, uint N>
using vec = T __attribute__((ext_vector_type(N)));
}

#define SIMT_TYPES(T)                          \
  using T##2 = metal::vec<T, 2>;               \
  using T##3 = metal::vec<T, 3>;               \
  using T##4 = metal::vec<T, 4>;               \
  struct packed_##T##3 {                       \
    T x, y, z;                                 \
    operator T##3() const { return {x, y, z}; } \
  };
SIMT_TYPES(char)
SIMT_TYPES(uchar)
SIMT_TYPES(short)
SIMT_TYPES(ushort)
SIMT_TYPES(int)
SIMT_TYPES(uint)
SIMT_TYPES(long)
SIMT_TYPES(ulong)
SIMT_TYPES(half)
SIMT_TYPES(float)
using bool2 = metal::vec<bool, 2>;
using bool3 = metal::vec<bool, 3>;
using bool4 = metal::vec<bool, 4>;

namespace metal {

template <class T>
struct VectorOf {
  static constexpr bool is = false;
  static constexpr unsigned lanes = 1;
  using element = T;
};
template <class T, uint N>
struct VectorOf<T __attribute__((ext_vector_type(N)))> {
  static constexpr bool is = true;
  static constexpr unsigned lanes = N;
  using element = T;
};
template <class T>
constexpr bool is_vector = VectorOf<std::remove_cvref_t<T>>::is;
template <class T>
constexpr unsigned lanes_of = VectorOf<std::remove_cvref_t<T>>::lanes;
template <class T>
using element_type = typename VectorOf<std::remove_cvref_t<T>>::element;

// Return a vector of these scalars and vectors; one scalar is in all of it.
template <class V, class... Parts>
constexpr V make(Parts... parts) {
  constexpr unsigned given = (lanes_of<Parts> + ... + 0);
  static_assert(given == lanes_of<V> || (sizeof...(Parts) == 1 && given == 1),
                "a vector is made of one scalar, or of as many as it has");
  V result{};
  if constexpr (sizeof...(Parts) == 1 && given == 1) {
    for (unsigned k = 0; k < lanes_of<V>; ++k) ((result[k] = element_type<V>(parts)), ...);
  } else {
    unsigned at = 0;
    auto append = [&](auto part) {
      if constexpr (is_vector<decltype(part)>)
        for (unsigned k = 0; k < lanes_of<decltype(part)>; ++k)
          result[at++] = element_type<V>(part[k]);
      else
        result[at++] = element_type<V>(part);
    };
    (append(parts), ...);
  }
  return result;
}

}  // namespace metal
