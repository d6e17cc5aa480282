"""Compilers take the text of every operation: clang, NVRTC, and what checks Metal's types."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence

import pytest
import tools
from gpu_features import FEATURES, module_of
from gpu_operations import Case, gpu_module, has_f64
from nvrtc import compile_cuda
from operations import CASES
from simt_metal import check_metal

from nn_opt.backends.source.gpu_languages import language_named
from nn_opt.backends.source.gpu_program import print_kernels
from nn_opt.runtime.nvrtc import include_folders

CL = "-x cl -target spir64 -Xclang -finclude-default-header -fsyntax-only".split()
# A comparison may be false, and a lane replaced.
STRICT = "-Werror -Wall -Wextra -Wno-unused-parameter -Wno-unused-variable".split()


def text_of(language: str, cases: Sequence[Case] = CASES) -> str:
    return print_kernels(gpu_module(cases), language_named(language)).text


def features_of(language: str) -> str:
    """Return the text of all that kernels of a language have; OpenCL has lanes by extensions."""
    also = ("cuda", "metal") if language == "opencl" else ()
    apart = ("fragments",) if language == "opencl" else ()
    names = [name for name, f in FEATURES.items() if {language, *also} & {*f[0]}]
    features = [FEATURES[name] for name in names if name not in apart]
    return print_kernels(module_of(features), language_named(language)).text


@tools.needs("clang-19")
@pytest.mark.parametrize(("show", "version"), [(text_of, "CL1.2"), (features_of, "CL3.0")])
def test_clang_takes_opencl(show: Callable[[str], str], version: str):
    command = [tools.need("clang-19"), *CL, f"-cl-std={version}", *STRICT, "-"]
    text = show("opencl")
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr[:3000]


@tools.needs("nvrtc")
@pytest.mark.parametrize(("part", "machine"), enumerate(["sm_75", "sm_80", "sm_90"]))
def test_nvrtc_takes_cuda(part: int, machine: str):
    usage = compile_cuda(text_of("cuda", CASES[part::3]), machine)
    assert usage
    assert not any(kernel.spills for kernel in usage.values())


@tools.needs("nvrtc", "nvcc")  # which brings the headers of fragments
def test_nvrtc_takes_all_that_kernels_have():
    includes = [f"--include-path={folder}" for folder in include_folders()]
    assert len(compile_cuda(features_of("cuda"), "sm_90", includes)) > 20


@tools.needs("clang-19")
def test_address_spaces_of_metal():
    check_metal(features_of("metal"))
    check_metal(text_of("metal", [case for case in CASES if not has_f64(case)]))
