/* Runs a model in C99 once, on the numbers 0, 0.01, 0.02, .. as its first input.
 *
 *   nn-compile model.onnx --name net --embed-weights -o net.c
 *   arm-none-eabi-gcc -std=c99 -O2 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 \
 *     --specs=rdimon.specs -T mps2.ld -nostartfiles ... see docs/ahead-of-time.md
 */
#include "net.h"
#include <stdio.h>

static float input[NET_INPUT_0_SIZE], output[NET_OUTPUT_0_SIZE];
static double arena[NET_ARENA_BYTES / 8 + 1]; /* of doubles, so that it is aligned */

int main(void) {
  const void *const inputs[] = {input};
  void *const outputs[] = {output};
  for (int k = 0; k < NET_INPUT_0_SIZE; k++) input[k] = 0.01f * (float)k;
  net_run(inputs, outputs, net_weights, arena);
  for (int k = 0; k < NET_OUTPUT_0_SIZE; k++) printf("%d\n", (int)(1000000 * output[k]));
  return 0;
}
