// Stacks of their own for functions that can wait.
#pragma once

#include <cstddef>

#if !defined(__x86_64__) || defined(SIMT_UCONTEXT)
#define SIMT_PORTABLE 1
#include <ucontext.h>
#endif

namespace simt {

class Fiber {
 public:
  // Begin anew at a function that never returns.
  void start(char* stack, size_t bytes, void (*entry)());
  // Go on where the fiber stopped, until it calls `leave`.
  void enter();
  void leave();

 private:
#ifdef SIMT_PORTABLE
  ucontext_t own_, outer_;
#else
  void *own_, *outer_;
#endif
};

}  // namespace simt
