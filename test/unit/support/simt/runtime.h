// A GPU's threads on a CPU: what headers of languages for GPUs are built on.
//
// Each thread of a block is a fiber; blocks run one after another, and so do threads, from one
// point where they wait to the next. All on one thread of the CPU, so that state is global.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

namespace simt {

constexpr unsigned kLanes = 32;  // of a warp, also called a subgroup

struct Index {
  unsigned x, y, z;
};

// An index as messages show it.
struct Text {
  explicit Text(Index index) {
    snprintf(text, sizeof text, "(%u, %u, %u)", index.x, index.y, index.z);
  }
  char text[40];
};

// Where the running thread is, and how many there are.
struct Place {
  Index thread, block;
  unsigned linear;  // of the thread in its block
};
extern Place place;
extern Index block_size, grid_size;

// Shared memory of the size that the launch gives.
char* dynamic_shared();

// Wait for all threads of the block, in a call at this place of the text; it orders accesses to
// shared memory, and to that of the grid.
void barrier(int line, int column, bool orders_shared = true, bool orders_global = true);

// What the lanes of a warp that meet in one call have brought.
struct Meeting {
  const uint64_t* values;  // by lane
  uint32_t lanes;          // that take part
};
// Wait for the lanes of a mask; `what` is the function's name in the text. It orders accesses to
// memory only as `orders_memory` says.
Meeting meet(uint64_t value, uint32_t mask, const char* what, int line, bool orders_memory);

inline unsigned lane() { return place.linear % kLanes; }

// An access that other threads may make at the same time.
void atomic_access(const void* address, size_t bytes);

// End the launch with a message about the running thread.
[[noreturn]] void fail_here(const char* format, ...) __attribute__((format(printf, 1, 2)));
// The same about the block.
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

template <class T>
uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "lanes pass up to 8 bytes");
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
T from_bits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Return the value of another lane of a meeting.
template <class T>
T value_of(const Meeting& meeting, unsigned lane, const char* what, int line) {
  if (lane >= kLanes || !(meeting.lanes >> lane & 1))
    fail_here("line %d: %s reads lane %u, which takes no part", line, what, lane);
  return from_bits<T>(meeting.values[lane]);
}

// Return an argument of a kernel: by value, or behind the address of a buffer.
template <class T>
decltype(auto) argument(void* holder) {
  if constexpr (std::is_reference_v<T>)
    return **static_cast<std::remove_reference_t<T>**>(holder);
  else
    return *static_cast<std::remove_cv_t<T>*>(holder);
}

template <class... T, size_t... I>
void call_with(void (*kernel)(T...), void** holders, std::index_sequence<I...>) {
  kernel(argument<T>(holders[I])...);
}

template <class... T>
void call(void (*kernel)(T...), void** holders) {
  call_with(kernel, holders, std::index_sequence_for<T...>{});
}

}  // namespace simt

// Static arrays in shared memory are neighbours in a section of the library; others write them.
#define SIMT_SHARED static __attribute__((section("simt_shared"), used))
// A kernel, callable by its name with an array of addresses of arguments.
#define SIMT_PUBLIC extern "C" __attribute__((visibility("default")))
#define SIMT_EXPORT(kernel) \
  SIMT_PUBLIC void simt_kernel_##kernel(void** holders) { ::simt::call(kernel, holders); }
