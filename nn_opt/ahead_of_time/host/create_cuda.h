/* Make one on a GPU by its number, from 0 on. `image` is what nvcc made of $kernels_file: the content of a .fatbin or
   .cubin file, or PTX; `weights` are the ${guard}_WEIGHT_BYTES bytes of $weights_file, which are copied.
   Return NULL where that cannot be, and say why in `message`, of `size` bytes. */
${name}_model *${name}_create(int device, const void *image, const void *weights, char *message, size_t size);
