/* Of CUDA's driver, what is needed here; as in <cuda.h>. */
#ifndef __cuda_cuda_h__
typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuMemcpyDtoDAsync cuMemcpyDtoDAsync_v2
extern CUresult cuInit(unsigned);
extern CUresult cuGetErrorString(CUresult, const char **);
extern CUresult cuDeviceGet(CUdevice *, int);
extern CUresult cuDevicePrimaryCtxRetain(CUcontext *, CUdevice);
extern CUresult cuDevicePrimaryCtxRelease(CUdevice);
extern CUresult cuCtxSetCurrent(CUcontext);
extern CUresult cuModuleLoadData(CUmodule *, const void *);
extern CUresult cuModuleUnload(CUmodule);
extern CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);
extern CUresult cuMemAlloc(CUdeviceptr *, size_t);
extern CUresult cuMemFree(CUdeviceptr);
extern CUresult cuMemcpyHtoD(CUdeviceptr, const void *, size_t);
extern CUresult cuMemcpyDtoH(void *, CUdeviceptr, size_t);
extern CUresult cuMemcpyDtoDAsync(CUdeviceptr, CUdeviceptr, size_t, CUstream);
extern CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **);
#endif

enum { MOST_ARGUMENTS = $most_arguments };

struct ${name}_model {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction kernels[KERNELS + !KERNELS];
  CUdeviceptr buffers[BUFFERS];
  char error[512];
};

static int failed(${name}_model *m, const char *what, CUresult code) {
  const char *says = NULL;
  if (!code) return 0;
  if (cuGetErrorString(code, &says) || !says) says = "an error that the driver has no words for";
  snprintf(m->error, sizeof m->error, "%s: %s (CUDA's error %d)", what, says, (int)code);
  return 1;
}

static int load(${name}_model *m, int device, const void *image) {
  if (failed(m, "no CUDA driver", cuInit(0))) return 1;
  if (failed(m, "no such GPU", cuDeviceGet(&m->device, device))) return 1;
  if (failed(m, "no context", cuDevicePrimaryCtxRetain(&m->context, m->device))) return 1;
  if (failed(m, "no context", cuCtxSetCurrent(m->context))) return 1;
  if (failed(m, "the kernels do not load", cuModuleLoadData(&m->module, image))) return 1;
  for (int k = 0; k < KERNELS; k++)
    if (failed(m, kernel_names[k], cuModuleGetFunction(&m->kernels[k], m->module, kernel_names[k]))) return 1;
  return 0;
}

static int allocate(${name}_model *m, const void *weights) {
  for (int k = 0; k < BUFFERS; k++)
    if (failed(m, "no memory", cuMemAlloc(&m->buffers[k], buffer_bytes[k] ? buffer_bytes[k] : 1))) return 1;
  if (WEIGHTS < 0) return 0;
  return failed(m, "weights", cuMemcpyHtoD(m->buffers[WEIGHTS < 0 ? 0 : WEIGHTS], weights, ${guard}_WEIGHT_BYTES));
}

static CUdeviceptr address(const ${name}_model *m, int k) { return m->buffers[regions[k].buffer] + regions[k].offset; }

static int launch(${name}_model *m, const step *s) {
  const unsigned *block = kernel_blocks[s->kernel];
  CUdeviceptr addresses[MOST_ARGUMENTS];
  void *places[MOST_ARGUMENTS];
  for (int k = 0; k < s->count; k++) {
    addresses[k] = address(m, arguments[s->first + k].region);
    places[k] = &addresses[k];
  }
  return failed(m, kernel_names[s->kernel],
                cuLaunchKernel(m->kernels[s->kernel], s->grid[0], s->grid[1], s->grid[2], block[0], block[1], block[2], 0, NULL, places, NULL));
}

static int copy(${name}_model *m, int from, int to) {
  return regions[from].bytes && failed(m, "copy", cuMemcpyDtoDAsync(address(m, to), address(m, from), regions[from].bytes, NULL));
}

int ${name}_run(${name}_model *m, const void *const *inputs, void *const *outputs) {
  if (failed(m, "no context", cuCtxSetCurrent(m->context))) return 1;
  for (int k = 0; k < INPUTS; k++) {
    const int b = input_buffers[k];
    if (buffer_bytes[b] && failed(m, "input", cuMemcpyHtoD(m->buffers[b], inputs[k], buffer_bytes[b]))) return 1;
  }
  for (int k = 0; k < STEPS; k++) {
    const step *s = &steps[k];
    const argument *list = &arguments[s->first];
    if (s->kernel >= 0 ? launch(m, s) : copy(m, list[0].region, list[1].region)) return 1;
  }
  for (int k = 0; k < OUTPUTS; k++) {
    const int b = output_buffers[k];
    if (buffer_bytes[b] && failed(m, "output", cuMemcpyDtoH(outputs[k], m->buffers[b], buffer_bytes[b]))) return 1;
  }
  return 0;
}

${name}_model *${name}_create(int device, const void *image, const void *weights, char *message, size_t size) {
  ${name}_model *m = calloc(1, sizeof *m);
  if (!m) {
    snprintf(message, size, "no memory");
    return NULL;
  }
  if (!load(m, device, image) && !allocate(m, weights)) return m;
  snprintf(message, size, "%s", m->error);
  ${name}_destroy(m);
  return NULL;
}

const char *${name}_error(const ${name}_model *m) { return m->error; }

void ${name}_destroy(${name}_model *m) {
  if (!m) return;
  if (m->context) cuCtxSetCurrent(m->context);
  for (int k = 0; k < BUFFERS; k++)
    if (m->buffers[k]) cuMemFree(m->buffers[k]);
  if (m->module) cuModuleUnload(m->module);
  if (m->context) cuDevicePrimaryCtxRelease(m->device);
  free(m);
}
