"""Kernels for GPUs with hosts in C: on an OpenCL device, and on a CUDA driver made of fibers."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
import tools
from samples import Sample
from simt_programs import compile_cuda

from nn_opt.driver.compile import main
from nn_opt.runtime import nvrtc
from nn_opt.runtime.launch_plan import LaunchPlan

FLAGS = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"]
PROGRAM = """\
#include "net.h"
#include <stdio.h>
#include <stdlib.h>

static void *content(const char *file, long *size) {{
  FILE *f = fopen(file, "rb");
  char *data = calloc(1, 1 << 24);
  *size = (long)fread(data, 1, 1 << 24, f);
  fclose(f);
  return data;
}}

int main(int count, char **words) {{
  static char x[{inputs} + 1], y[{outputs} + 1], message[500];
  long size;
  void *weights = content(words[1], &size), *image = content(words[count - 1], &size);
  const void *inputs[] = {{x}};
  void *outputs[] = {{y}};
  net_model *model = net_create({first}weights, message, sizeof message);
  (void)image;
  if (!model) {{
    fprintf(stderr, "%s\\n", message);
    return 2;
  }}
  if (fread(x, 1, {inputs}, stdin) != {inputs}) return 3;
  for (int k = 0; k < 2; k++) {{
    if (net_run(model, inputs, outputs)) {{
      fprintf(stderr, "%s\\n", net_error(model));
      return 4;
    }}
  }}
  net_destroy(model);
  return fwrite(y, 1, {outputs}, stdout) != {outputs};
}}
"""
# A driver whose modules are libraries of kernels for this CPU, by name.
DRIVER = """\
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
typedef struct { uint32_t grid[3], block[3]; uint64_t shared; int32_t backwards, watched; } how;
static void *library;
static const void *arrays[100];
static size_t sizes[100], count;
static const char *said = "the driver has no such thing";
int cuInit(unsigned flags) { return (int)flags; }
int cuGetErrorString(int code, const char **text) { *text = said; return code == 0; }
int cuDeviceGet(int *device, int number) { *device = number; return number == 0 ? 0 : 101; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = &library; return device; }
int cuDevicePrimaryCtxRelease_v2(int device) { return device; }
int cuCtxSetCurrent(void *context) { return context != &library; }
int cuModuleLoadData(void **module, const void *image) {
  *module = library = dlopen(image, RTLD_NOW);
  return library ? 0 : 200;
}
int cuModuleUnload(void *module) { return module != library; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  char symbol[500] = "simt_kernel_";
  *function = dlsym(module, strcat(symbol, name));
  return *function ? 0 : 500;
}
int cuMemAlloc_v2(uint64_t *place, size_t size) {
  void *(*make)(size_t, const char *, int);
  *(void **)&make = dlsym(library, "simt_array");
  *place = (uint64_t)(uintptr_t)(arrays[count] = make(size, "buffer", 0));
  sizes[count++] = size;
  return 0;
}
int cuMemFree_v2(uint64_t place) { return place == 0; }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) {
  memcpy((void *)(uintptr_t)to, from, size);
  return 0;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) {
  memcpy(to, (void *)(uintptr_t)from, size);
  return 0;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream) {
  (void)stream;
  memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, size);
  return 0;
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **places, void **extra) {
  how way = {{gx, gy, gz}, {bx, by, bz}, shared, 0, 1};
  const char *(*launch)(void *, void **, const how *);
  void (*give)(size_t, const void *const *, const size_t *);
  *(void **)&launch = dlsym(library, "simt_launch");
  *(void **)&give = dlsym(library, "simt_give");
  give(count, arrays, sizes);
  (void)stream, (void)extra;
  const char *fault = launch(function, places, &way);
  if (fault) said = fault;
  return fault ? 700 : 0;
}
"""


def make(sample: Sample, target: str, folder: Path) -> None:
    assert main([str(sample.path), "--target", target, "--name", "net", "-o", str(folder)]) == 0


def build(folder: Path, sample: Sample, first: str, *libraries: str) -> None:
    text = PROGRAM.format(inputs=sample.x.nbytes, outputs=sample.y.nbytes, first=first)
    (folder / "main.c").write_text(text)
    command = [tools.need("gcc"), *FLAGS, "-o", "main", "main.c", "net.c", *libraries]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


def run(
    folder: Path, sample: Sample, *words: str, kernels: str = "net.cl"
) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "POCL_CACHE_DIR": str(folder), "LD_LIBRARY_PATH": str(folder)}
    command = ["./main", f"{kernels}.weights", *words]
    given = sample.x.tobytes()
    return subprocess.run(
        command, cwd=folder, input=given, capture_output=True, env=environment, check=False
    )


def check(done: subprocess.CompletedProcess[bytes], y: np.ndarray) -> None:
    assert done.returncode == 0, done.stderr
    got = np.frombuffer(done.stdout, np.float32).reshape(y.shape)
    np.testing.assert_allclose(got, y, rtol=1e-4, atol=1e-5)


@tools.needs("opencl", "gcc")
@pytest.mark.parametrize("kind", ["network", "slices", "recurrent"])
def test_an_opencl_host(kind: str, request: pytest.FixtureRequest, tmp_path: Path):
    sample: Sample = request.getfixturevalue(kind)
    make(sample, "opencl", tmp_path)
    build(tmp_path, sample, "NULL, ", "-l:libOpenCL.so.1")
    check(run(tmp_path, sample), sample.y)


@pytest.fixture(scope="session")
def slices(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """A recurrence: its steps read rows of 12 bytes, where no device likes kernels to begin."""
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[5,1,3] x) => (float[5,1,1,2] y)
    <float[1,2,3] w = {WEIGHTS}, float[1,2,2] r = {0.5, -0.25, 0.125, 1}>
    { y = RNN<hidden_size = 2>(x, w, r) }"""
    path = tmp_path_factory.mktemp("slices") / "rnn.onnx"
    onnx.save(onnx.parser.parse_model(text.replace("WEIGHTS", "1, -0.5, 0.25, -1, 2, 0.5")), path)
    x = np.random.default_rng(3).normal(size=(5, 1, 3)).astype(np.float32)
    (y,) = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})
    return Sample(path, "x", x, np.asarray(y))


@tools.needs("opencl", "gcc")
def test_kernels_that_do_not_compile(mlp: Sample, tmp_path: Path):
    make(mlp, "opencl", tmp_path)
    host = tmp_path / "net.c"
    host.write_text(host.read_text().replace('"__kernel', '"__kernle', 1))
    build(tmp_path, mlp, "NULL, ", "-l:libOpenCL.so.1")
    done = run(tmp_path, mlp)
    assert done.returncode == 2
    assert b"the device does not compile the kernels: " in done.stderr


def test_cuda_is_to_be_compiled_as_it_is_here(mlp: Sample, tmp_path: Path):
    make(mlp, "cuda", tmp_path)
    head = (tmp_path / "net.c").read_text().partition("*/")[0]
    assert [line for line in head.split("\n") if "nvcc" in line and "-fmad=false" not in line] == []
    assert head.count("-fmad=false") == 3
    assert "/* Compile with -fmad=false: " in (tmp_path / "net.cu").read_text()
    assert "--fmad=false" in nvrtc.OPTIONS


@pytest.fixture(params=["Exp", "Identity"])
def nothing(request: pytest.FixtureRequest, tmp_path: Path) -> Sample:
    """A model that launches no kernel: its tensors are empty, or it only copies."""
    size = 0 if request.param == "Exp" else 2
    text = f"""<ir_version: 8, opset_import: ["": 17]>
    g (float[{size},8] x) => (float[{size},8] y) {{ y = {request.param}(x) }}"""
    path = tmp_path / "nothing.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    x = np.arange(size * 8, dtype=np.float32).reshape(size, 8)
    return Sample(path, "x", x, x)


@tools.needs("opencl", "gcc")
def test_a_host_without_kernels(nothing: Sample, tmp_path: Path):
    folder = tmp_path / "opencl"
    make(nothing, "opencl", folder)
    assert LaunchPlan.from_json((folder / "net.cl.plan.json").read_text()).kernels == ()
    build(folder, nothing, "NULL, ", "-l:libOpenCL.so.1")
    check(run(folder, nothing), nothing.y)
    folder = tmp_path / "cuda"
    make(nothing, "cuda", folder)
    command = [tools.need("gcc"), *FLAGS, "-c", "net.c"]
    subprocess.run(command, cwd=folder, check=True)


@tools.needs("clang++-19", "gcc")
def test_a_cuda_host(network: Sample, tmp_path: Path):
    make(network, "cuda", tmp_path)
    kernels = compile_cuda((tmp_path / "net.cu").read_text())
    (tmp_path / "driver.c").write_text(DRIVER)
    command = [tools.need("gcc"), "-shared", "-fPIC", "-o", "libcuda.so", "driver.c", "-ldl"]
    subprocess.run(command, cwd=tmp_path, check=True)
    build(tmp_path, network, "0, image, ", "-L.", "-lcuda")
    (tmp_path / "image").write_text(kernels.library._name)
    check(run(tmp_path, network, "image", kernels="net.cu"), network.y)
    done = run(tmp_path, network, "main.c", kernels="net.cu")
    expected = b"the kernels do not load: the driver has no such thing (CUDA's error 200)\n"
    assert (done.returncode, done.stderr) == (2, expected)


@pytest.mark.parametrize(("target", "suffix"), [("metal", "metal"), ("webgpu", "wgsl")])
def test_what_is_in_a_folder(
    mlp: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str, suffix: str
):
    make(mlp, target, tmp_path)
    names = {f"net.{suffix}{side}" for side in ("", ".json", ".plan.json", ".weights")}
    assert {path.name for path in tmp_path.iterdir()} == names
    plan = LaunchPlan.from_json((tmp_path / f"net.{suffix}.plan.json").read_text())
    said = json.loads((tmp_path / f"net.{suffix}.json").read_text())
    assert said["launches"] == plan.launches
    assert f"{len(plan.kernels)} kernels, {plan.launches} launches; " in capsys.readouterr().out
    (weights,) = plan.with_role("weights")
    assert weights.size == (tmp_path / f"net.{suffix}.weights").stat().st_size
