// Signals of the processor become messages while a launch runs.
#pragma once

#include <csignal>

namespace simt {

class FaultHandlers {
 public:
  FaultHandlers();
  ~FaultHandlers();

 private:
  static constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  struct sigaction before_[4];
  stack_t stack_before_;
};

// The instruction that the next message is about, if it is known.
extern const void* fault_site;

// Return a message's part about an address: the array that is nearest, and how far it is.
const char* describe(const void* address);

}  // namespace simt
