"""Installs what tests of the backends need of the system: compilers, emulators, drivers.

    make system-tools        # as root, on Debian or Ubuntu

Wheels cover what they can (`make test` installs those); this is the rest. What is there already is
left alone. tools.py of test/unit/support names the same tools to the tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Package:
    """A package of Debian, and a program that stands for it however it was installed."""

    name: str
    program: str = ""


GROUPS: dict[str, tuple[Package, ...]] = {
    "C and C++": (Package("gcc", "gcc"), Package("g++", "g++"), Package("libc6-dev")),
    "CUDA and Metal text": (
        Package("clang-19", "clang-19"),
        Package("glslang-tools", "glslangValidator"),
        Package("spirv-cross", "spirv-cross"),
    ),
    "OpenCL": (
        Package("ocl-icd-libopencl1"),
        Package("pocl-opencl-icd"),
        Package("oclgrind", "oclgrind"),
    ),
    "WebGPU": (Package("libvulkan1"), Package("mesa-vulkan-drivers")),
    "SPIR-V": (Package("spirv-tools", "spirv-val"),),
    "WebAssembly": (Package("lld-19", "wasm-ld-19"),),
    "browser": (Package("chromium", "chromium"),),
    "ARM and RISC-V": (
        Package("gcc-aarch64-linux-gnu", "aarch64-linux-gnu-gcc"),
        Package("gcc-arm-linux-gnueabihf", "arm-linux-gnueabihf-gcc"),
        Package("gcc-riscv64-linux-gnu", "riscv64-linux-gnu-gcc"),
        Package("libc6-dev-arm64-cross"),
        Package("libc6-dev-armhf-cross"),
        Package("libc6-dev-riscv64-cross"),
        Package("qemu-user-static", "qemu-aarch64-static"),
    ),
    "microcontrollers": (
        Package("gcc-arm-none-eabi", "arm-none-eabi-gcc"),
        Package("libnewlib-arm-none-eabi"),
        Package("qemu-system-arm", "qemu-system-arm"),
    ),
    "Java": (Package("default-jdk-headless", "javac"),),
}
APT = ("apt-get", "-q", "-o", "Acquire::Retries=3", "-o", "DPkg::Lock::Timeout=300")


def installed(names: Sequence[str]) -> set[str]:
    """Return those of these packages that dpkg knows as installed."""
    command = ["dpkg-query", "--show", "--showformat", "${db:Status-Status} ${Package}\n", *names]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    pairs = (line.split(" ") for line in listed.splitlines())
    return {name for status, name in pairs if status == "installed"}


def missing() -> dict[str, list[str]]:
    """Return the packages that are not there, by what they are for."""
    asked = {
        purpose: [package.name for package in packages if not shutil.which(package.program or "-")]
        for purpose, packages in GROUPS.items()
    }
    there = installed([name for names in asked.values() for name in names])
    left = {purpose: [n for n in names if n not in there] for purpose, names in asked.items()}
    return {purpose: names for purpose, names in left.items() if names}


def unknown(names: Sequence[str]) -> list[str]:
    """Return those of these packages that apt cannot install."""
    listed = subprocess.run(
        ["apt-cache", "madison", *names], capture_output=True, text=True, check=False
    ).stdout
    known = {line.split("|")[0].strip() for line in listed.splitlines()}
    return [name for name in names if name not in known]


def install(names: Sequence[str]) -> None:
    """Install packages; raise CalledProcessError if apt fails."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = [*APT, "install", "-y", "--no-install-recommends", *names]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


def obstacle(names: Sequence[str]) -> str | None:
    """Return why these packages cannot be installed here, in one line."""
    if shutil.which("apt-get") is None:
        wanted = " ".join(names)
        return f"there is no apt-get here; these are Debian's names of what to install: {wanted}"
    if os.geteuid() != 0:
        return "apt-get installs as root alone; run `sudo make system-tools`"
    return None


def main() -> int:
    wanted = missing()
    names = [name for group in wanted.values() for name in group]
    if not names:
        print("system-tools: everything is there")
        return 0
    for purpose, group in wanted.items():
        print(f"system-tools: {purpose}: {' '.join(group)}", flush=True)
    reason = obstacle(names)
    if reason:
        print(f"error: {reason}", file=sys.stderr)
        return 1
    return fetch(names)


def fetch(names: Sequence[str]) -> int:
    """Install what apt knows of these packages, and say what it does not know."""
    # One source of several may be away: what is asked for may come from the others.
    subprocess.run([*APT, "update"], check=False, stdout=subprocess.DEVNULL)
    try:
        strange = unknown(names)
        install([name for name in names if name not in strange])
    except subprocess.CalledProcessError as error:
        print(f"error: {' '.join(error.cmd)} failed", file=sys.stderr)
        return 1
    if strange:
        print(f"error: this system's apt has no package {' '.join(strange)}", file=sys.stderr)
    return 1 if strange else 0


if __name__ == "__main__":
    sys.exit(main())
