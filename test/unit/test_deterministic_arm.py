"""The bits of a deterministic model on ARM, whose program an emulator runs here."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from math import prod
from pathlib import Path

import numpy as np
import onnx
import pytest
import tools

import nn_opt
from bench.feeds import Array, Feeds
from bench.models import build_small, sample_inputs
from nn_opt.backends.llvm.library import library_object, variant
from nn_opt.backends.llvm.library_glue import Interface
from nn_opt.backends.llvm.library_header import header
from nn_opt.build import lower
from nn_opt.frontends.onnx import import_model
from nn_opt.runtime.manifest import TensorInfo

TOOLS = ("aarch64-linux-gnu-gcc", "qemu-aarch64")
MODELS = ("resnet18", "mobilenet_v2", "bert_tiny", "gpt_small", "lstm")

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "model.h"
static void *block(const char *name, size_t size) {{
  void *at = calloc(size, 1);
  FILE *file = name ? fopen(name, "rb") : 0;
  if (!at || (file && fread(at, 1, size, file) != size)) exit(2);
  return at;
}}
static void keep(const char *name, const void *at, size_t size) {{
  FILE *file = fopen(name, "wb");
  if (!file || fwrite(at, 1, size, file) != size || fclose(file)) exit(3);
}}
int main(void) {{
  const void *inputs[] = {{{inputs}}};
  void *outputs[] = {{{outputs}}};
  if (model_run(inputs, outputs)) return 1;
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
    return MAIN.format(inputs=", ".join(given), outputs=", ".join(wanted), kept="\n  ".join(kept))


def run_on_arm(model: onnx.ModelProto, feeds: Feeds, threads: int, folder: Path) -> list[bytes]:
    """Compile for NEON, link a static program, run it in the emulator; return results' bytes."""
    lowered = lower(import_model(model), "neon", deterministic=True)
    manifest = lowered.manifest
    interface = Interface("model", manifest, threads, "{}")
    code = variant(lowered.text, lowered.machine, manifest)
    data = library_object([code], lowered.machine, lowered.weights, interface)
    (folder / "model.o").write_bytes(data)
    (folder / "model.h").write_text(header(interface, 4096, ["neon"], "a model", "1"))
    (folder / "main.c").write_text(program_text(manifest.inputs, manifest.outputs))
    for k, info in enumerate(manifest.inputs):
        (folder / f"x{k}").write_bytes(np.ascontiguousarray(feeds[info.name]).tobytes())
    linker, emulator = map(tools.need, TOOLS)
    linking = [linker, "-static", "-o", "main", "main.c", "model.o", "-lm", "-lpthread"]
    subprocess.run(linking, cwd=folder, check=True)
    subprocess.run([emulator, "./main"], cwd=folder, check=True, timeout=120)
    return [(folder / f"y{k}").read_bytes() for k in range(len(manifest.outputs))]


def here(model: onnx.ModelProto, feeds: Feeds, **settings: str) -> list[Array]:
    compiled = nn_opt.compile(model, deterministic=True, cache=False, **settings)
    return list(compiled.run(feeds).values())


@tools.needs(*TOOLS)
@pytest.mark.parametrize("name", MODELS)
def test_arm_has_the_bits_of_this_machine(name: str, tmp_path: Path):
    model = build_small(name)
    feeds = sample_inputs(model)
    expected = [array.tobytes() for array in here(model, feeds)]
    assert run_on_arm(model, feeds, 1, tmp_path) == expected


@tools.needs(*TOOLS)
def test_threads_on_arm_do_not_change_a_bit(tmp_path: Path):
    model = build_small("mobilenet_v2")
    feeds = sample_inputs(model)
    expected = [array.tobytes() for array in here(model, feeds)]
    assert run_on_arm(model, feeds, 3, tmp_path) == expected
