#include "faults.h"

#include <cstdint>
#include <dlfcn.h>
#include <ucontext.h>

#include "runtime.h"

namespace simt {

const void* fault_site;

namespace {

alignas(16) char signal_stack[64 * 1024];

void on_fault(int signal, siginfo_t* info, void* context) {
#ifdef __x86_64__
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  fault_site = reinterpret_cast<char*>(registers[REG_RIP]) + 1;  // as if it had returned
#endif
  if (signal == SIGFPE) fail_here("an integer is divided by zero");
  if (signal == SIGILL) fail_here("an illegal instruction");
  fail_here("out of bounds: %s", describe(info->si_addr));
}

}  // namespace

FaultHandlers::FaultHandlers() {
  stack_t stack{};
  stack.ss_sp = signal_stack;
  stack.ss_size = sizeof signal_stack;
  sigaltstack(&stack, &stack_before_);
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int k = 0; k < 4; ++k) sigaction(kSignals[k], &action, &before_[k]);
}

FaultHandlers::~FaultHandlers() {
  for (int k = 0; k < 4; ++k) sigaction(kSignals[k], &before_[k], nullptr);
  sigaltstack(&stack_before_, nullptr);
}

}  // namespace simt

// Return where in the library the instruction of the last fault is, or 0.
SIMT_PUBLIC uintptr_t simt_fault_site() {
  Dl_info info;
  if (!simt::fault_site || !dladdr(simt::fault_site, &info)) return 0;
  return uintptr_t(simt::fault_site) - uintptr_t(info.dli_fbase);
}

// What checks of the compiler call: clang's -fsanitize=array-bounds,alignment.
extern "C" {

struct SimtSourceLocation {
  const char* file;
  uint32_t line, column;
};
struct SimtTypeDescriptor {
  uint16_t kind, info;
  char name[1];
};
struct SimtOutOfBounds {
  SimtSourceLocation location;
  const SimtTypeDescriptor* array;
  const SimtTypeDescriptor* index;
};
struct SimtTypeMismatch {
  SimtSourceLocation location;
  const SimtTypeDescriptor* type;
  uint8_t log_alignment, kind;
};

void __ubsan_handle_out_of_bounds(SimtOutOfBounds* data, uintptr_t index) {
  simt::fail_here("line %u: out of bounds: element %ld of %s", data->location.line, long(index),
                  data->array->name);
}

void __ubsan_handle_type_mismatch_v1(SimtTypeMismatch* data, uintptr_t address) {
  simt::fail_here("line %u: %s at an address that is no multiple of %u: %s", data->location.line,
                  data->type->name, 1u << data->log_alignment,
                  simt::describe(reinterpret_cast<void*>(address)));
}

}  // extern "C"
