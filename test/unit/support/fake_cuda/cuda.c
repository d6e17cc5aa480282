/* A driver for CUDA whose device is this CPU: memory is the host's, and kernels run as a library
   of support/simt has them, which FAKE_CUDA_KERNELS names. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS, INVALID_VALUE, NOT_INITIALIZED = 3, NO_CONTEXT = 201, NOT_FOUND = 500, FAILED = 719 };
static int initialized, current;
static void *kernels;

int cuInit(unsigned flags) { return initialized = flags == 0, flags ? INVALID_VALUE : SUCCESS; }
int cuGetErrorString(int status, const char **text) {
  *text = status == FAILED ? "unspecified launch failure" : status == NOT_FOUND ? "named symbol not found" : "fake";
  return SUCCESS;
}
int cuDeviceGetCount(int *count) {
  const char *wish = getenv("FAKE_CUDA_DEVICES");
  *count = wish ? atoi(wish) : 1;
  return initialized ? SUCCESS : NOT_INITIALIZED;
}
int cuDeviceGet(int *device, int number) { return *device = number, SUCCESS; }
int cuDeviceGetName(char *name, int size, int device) {
  return snprintf(name, (size_t)size, "fake device %d", device), SUCCESS;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? 9 : 0;
  return device ? INVALID_VALUE : SUCCESS;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = &current;
  return device ? INVALID_VALUE : SUCCESS;
}
int cuCtxSetCurrent(void *context) { return current = context == &current, SUCCESS; }
int cuCtxSynchronize(void) { return current ? SUCCESS : NO_CONTEXT; }
int cuModuleLoadData(void **module, const char *image) {
  if (!current) return NO_CONTEXT;
  if (memcmp(image, "\177ELF", 4)) return INVALID_VALUE; /* what NVRTC makes for sm_90 */
  kernels = dlopen(getenv("FAKE_CUDA_KERNELS"), RTLD_NOW);
  *module = kernels;
  return kernels ? SUCCESS : NOT_FOUND;
}
int cuModuleUnload(void *module) { return module == kernels ? SUCCESS : INVALID_VALUE; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  char symbol[512];
  snprintf(symbol, sizeof symbol, "simt_kernel_%s", name);
  *function = dlsym(module, symbol);
  return *function ? SUCCESS : NOT_FOUND;
}
int cuMemAlloc_v2(uint64_t *pointer, size_t size) {
  *pointer = (uint64_t)(uintptr_t)aligned_alloc(256, (size + 255) / 256 * 256);
  return current ? SUCCESS : NO_CONTEXT;
}
int cuMemFree_v2(uint64_t pointer) { return free((void *)(uintptr_t)pointer), SUCCESS; }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) {
  return memcpy((void *)(uintptr_t)to, from, size), SUCCESS;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) {
  return memcpy(to, (void *)(uintptr_t)from, size), SUCCESS;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream) {
  return memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, size), stream ? INVALID_VALUE : SUCCESS;
}

struct launch {
  uint32_t grid[3], block[3];
  uint64_t shared_bytes;
  int32_t backwards, watched;
};
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **arguments, void **extra) {
  const struct launch how = {{gx, gy, gz}, {bx, by, bz}, shared, 0, 0};
  const char *(*run)(void *, void **, const struct launch *);
  *(void **)&run = dlsym(kernels, "simt_launch");
  if (stream || extra || !run) return INVALID_VALUE;
  return run(function, arguments, &how) ? FAILED : SUCCESS;
}
