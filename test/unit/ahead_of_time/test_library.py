"""Shared libraries: the C interface, code chosen by processor, sizes, and what stands beside it."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
import tools
from samples import Sample

from nn_opt.driver.compile import main

LARGEST_RUNTIME = 50_000  # bytes of a library besides its weights and the model's own code
PROGRAM = """\
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what) if (!(what)) { printf("line %d\\n", __LINE__); return 1; }

int main(int count, char **words) {
  const net_tensor *in = net_input(0), *out = net_output(0);
  CHECK(NET_INPUTS == 1 && NET_OUTPUTS == 1 && !net_input(1) && !net_output(-1))
  CHECK(in->rank == 2 && in->shape[0] == 1 && !strcmp(in->dtype, "float32"))
  void *x = malloc(in->bytes), *y = malloc(out->bytes), *z = malloc(out->bytes);
  char *arena = aligned_alloc(64, NET_ARENA_BYTES + 64);
  CHECK(fread(x, 1, in->bytes, stdin) == (size_t)in->bytes)
  const void *inputs[] = {x}, *no_inputs[] = {NULL};
  void *outputs[] = {y}, *others[] = {z}, *no_outputs[] = {NULL};
  int code = net_run(inputs, outputs);
  if (code) {
    fprintf(stderr, "%s\\n", net_message(code));
    CHECK(code == NET_WRONG_CPU && !net_variant() && net_run(NULL, NULL) == NET_WRONG_CPU)
    return 2;
  }
  CHECK(count < 2 || !strcmp(net_variant(), words[1]))
  CHECK(net_run_in(inputs, others, arena) == NET_OK && !memcmp(y, z, out->bytes))
  CHECK(net_run(NULL, outputs) == NET_NULL_INPUT && net_run(no_inputs, outputs) == NET_NULL_INPUT)
  CHECK(net_run(inputs, NULL) == NET_NULL_OUTPUT && net_run(inputs, no_outputs) == NET_NULL_OUTPUT)
  CHECK(net_run_in(inputs, outputs, NULL) == NET_BAD_ARENA)
  CHECK(net_run_in(inputs, outputs, arena + 1) == NET_BAD_ARENA)
  CHECK(!strcmp(net_message(NET_NULL_INPUT), "an input is NULL"))
  CHECK(!strcmp(net_message(99), "no such code") && strstr(net_description(), in->name))
  net_threads = 2;
  CHECK(net_run(inputs, outputs) == NET_OK)
  fwrite(y, 1, out->bytes, stdout);
  return 0;
}
"""

BARE = """\
#include "net.h"
#include <stdio.h>
static const float input[] = {NUMBERS};
static float output[10];
static char arena[NET_ARENA_BYTES] __attribute__((aligned(64)));
int main(void) {
  const void *const inputs[] = {input};
  void *const outputs[] = {output};
  int code = net_run_in(inputs, outputs, arena);
  puts(code ? net_message(code) : net_variant());
  for (int k = 0; k < 10; k++) printf("%d\\n", (int)(1000000 * output[k]));
  return 0;
}
"""
BOARD = Path(__file__).resolve().parents[3] / "examples" / "microcontroller"


@pytest.fixture(scope="session")
def several(mlp: Sample, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a library for any x86-64, and a program that checks it."""
    folder = tmp_path_factory.mktemp("several")
    arguments = ["--target", "x86-64,x86-64-v3,x86-64-v4", "--name", "net", "-o", str(folder)]
    assert main([str(mlp.path), *arguments]) == 0
    return build(folder)


@pytest.fixture(scope="session")
def modern(mlp: Sample, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a library that needs AVX2 at least, and a program that checks it."""
    folder = tmp_path_factory.mktemp("modern")
    arguments = ["--target", "x86-64-v4,x86-64-v3", "--name", "net", "-o", str(folder)]
    assert main([str(mlp.path), *arguments]) == 0
    return build(folder)


def build(folder: Path) -> Path:
    (folder / "program.c").write_text(PROGRAM)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-Wl,-rpath,{folder}"]
    command = [tools.need("gcc"), *flags, "program.c", "-o", "program", "libnet.so"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def run(folder: Path, x: np.ndarray, *words: str, cpu: str = ""):
    emulator = [tools.need("qemu-x86_64"), "-cpu", cpu] if cpu else []
    command = [*emulator, str(folder / "program"), *words]
    return subprocess.run(command, input=x.tobytes(), capture_output=True, check=False)


def check(done: subprocess.CompletedProcess[bytes], y: np.ndarray) -> None:
    assert done.returncode == 0, done.stdout[:200] + done.stderr
    got = np.frombuffer(done.stdout, np.float32).reshape(y.shape)
    np.testing.assert_allclose(got, y, rtol=1e-5, atol=1e-6)


def test_the_interface(several: Path, mlp: Sample):
    check(run(several, mlp.x), mlp.y)


@tools.needs("qemu-x86_64")
@pytest.mark.parametrize(
    ("cpu", "variant"), [("qemu64", "x86-64"), ("Haswell", "x86-64-v3"), ("Nehalem", "x86-64")]
)
def test_code_is_chosen_by_processor(several: Path, mlp: Sample, cpu: str, variant: str):
    check(run(several, mlp.x, variant, cpu=cpu), mlp.y)


@tools.needs("qemu-x86_64")
@pytest.mark.parametrize(
    ("cpu", "lacks"),
    [
        ("qemu64", "the processor lacks popcnt"),
        ("Nehalem", "the processor lacks avx"),
        ("Haswell,-bmi2", "the processor lacks bmi2"),
        ("Haswell,-xsave", "the processor lacks "),
    ],
)
def test_a_processor_that_lacks_something_is_told(modern: Path, mlp: Sample, cpu: str, lacks: str):
    done = run(modern, mlp.x, cpu=cpu)
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[-1].startswith(lacks)


SHORT = "max,sve128=on,sve256=off"


@pytest.mark.parametrize(
    ("target", "cpu", "lacks"),
    [
        ("neon,aarch64", "cortex-a53", ""),
        ("neon", "cortex-a53", "lse"),
        ("sve,aarch64", SHORT, ""),
        ("sve", SHORT, "SVE vectors of 256 bits"),
        ("rvv,riscv64", "rv64,v=false", ""),
        ("rvv", "rv64,v=false", "v"),
    ],
)
def test_other_machines(mlp: Sample, tmp_path: Path, target: str, cpu: str, lacks: str):
    machine = "riscv64" if target.startswith("rvv") else "aarch64"
    compiler, emulator = tools.need(f"{machine}-linux-gnu-gcc"), tools.need(f"qemu-{machine}")
    arguments = ["--target", target, "--name", "net", "-o", str(tmp_path / "net.o")]
    assert main([str(mlp.path), *arguments]) == 0
    (tmp_path / "program.c").write_text(PROGRAM)
    command = [compiler, "-static", "program.c", "net.o", "-o", "program", "-lm", "-lpthread"]
    subprocess.run(command, cwd=tmp_path, check=True)
    command = [emulator, "-cpu", cpu, str(tmp_path / "program"), *[machine] * (not lacks)]
    done = subprocess.run(command, input=mlp.x.tobytes(), capture_output=True, check=False)
    if lacks:
        assert (done.returncode, done.stderr.decode()) == (2, f"the processor lacks {lacks}\n")
    else:
        check(done, mlp.y)


@tools.needs("arm-none-eabi-gcc", "qemu-system-arm")
def test_a_processor_without_a_system(mlp: Sample, tmp_path: Path):
    arguments = ["--target", "cortex-m4", "--name", "net", "-o", str(tmp_path / "net.o")]
    assert main([str(mlp.path), *arguments]) == 0
    for path in BOARD.glob("*.*"):
        shutil.copy(path, tmp_path)
    text = BARE.replace("NUMBERS", ", ".join(map(str, mlp.x.reshape(-1).tolist())))
    (tmp_path / "main.c").write_text(text)
    flags = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-Werror"]
    link = ["--specs=rdimon.specs", "-T", "mps2.ld", "boot.c", "main.c", "net.o", "-lm"]
    command = [tools.need("arm-none-eabi-gcc"), *flags, *link, "-o", "net.elf"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    machine = ["-M", "mps2-an386", "-nographic", "-semihosting-config", "enable=on,target=native"]
    command = [tools.need("qemu-system-arm"), *machine, "-kernel", "net.elf"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    variant, *numbers = done.stdout.split()
    assert variant == "cortex-m4"
    np.testing.assert_allclose(list(map(int, numbers)), 1e6 * mlp.y.reshape(-1), atol=2)


@tools.needs("gcc")
def test_a_folder_says_what_is_in_it(several: Path, mlp: Sample, capsys):
    assert {path.name for path in several.iterdir()} >= {"libnet.so", "net.h", "net.json"}
    said = json.loads((several / "net.json").read_text())
    library = ctypes.CDLL(str(several / "libnet.so"))
    library.net_description.restype = ctypes.c_char_p
    assert json.loads(library.net_description()) == said
    assert said["model"] == "a model.onnx"
    (given,) = said["inputs"]
    shape = [int(size) for size in mlp.x.shape]
    expected = {"name": mlp.name, "dtype": "float32", "shape": shape, "bytes": mlp.x.nbytes}
    assert given == expected
    assert [target["name"] for target in said["targets"]] == ["x86-64-v4", "x86-64-v3", "x86-64"]
    assert "avx2" in said["targets"][1]["features"]
    assert "avx512f" not in said["targets"][1]["features"]


@tools.needs("cc")
def test_the_runtime_part_is_small(tmp_path: Path):
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[4] x) => (float[4] y) { y = Relu(x) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "tiny.onnx")
    assert main([str(tmp_path / "tiny.onnx"), "-o", str(tmp_path / "tiny.so")]) == 0
    assert (tmp_path / "tiny.so").stat().st_size < LARGEST_RUNTIME


def test_equal_weights_are_there_once(tmp_path: Path, capsys):
    numbers = ", ".join(str(k) for k in range(3200))
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (int64[2] x) => (float[2,64] y) <float[50,64] table = {NUMBERS}> { y = Gather(table, x) }"""
    text = text.replace("NUMBERS", numbers)
    onnx.save(onnx.parser.parse_model(text), tmp_path / "table.onnx")
    arguments = ["--target", "x86-64,x86-64-v3", "-o", str(tmp_path / "table.o")]
    assert main([str(tmp_path / "table.onnx"), *arguments]) == 0
    assert "for x86-64-v3, x86-64: weights 13 kB, arena" in capsys.readouterr().out
    said = json.loads((tmp_path / "table.json").read_text())
    assert said["weights"] == {"bytes": 12800, "file": None}
