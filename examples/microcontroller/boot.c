/* What a Cortex-M4 does after reset: it lets code use the FPU and begins the program. */
#include <stdint.h>

extern void _start(void);
void reset(void);

#define COPROCESSORS (*(volatile uint32_t *)0xE000ED88) /* CPACR */

void reset(void) {
  COPROCESSORS |= 0xFu << 20;
  __asm volatile("dsb\n isb");
  _start();
  for (;;) {
  }
}

extern uint32_t stack_end;
struct vectors {
  uint32_t *stack;
  void (*reset)(void);
};
__attribute__((section(".vectors"), used)) static const struct vectors vectors = {&stack_end, reset};
