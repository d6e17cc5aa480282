"""Kernels that LLVM makes code of: what NVIDIA's assembler and Khronos' validator say of it."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tools
from simt_llvm import run_llvm_on_fibers
from xdsl.utils.exceptions import PassFailedException

import nn_opt
from bench import models
from nn_opt.check import seeded_inputs
from nn_opt.device_code import device_code
from nn_opt.frontends.onnx import import_model
from nn_opt.ir.parsing import make_context
from nn_opt.ir.target import set_target
from nn_opt.pipelines import run_passes
from nn_opt.plans import parse_pipeline
from nn_opt.reference import run

TO_GPU = "optimize-graph,lower-to-loops,lower-to-gpu"
NAMES = ("bert_tiny", "resnet18")


@cache
def code_of(name: str, target: str, device: str) -> str:
    module = import_model(models.build_small(name))
    set_target(module, target)
    run_passes(make_context(), module, parse_pipeline(TO_GPU))
    return device_code(module, device)


def said(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout + done.stderr


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize("name", NAMES)
def test_ptx_assembles_and_spills_nothing(name: str, architecture: str, tmp_path: Path):
    file = tmp_path / "kernels.ptx"
    file.write_text(code_of(name, "cuda", "ptx"))
    report = said(tools.need("ptxas"), f"-arch={architecture}", "-v", "-o", tmp_path / "o", file)
    kernels = file.read_text().count(".visible .entry")
    assert kernels > 2
    assert report.count("0 bytes stack frame, 0 bytes spill stores") == kernels


@pytest.mark.parametrize("name", NAMES)
def test_spirv_is_valid(name: str, tmp_path: Path):
    text, code = tmp_path / "kernels.spvasm", tmp_path / "kernels.spv"
    text.write_text(code_of(name, "opencl", "spirv"))
    assert len(re.findall("OpEntryPoint Kernel", text.read_text())) > 2
    version = ["--target-env", "spv1.4"]
    said(tools.need("spirv-as"), *version, text, "-o", code)
    assert said(tools.need("spirv-val"), *version, code) == ""


@pytest.mark.parametrize(("name", "device"), [("bert_tiny", "spirv"), ("resnet18", "ptx")])
def test_kernels_compute_the_model(name: str, device: str):
    """The IR for a device, run on fibers of this CPU, in two orders of threads."""
    module = import_model(models.build_small(name))
    inputs = seeded_inputs(module)
    expected = run(module, inputs)
    set_target(module, {"ptx": "cuda", "spirv": "opencl"}[device])
    run_passes(make_context(), module, parse_pipeline(TO_GPU))
    for a, b in zip(run_llvm_on_fibers(module, inputs, device), expected, strict=True):
        np.testing.assert_allclose(a.reshape(b.shape), b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("device", "element", "missing"),
    [
        ("ptx", "f64", "ptx has no function exp of f64"),
        ("spirv", "f64", "spirv has no function exp of f64"),
        ("spirv", "bf16", "spirv has no type bf16"),
    ],
)
def test_what_a_device_lacks_is_refused(device: str, element: str, missing: str):
    module = nn_opt.parse(f"""
func.func @main(%x: tensor<4x{element}>) -> tensor<4x{element}> {{
  %y = graph.exp %x : tensor<4x{element}>
  func.return %y : tensor<4x{element}>
}}""")
    set_target(module, {"ptx": "cuda", "spirv": "opencl"}[device])
    run_passes(make_context(), module, parse_pipeline(TO_GPU))
    with pytest.raises(PassFailedException, match=f"{missing}\n.*CUDA or OpenCL"):
        device_code(module, device)
