/* What a Cortex-M4 does first: it turns its floating-point unit on. */
#include <stdint.h>
extern void _start(void);
void reset(void) {
  *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;
  __asm volatile("dsb\n isb");
  _start();
  for (;;) {
  }
}
__attribute__((section(".vectors"), used)) uint32_t *const vectors[2] = {
    (uint32_t *)0x203F0000, (uint32_t *)reset};
