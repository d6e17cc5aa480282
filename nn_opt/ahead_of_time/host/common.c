/* $title: a host for its kernels on $what.
 *
 * $build
 */
#include "$header"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The plan: what $plan_file says, loops written out. */
enum { BUFFERS = $buffer_count, REGIONS = $region_count, KERNELS = $kernel_count, STEPS = $step_count };
enum { INPUTS = $input_count, OUTPUTS = $output_count, WEIGHTS = $weights_buffer };

typedef struct { int buffer; size_t offset, bytes; } region;
typedef struct { int region, written; } argument;
typedef struct { int kernel, first, count; unsigned grid[3]; } step; /* kernel -1 copies the first to the second */

static const size_t buffer_bytes[] = {$buffer_bytes};
static const int input_buffers[] = {$input_buffers};
static const int output_buffers[] = {$output_buffers};
static const char *const kernel_names[] = {$kernel_names};
static const unsigned kernel_blocks[][3] = {$kernel_blocks};
static const region regions[] = {
$regions
};
static const argument arguments[] = {
$arguments
};
static const step steps[] = {
$steps
};

