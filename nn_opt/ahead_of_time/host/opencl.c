/* Of OpenCL 1.2, what is needed here; as in <CL/cl.h>. */
typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
extern cl_int clGetPlatformIDs(cl_uint, cl_platform_id *, cl_uint *);
extern cl_int clGetDeviceIDs(cl_platform_id, cl_ulong, cl_uint, cl_device_id *, cl_uint *);
extern cl_int clGetDeviceInfo(cl_device_id, cl_uint, size_t, void *, size_t *);
extern cl_context clCreateContext(const intptr_t *, cl_uint, const cl_device_id *, void *, void *, cl_int *);
extern cl_int clReleaseContext(cl_context);
extern cl_command_queue clCreateCommandQueue(cl_context, cl_device_id, cl_ulong, cl_int *);
extern cl_int clReleaseCommandQueue(cl_command_queue);
extern cl_program clCreateProgramWithSource(cl_context, cl_uint, const char **, const size_t *, cl_int *);
extern cl_int clBuildProgram(cl_program, cl_uint, const cl_device_id *, const char *, void *, void *);
extern cl_int clGetProgramBuildInfo(cl_program, cl_device_id, cl_uint, size_t, void *, size_t *);
extern cl_int clReleaseProgram(cl_program);
extern cl_kernel clCreateKernel(cl_program, const char *, cl_int *);
extern cl_int clSetKernelArg(cl_kernel, cl_uint, size_t, const void *);
extern cl_int clReleaseKernel(cl_kernel);
extern cl_mem clCreateBuffer(cl_context, cl_ulong, size_t, void *, cl_int *);
extern cl_mem clCreateSubBuffer(cl_mem, cl_ulong, cl_uint, const void *, cl_int *);
extern cl_int clReleaseMemObject(cl_mem);
extern cl_int clEnqueueWriteBuffer(cl_command_queue, cl_mem, cl_uint, size_t, size_t, const void *, cl_uint, const void *, void *);
extern cl_int clEnqueueReadBuffer(cl_command_queue, cl_mem, cl_uint, size_t, size_t, void *, cl_uint, const void *, void *);
extern cl_int clEnqueueCopyBuffer(cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const void *, void *);
extern cl_int clEnqueueNDRangeKernel(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint, const void *, void *);
enum { CL_TRUE = 1, CL_DEVICE_TYPE_GPU = 4, CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019, CL_MEM_READ_WRITE = 1 };
enum { CL_DEVICE_SINGLE_FP_CONFIG = 0x101B, CL_FP_CORRECTLY_ROUNDED = 128, CL_BUFFER_CREATE_TYPE_REGION = 0x1220 };
enum { CL_PROGRAM_BUILD_LOG = 0x1183, MOST_PLATFORMS = 16 };
static const cl_ulong CL_DEVICE_TYPE_ALL = 0xFFFFFFFF;

/* The kernels, a string a line. */
static const char *kernels_text[] = {
$text
};

struct ${name}_model {
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  cl_kernel kernels[KERNELS + !KERNELS];
  cl_mem buffers[BUFFERS];
  cl_mem regions[REGIONS]; /* as kernels are given them */
  int apart[REGIONS];      /* whether that is memory of its own, copied there and back */
  char error[2048];
};

static int failed(${name}_model *m, const char *what, cl_int code) {
  if (code) snprintf(m->error, sizeof m->error, "%s: OpenCL's error %d", what, (int)code);
  return code != 0;
}

static int find_device(${name}_model *m) {
  cl_platform_id platforms[MOST_PLATFORMS];
  cl_uint count = 0;
  const cl_ulong kinds[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ALL};
  if (clGetPlatformIDs(MOST_PLATFORMS, platforms, &count)) count = 0;
  if (count > MOST_PLATFORMS) count = MOST_PLATFORMS;
  for (int kind = 0; kind < 2; kind++)
    for (cl_uint k = 0; k < count; k++)
      if (!clGetDeviceIDs(platforms[k], kinds[kind], 1, &m->device, NULL)) return 0;
  snprintf(m->error, sizeof m->error, "there is no OpenCL device: install a driver");
  return 1;
}

static int build(${name}_model *m) {
  cl_int code = 0;
  cl_ulong floats = 0;
  const char *exact = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt";
  m->context = clCreateContext(NULL, 1, &m->device, NULL, NULL, &code);
  if (failed(m, "no context", code)) return 1;
  m->queue = clCreateCommandQueue(m->context, m->device, 0, &code);
  if (failed(m, "no queue", code)) return 1;
  m->program = clCreateProgramWithSource(m->context, sizeof kernels_text / sizeof *kernels_text, kernels_text, NULL, &code);
  if (failed(m, "no program", code)) return 1;
  clGetDeviceInfo(m->device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof floats, &floats, NULL);
  code = clBuildProgram(m->program, 1, &m->device, floats & CL_FP_CORRECTLY_ROUNDED ? exact : "-cl-std=CL1.2", NULL, NULL);
  if (code) {
    size_t size = 0;
    int begin = snprintf(m->error, sizeof m->error, "the device does not compile the kernels: ");
    clGetProgramBuildInfo(m->program, m->device, CL_PROGRAM_BUILD_LOG, sizeof m->error - (size_t)begin, m->error + begin, &size);
    return 1;
  }
  for (int k = 0; k < KERNELS; k++) {
    m->kernels[k] = clCreateKernel(m->program, kernel_names[k], &code);
    if (failed(m, kernel_names[k], code)) return 1;
  }
  return 0;
}

static int allocate(${name}_model *m, const void *weights) {
  cl_int code = 0;
  cl_uint bits = 0;
  if (failed(m, "no alignment", clGetDeviceInfo(m->device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL))) return 1;
  for (int k = 0; k < BUFFERS; k++) {
    m->buffers[k] = clCreateBuffer(m->context, CL_MEM_READ_WRITE, buffer_bytes[k] ? buffer_bytes[k] : 1, NULL, &code);
    if (failed(m, "no memory", code)) return 1;
  }
  for (int k = 0; k < REGIONS; k++) {
    const region *r = &regions[k];
    const size_t part[] = {r->offset, r->bytes};
    m->apart[k] = bits >= 8 && r->offset % (bits / 8) != 0;
    if (r->offset == 0 || r->bytes == 0) continue; /* the buffer itself */
    m->regions[k] = m->apart[k] ? clCreateBuffer(m->context, CL_MEM_READ_WRITE, r->bytes, NULL, &code)
                                : clCreateSubBuffer(m->buffers[r->buffer], 0, CL_BUFFER_CREATE_TYPE_REGION, part, &code);
    if (failed(m, "no part of the memory", code)) return 1;
  }
  if (WEIGHTS < 0) return 0;
  return failed(m, "weights", clEnqueueWriteBuffer(m->queue, m->buffers[WEIGHTS < 0 ? 0 : WEIGHTS], CL_TRUE, 0, ${guard}_WEIGHT_BYTES, weights, 0, NULL, NULL));
}

static cl_int copy(${name}_model *m, const region *from, const region *to) {
  if (!from->bytes) return 0;
  return clEnqueueCopyBuffer(m->queue, m->buffers[from->buffer], m->buffers[to->buffer], from->offset, to->offset, from->bytes, 0, NULL, NULL);
}

/* Copy a region to the memory apart that a kernel is given, or back. */
static cl_int move(${name}_model *m, int k, int back) {
  const region *r = &regions[k];
  const cl_mem here = m->buffers[r->buffer], apart = m->regions[k];
  if (!m->apart[k] || !apart) return 0;
  return clEnqueueCopyBuffer(m->queue, back ? apart : here, back ? here : apart, back ? 0 : r->offset, back ? r->offset : 0, r->bytes, 0, NULL, NULL);
}

static int launch(${name}_model *m, const step *s) {
  const argument *list = &arguments[s->first];
  size_t threads[3], block[3];
  for (int k = 0; k < s->count; k++) {
    const int part = list[k].region;
    const cl_mem *memory = m->regions[part] ? &m->regions[part] : &m->buffers[regions[part].buffer];
    if (failed(m, "copy", move(m, part, 0))) return 1;
    if (failed(m, kernel_names[s->kernel], clSetKernelArg(m->kernels[s->kernel], (cl_uint)k, sizeof *memory, memory))) return 1;
  }
  for (int d = 0; d < 3; d++) {
    block[d] = kernel_blocks[s->kernel][d];
    threads[d] = block[d] * s->grid[d];
  }
  if (failed(m, kernel_names[s->kernel], clEnqueueNDRangeKernel(m->queue, m->kernels[s->kernel], 3, NULL, threads, block, 0, NULL, NULL))) return 1;
  for (int k = 0; k < s->count; k++)
    if (list[k].written && failed(m, "copy", move(m, list[k].region, 1))) return 1;
  return 0;
}

int ${name}_run(${name}_model *m, const void *const *inputs, void *const *outputs) {
  for (int k = 0; k < INPUTS; k++) {
    const int b = input_buffers[k];
    if (buffer_bytes[b] && failed(m, "input", clEnqueueWriteBuffer(m->queue, m->buffers[b], CL_TRUE, 0, buffer_bytes[b], inputs[k], 0, NULL, NULL))) return 1;
  }
  for (int k = 0; k < STEPS; k++) {
    const step *s = &steps[k];
    if (s->kernel >= 0) {
      if (launch(m, s)) return 1;
    } else if (failed(m, "copy", copy(m, &regions[arguments[s->first].region], &regions[arguments[s->first + 1].region]))) {
      return 1;
    }
  }
  for (int k = 0; k < OUTPUTS; k++) {
    const int b = output_buffers[k];
    if (buffer_bytes[b] && failed(m, "output", clEnqueueReadBuffer(m->queue, m->buffers[b], CL_TRUE, 0, buffer_bytes[b], outputs[k], 0, NULL, NULL))) return 1;
  }
  return 0;
}

${name}_model *${name}_create(void *device, const void *weights, char *message, size_t size) {
  ${name}_model *m = calloc(1, sizeof *m);
  if (!m) {
    snprintf(message, size, "no memory");
    return NULL;
  }
  m->device = device;
  if ((m->device || !find_device(m)) && !build(m) && !allocate(m, weights)) return m;
  snprintf(message, size, "%s", m->error);
  ${name}_destroy(m);
  return NULL;
}

const char *${name}_error(const ${name}_model *m) { return m->error; }

void ${name}_destroy(${name}_model *m) {
  if (!m) return;
  for (int k = 0; k < REGIONS; k++)
    if (m->regions[k]) clReleaseMemObject(m->regions[k]);
  for (int k = 0; k < BUFFERS; k++)
    if (m->buffers[k]) clReleaseMemObject(m->buffers[k]);
  for (int k = 0; k < KERNELS; k++)
    if (m->kernels[k]) clReleaseKernel(m->kernels[k]);
  if (m->program) clReleaseProgram(m->program);
  if (m->queue) clReleaseCommandQueue(m->queue);
  if (m->context) clReleaseContext(m->context);
  free(m);
}
