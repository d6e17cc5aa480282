"""Machine code for programs to link or load, and its text."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from nn_opt import __version__
from nn_opt.ahead_of_time import description
from nn_opt.ahead_of_time.request import Made, Request, size_text
from nn_opt.backends.llvm.cpu_checks import features_of
from nn_opt.backends.llvm.library import library_object, variant
from nn_opt.backends.llvm.library_glue import Interface, arena_bytes
from nn_opt.backends.llvm.library_header import header
from nn_opt.backends.llvm.object import emit_assembly, require_known_words
from nn_opt.build import Lowered, follow, lower
from nn_opt.driver.models import fail, progress_bar
from nn_opt.ir.target import TARGETS, Target, target_named

# For the least machine of each kind: all but the model's own code.
_BASES = {"x86_64": "x86-64", "aarch64": "aarch64", "riscv64": "riscv64"}
_NO_ELF = {"windows": "COFF", "darwin": "Mach-O", "macos": "Mach-O", "ios": "Mach-O"}


def llvm_ir(request: Request) -> Made:
    """Return LLVM IR of the code alone."""
    return Made({request.output.name: lowered(request).text.encode()})


def assembly(request: Request) -> Made:
    """Return assembly of the code alone."""
    code = lowered(request)
    return Made({request.output.name: emit_assembly(code.text, code.machine).encode()})


def lowered(request: Request, target: str = "", before: Lowered | None = None) -> Lowered:
    """Return the model as LLVM IR, its weights in one block with those of the code before it."""
    options = request.options
    require_known_words(target_named(target or request.target))
    request.signature()
    with progress_bar() as progress:
        module = request.module()
        if before is not None:
            follow(module, before)
        return lower(
            module,
            target or request.target,
            request.flags,
            deterministic=options.deterministic,
            debug_info=options.debug_info,
            progress=progress,
        )


def binary(request: Request) -> Made:
    """Return an object with weights, its C header and description."""
    for name in request.targets:
        _require_elf(name)
    codes: list[Lowered] = []
    for name in sorted(request.targets, key=_demands, reverse=True):
        codes.append(lowered(request, name, codes[-1] if codes else None))
    machines = [code.machine for code in codes]
    variants = [variant(code.text, code.machine, code.manifest) for code in codes]
    weights, arena = codes[-1].weights, arena_bytes(variants)
    interface = _interface(request, codes[-1], machines, arena)
    data = library_object(variants, _base(machines), weights, interface)
    names = [machine.name for machine in machines]
    head = header(interface, arena, names, request.title, __version__)
    files = {
        request.output.name: bytes(data),
        f"{request.stem}.h": head.encode(),
        f"{request.stem}.json": interface.description.encode(),
    }
    inside = f"weights {size_text(weights.bytes.nbytes)}, arena {size_text(arena)}"
    return Made(files, (f"for {', '.join(names)}: {inside}",))


def _require_elf(name: str) -> None:
    """Refuse a system whose objects are of another format than those that are written here."""
    for part in target_named(name).triple.split("-")[1:]:
        for system, format in _NO_ELF.items():
            if part.startswith(system):
                fail(
                    f"error: an object for {name!r} would be {format}, expected ELF"
                    "\n  hint: -o model.c is C99 for any compiler, .s and .ll have the code alone"
                )


def library(request: Request) -> Made:
    """Return a shared library with weights, its C header and description."""
    compiler = _c_compiler(target_named(request.targets[0]).triple)
    made = binary(request)
    name = request.output.name
    with tempfile.TemporaryDirectory() as folder:
        parts, linked = Path(folder) / "model.o", Path(folder) / name
        parts.write_bytes(made.files[name])
        flags = ["-shared", f"-Wl,-soname,{name}", "-Wl,-z,noexecstack", "-Wl,--no-undefined"]
        command = [compiler, *flags, "-o", str(linked), str(parts), "-lm", "-lpthread"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            fail(f"error: {compiler} cannot link {name}:\n{done.stderr.strip()}")
        files = {**made.files, name: linked.read_bytes()}
    return replace(made, files=files, programs=frozenset([name]))


def _demands(name: str) -> int:
    return len(features_of(target_named(name)))


def _base(machines: list[Target]) -> Target:
    """Return the machine that all code but the model's own is for."""
    first = machines[0]
    if not first.has_threads:
        return first
    kinds = dict.fromkeys(machine.architecture for machine in machines)
    if len(kinds) > 1:
        fail(f"error: one library cannot be for {' and '.join(kinds)}")
    return TARGETS[_BASES[first.architecture]]


def _interface(request: Request, code: Lowered, machines: list[Target], arena: int) -> Interface:
    manifest = code.manifest
    hosted = machines[0].has_threads
    functions = ["run"] * hosted + ["run_in", "input", "output", "message", "variant"]
    said = {
        "arena_bytes": arena,
        "weights": {"bytes": code.weights.bytes.nbytes, "file": None},
        "library": request.output.name,
        "functions": {word: f"{request.name}_{word}" for word in functions},
    }
    targets = [description.machine(machine, features_of(machine)) for machine in machines]
    text = description.description(request, manifest, targets, said)
    return Interface(request.name, manifest, request.options.threads, text, hosted)


def _c_compiler(triple: str) -> str:
    """Return the C compiler that links for a target: $CC, else the system's or a cross compiler."""
    architecture = triple.partition("-")[0]
    usual = ["cc", "gcc", "clang"] if architecture == os.uname().machine else []
    names = [os.environ.get("CC", ""), *usual, f"{architecture}-linux-gnu-gcc"]
    for name in names:
        found = shutil.which(name) if name else None
        if found:
            return found
    fail(
        f"error: no C compiler here links for {architecture}"
        "\n  hint: install one or set CC; or write an object, -o model.o, and link it elsewhere"
    )
