/* Make one on an OpenCL device, a cl_device_id; NULL stands for the first GPU, or the first device if none is one.
   `weights` are the ${guard}_WEIGHT_BYTES bytes of $weights_file, which are copied.
   Return NULL where that cannot be, and say why in `message`, of `size` bytes. */
${name}_model *${name}_create(void *device, const void *weights, char *message, size_t size);
