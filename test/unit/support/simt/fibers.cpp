#include "fibers.h"

#include <cstdint>

namespace simt {

#ifdef SIMT_PORTABLE

void Fiber::start(char* stack, size_t bytes, void (*entry)()) {
  getcontext(&own_);
  own_.uc_stack.ss_sp = stack;
  own_.uc_stack.ss_size = bytes;
  own_.uc_link = nullptr;
  makecontext(&own_, entry, 0);
}
void Fiber::enter() { swapcontext(&outer_, &own_); }
void Fiber::leave() { swapcontext(&own_, &outer_); }

#else

// Save the registers that calls preserve and the stack's top, and take up another's.
extern "C" void simt_switch(void** saved, void* next);
asm(R"(
.text
.hidden simt_switch
.globl simt_switch
.type simt_switch, @function
simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size simt_switch, .-simt_switch
)");
constexpr int kSavedRegisters = 6;

void Fiber::start(char* stack, size_t bytes, void (*entry)()) {
  auto top = reinterpret_cast<uintptr_t>(stack + bytes) & ~uintptr_t{15};
  auto** word = reinterpret_cast<void**>(top);
  *--word = nullptr;  // the entry finds its stack aligned as after a call
  *--word = reinterpret_cast<void*>(entry);
  for (int k = 0; k < kSavedRegisters; ++k) *--word = nullptr;
  own_ = word;
}
void Fiber::enter() { simt_switch(&outer_, own_); }
void Fiber::leave() { simt_switch(&own_, outer_); }

#endif

}  // namespace simt
