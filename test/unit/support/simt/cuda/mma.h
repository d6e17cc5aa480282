// Matrices spread over the lanes of a warp, as in CUDA's header of this name.
//
// Lane k holds the k-th part of the elements in row-major order; programs may not know where
// elements are, so that any order will do.
#pragma once

#include "cuda_fp16.h"

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}

template <class T>
struct Stored {
  using type = T;
};
template <>
struct Stored<precision::tf32> {
  using type = float;
};

template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
  static constexpr int rows = std::is_same_v<Use, matrix_b> ? K : M;
  static constexpr int columns = std::is_same_v<Use, matrix_a> ? K : N;
  static constexpr int num_elements = rows * columns / int(simt::kLanes);
  using element_type = typename Stored<T>::type;
  element_type x[num_elements];
};

inline float __float_to_tf32(float x) {
  unsigned bits = simt::from_bits<unsigned>(simt::to_bits(x));
  return simt::from_bits<float>(simt::to_bits((bits + 0x1000u) & 0xffffe000u));
}

// Return a lane's element number k as its row and its column.
template <class Fragment>
int row_of(int k) {
  return (int(simt::lane()) * Fragment::num_elements + k) / Fragment::columns;
}
template <class Fragment>
int column_of(int k) {
  return (int(simt::lane()) * Fragment::num_elements + k) % Fragment::columns;
}

template <class Fragment, class Value>
void fill_fragment(Fragment& fragment, Value value) {
  for (auto& x : fragment.x) x = value;
}

template <class Fragment, class T>
void load(Fragment& into, const T* from, unsigned stride, bool by_rows) {
  for (int k = 0; k < Fragment::num_elements; ++k) {
    int row = row_of<Fragment>(k), column = column_of<Fragment>(k);
    into.x[k] = from[by_rows ? row * int(stride) + column : column * int(stride) + row];
  }
}

template <class Use, int M, int N, int K, class T, class Layout, class U>
void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& into, const U* from, unsigned stride,
                      int line = __builtin_LINE()) {
  simt::meet(0, ~0u, "load_matrix_sync", line, true);
  load(into, from, stride, std::is_same_v<Layout, row_major>);
}
template <int M, int N, int K, class T, class U>
void load_matrix_sync(fragment<accumulator, M, N, K, T>& into, const U* from, unsigned stride,
                      layout_t layout, int line = __builtin_LINE()) {
  simt::meet(0, ~0u, "load_matrix_sync", line, true);
  load(into, from, stride, layout == mem_row_major);
}
template <int M, int N, int K, class T, class U>
void store_matrix_sync(U* to, const fragment<accumulator, M, N, K, T>& from, unsigned stride,
                       layout_t layout, int line = __builtin_LINE()) {
  using Fragment = fragment<accumulator, M, N, K, T>;
  for (int k = 0; k < Fragment::num_elements; ++k) {
    int row = row_of<Fragment>(k), column = column_of<Fragment>(k);
    to[layout == mem_row_major ? row * int(stride) + column : column * int(stride) + row] =
        from.x[k];
  }
  simt::meet(0, ~0u, "store_matrix_sync", line, true);
}

// Return an element of a fragment, wherever it is, given the fragments of all lanes.
template <class Fragment>
auto element(const simt::Meeting& met, int row, int column) {
  int place = row * Fragment::columns + column;
  auto* part = reinterpret_cast<const Fragment*>(met.values[place / Fragment::num_elements]);
  return part->x[place % Fragment::num_elements];
}

template <int M, int N, int K, class T, class A, class B>
void mma_sync(fragment<accumulator, M, N, K, T>& d, const A& a, const B& b,
              const fragment<accumulator, M, N, K, T>& c, int line = __builtin_LINE()) {
  using Sum = fragment<accumulator, M, N, K, T>;
  T sums[Sum::num_elements];
  // Values of a meeting are those of the last one: all of A are read before B is asked for.
  T left[Sum::num_elements][K];
  auto met = simt::meet(reinterpret_cast<uint64_t>(&a), ~0u, "mma_sync", line, false);
  for (int k = 0; k < Sum::num_elements; ++k)
    for (int i = 0; i < K; ++i) left[k][i] = T(element<A>(met, row_of<Sum>(k), i));
  met = simt::meet(reinterpret_cast<uint64_t>(&b), ~0u, "mma_sync", line, false);
  for (int k = 0; k < Sum::num_elements; ++k) {
    sums[k] = c.x[k];
    for (int i = 0; i < K; ++i)
      sums[k] += left[k][i] * T(element<B>(met, i, column_of<Sum>(k)));
  }
  simt::meet(0, ~0u, "mma_sync", line, false);  // nobody changes a part that others still read
  for (int k = 0; k < Sum::num_elements; ++k) d.x[k] = sums[k];
}

}  // namespace nvcuda::wmma
