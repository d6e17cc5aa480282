// Matrices of 8x8 spread over the lanes of a SIMD group, as in <metal_simdgroup_matrix>.
//
// Each lane holds two neighbours of a row; programs may not know which.
#pragma once

namespace metal {

template <class T, int Columns, int Rows>
struct simdgroup_matrix {
  static_assert(Columns == 8 && Rows == 8, "Metal has matrices of 8x8");
  simdgroup_matrix() = default;
  // A matrix with this value on its diagonal.
  explicit simdgroup_matrix(T value) {
    for (unsigned k = 0; k < 2; ++k) x[k] = row() == column() + k ? value : T(0);
  }
  vec<T, 2>& thread_elements() { return x; }
  static unsigned row() { return simt::lane() / 4; }
  static unsigned column() { return simt::lane() % 4 * 2; }

  vec<T, 2> x;
};
using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;

template <class T, int Columns, int Rows>
simdgroup_matrix<T, Columns, Rows> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, Columns, Rows> filled;
  filled.x[0] = filled.x[1] = value;
  return filled;
}

// The place of a lane's k-th element, counted from the origin.
template <class T>
ulong place_of(simdgroup_matrix<T, 8, 8>&, unsigned k, ulong stride, ulong2 origin,
               bool transposed) {
  ulong row = simt::lane() / 4, column = simt::lane() % 4 * 2 + k;
  if (transposed) std::swap(row, column);
  return (origin[1] + row) * stride + origin[0] + column;
}

template <class T>
void simdgroup_load(simdgroup_matrix<T, 8, 8>& into, const T* from, ulong stride = 8,
                    ulong2 origin = 0, bool transposed = false, int line = __builtin_LINE()) {
  simt::meet(0, ~0u, "simdgroup_load", line, true);
  for (unsigned k = 0; k < 2; ++k)
    into.x[k] = from[place_of(into, k, stride, origin, transposed)];
}
template <class T>
void simdgroup_store(simdgroup_matrix<T, 8, 8> from, T* to, ulong stride = 8, ulong2 origin = 0,
                     bool transposed = false, int line = __builtin_LINE()) {
  for (unsigned k = 0; k < 2; ++k) to[place_of(from, k, stride, origin, transposed)] = from.x[k];
  simt::meet(0, ~0u, "simdgroup_store", line, true);
}

// Let all lanes read a whole matrix.
template <class T>
void gather(const simdgroup_matrix<T, 8, 8>& part, T (&whole)[8][8], int line) {
  for (unsigned k = 0; k < 2; ++k) {
    auto met = simt::meet(simt::to_bits(T(part.x[k])), ~0u, "simdgroup_multiply", line, false);
    for (unsigned lane = 0; lane < simt::kLanes; ++lane)
      whole[lane / 4][lane % 4 * 2 + k] = simt::from_bits<T>(met.values[lane]);
  }
}

template <class D, class A, class B, class C>
void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& d,
                                   const simdgroup_matrix<A, 8, 8>& a,
                                   const simdgroup_matrix<B, 8, 8>& b,
                                   const simdgroup_matrix<C, 8, 8>& c,
                                   int line = __builtin_LINE()) {
  A left[8][8];
  B right[8][8];
  gather(a, left, line);
  gather(b, right, line);
  unsigned row = simt::lane() / 4, column = simt::lane() % 4 * 2;
  for (unsigned k = 0; k < 2; ++k) {
    D sum = D(c.x[k]);
    for (unsigned i = 0; i < 8; ++i) sum += D(left[row][i]) * D(right[i][column + k]);
    d.x[k] = sum;
  }
}
template <class D, class A, class B>
void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                        const simdgroup_matrix<B, 8, 8>& b, int line = __builtin_LINE()) {
  simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<D, 8, 8>(0), line);
}

}  // namespace metal
