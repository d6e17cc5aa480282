"""Compilers take the text of every operation: clang, NVRTC, and what checks Metal's types."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

import pytest
import tools
from gpu_operations import Case, gpu_module, has_f64
from nvrtc import compile_cuda
from operations import CASES
from simt_metal import check_metal

from nn_opt.backends.source.gpu_languages import language_named
from nn_opt.backends.source.gpu_program import print_kernels

CL = "-x cl -cl-std=CL1.2 -target spir64 -Xclang -finclude-default-header -fsyntax-only".split()
STRICT = ["-Werror", "-Wall", "-Wextra", "-Wno-unused-parameter"]  # a comparison may be false


def text_of(language: str, cases: Sequence[Case] = CASES) -> str:
    return print_kernels(gpu_module(cases), language_named(language)).text


@tools.needs("clang-19")
def test_clang_takes_opencl():
    command = [tools.need("clang-19"), *CL, *STRICT, "-"]
    done = subprocess.run(
        command, input=text_of("opencl"), capture_output=True, text=True, check=False
    )
    assert not done.stderr, done.stderr[:3000]


@tools.needs("nvrtc")
@pytest.mark.parametrize(("part", "machine"), enumerate(["sm_75", "sm_80", "sm_90"]))
def test_nvrtc_takes_cuda(part: int, machine: str):
    usage = compile_cuda(text_of("cuda", CASES[part::3]), machine)
    assert usage
    assert not any(kernel.spills for kernel in usage.values())


@tools.needs("clang-19")
def test_address_spaces_of_metal():
    check_metal(text_of("metal", [case for case in CASES if not has_f64(case)]))
