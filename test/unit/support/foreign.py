"""Models on machines of other kinds: compiled here, linked to a C program, run by an emulator."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import tools
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from nn_opt.backends.llvm.library import library_object, variant
from nn_opt.backends.llvm.library_glue import Interface
from nn_opt.backends.llvm.library_header import header
from nn_opt.build import lower
from nn_opt.runtime.manifest import TensorInfo

Array = NDArray[Any]
CORTEX = Path(__file__).with_name("cortex")


@dataclass(frozen=True)
class Machine:
    """A target, the compiler that links for it, and the command that runs a program."""

    target: str
    linker: str
    emulator: Sequence[str]
    flags: Sequence[str] = ("-static",)


_ARM, _RISCV = "aarch64-linux-gnu-gcc", "riscv64-linux-gnu-gcc"
_QEMU, _QEMU_RISCV = "qemu-aarch64", "qemu-riscv64"
_SVE = "llvm -mtriple=aarch64-linux-gnu -msve-vector-bits="
_RVV = ("-cpu", "rv64,v=true,vlen=256,vext_spec=v1.0")
MACHINES = {
    "aarch64": Machine("aarch64", _ARM, (_QEMU,)),
    "cortex-a76": Machine(
        "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76 -mattr=+dotprod", _ARM, (_QEMU,)
    ),
    "sve128": Machine(f"{_SVE}128 -mattr=+sve", _ARM, (_QEMU, "-cpu", "max,sve128=on")),
    "sve": Machine("sve", _ARM, (_QEMU, "-cpu", "max,sve256=on")),
    "sve512": Machine(f"{_SVE}512", _ARM, (_QEMU, "-cpu", "max,sve512=on")),
    "armv7": Machine("armv7", "arm-linux-gnueabihf-gcc", ("qemu-arm",)),
    "riscv64": Machine("riscv64", _RISCV, (_QEMU_RISCV,)),
    "rvv": Machine("rvv", _RISCV, (_QEMU_RISCV, *_RVV)),
    "rvv256": Machine(
        "llvm -mtriple=riscv64-linux-gnu -mattr=+v,+zvl256b", _RISCV, (_QEMU_RISCV, *_RVV)
    ),
    "cortex-m4": Machine(
        "cortex-m4",
        "arm-none-eabi-gcc",
        (
            *("qemu-system-arm", "-M", "mps2-an386", "-nographic"),
            *("-semihosting-config", "enable=on,target=native", "-kernel"),
        ),
        (
            *("-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "--specs=rdimon.specs"),
            *("-T", str(CORTEX / "mps2.ld"), str(CORTEX / "boot.c")),
        ),
    ),
}

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "model.h"
static char arena[MODEL_ARENA_BYTES + 64];
static void *block(const char *name, size_t size) {{
  void *at = calloc(size ? size : 1, 1);
  FILE *file = name ? fopen(name, "rb") : 0;
  if (!at || (name && !file) || (file && fread(at, 1, size, file) != size)) exit(2);
  if (file) fclose(file);
  return at;
}}
static void keep(const char *name, const void *at, size_t size) {{
  FILE *file = fopen(name, "wb");
  if (!file || fwrite(at, 1, size, file) != size || fclose(file)) exit(3);
}}
int main(void) {{
  const void *inputs[] = {{{inputs}}};
  void *outputs[] = {{{outputs}}};
  char *aligned = arena + 63 - ((uintptr_t)arena + 63) % 64;
  int code = model_run_in(inputs, outputs, aligned);
  if (code) {{
    puts(model_message(code));
    return 1;
  }}
  {kept}
  return 0;
}}
"""


def bytes_of(info: TensorInfo) -> int:
    return prod(info.sizes) * info.dtype.itemsize


def program_text(inputs: Sequence[TensorInfo], outputs: Sequence[TensorInfo]) -> str:
    """Return C that reads the files x0, x1, .., runs the model, and writes y0, y1, .."""
    given = (f'block("x{k}", {bytes_of(info)})' for k, info in enumerate(inputs))
    wanted = (f"block(0, {bytes_of(info)})" for info in outputs)
    kept = (f'keep("y{k}", outputs[{k}], {bytes_of(info)});' for k, info in enumerate(outputs))
    return MAIN.format(
        inputs=", ".join(given) or "0", outputs=", ".join(wanted), kept="\n  ".join(kept)
    )


def run_foreign(
    module: ModuleOp, machine: Machine, feeds: Mapping[str, Array], folder: Path
) -> list[Array]:
    """Return the outputs of a module, which is consumed, on a machine."""
    linker, emulator = tools.need(machine.linker), tools.need(machine.emulator[0])
    lowered = lower(module, machine.target)
    manifest = lowered.manifest
    interface = Interface("model", manifest, 2, "{}", hosted=lowered.machine.has_threads)
    code = variant(lowered.text, lowered.machine, manifest)
    data = library_object([code], lowered.machine, lowered.weights, interface)
    (folder / "model.o").write_bytes(data)
    arena = max(manifest.arena_bytes, 64)
    (folder / "model.h").write_text(header(interface, arena, [machine.target], "a model", "1"))
    (folder / "main.c").write_text(program_text(manifest.inputs, manifest.outputs))
    for k, info in enumerate(manifest.inputs):
        (folder / f"x{k}").write_bytes(np.ascontiguousarray(feeds[info.name]).tobytes())
    linking = [linker, "-O1", "-o", "main", "main.c", "model.o", *machine.flags, "-lm"]
    linking += ["-lpthread"] * lowered.machine.has_threads
    subprocess.run(linking, cwd=folder, check=True)
    command = [emulator, *machine.emulator[1:], "./main"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [
        np.frombuffer((folder / f"y{k}").read_bytes(), info.dtype).reshape(info.sizes)
        for k, info in enumerate(manifest.outputs)
    ]
