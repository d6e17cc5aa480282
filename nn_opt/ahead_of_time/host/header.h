/* $title: a host for its kernels on $what. */
#ifndef ${guard}_H
#define ${guard}_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

#define ${guard}_WEIGHT_BYTES $weight_bytes
#define ${guard}_LAUNCHES $launches /* of kernels, a run */

/* A model on a device, with its memory there; one run at a time. */
typedef struct ${name}_model ${name}_model;

$create
/* Run on arrays of the host, each row-major; wait for the outputs. 0, or 1 if the device refused something.
   Inputs:
$inputs
   Outputs:
$outputs */
int ${name}_run(${name}_model *model, const void *const *inputs, void *const *outputs);

/* What the device refused last. */
const char *${name}_error(const ${name}_model *model);

void ${name}_destroy(${name}_model *model);

#ifdef __cplusplus
}
#endif
#endif
