"""What nn-compile can write: a row for each suffix, and what a folder holds for each target."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import cast

from nn_opt.ahead_of_time.request import Made, Request
from nn_opt.ahead_of_time.targets import PORTABLE, WEB, family_of, targets_of
from nn_opt.driver.models import fail

Make = Callable[[Request], Made]


@dataclass(frozen=True)
class Kind:
    """A kind of file: what it is, the families of targets that it can be for, who makes it."""

    what: str
    families: tuple[str, ...]
    default: str  # the target, if none is named
    maker: str  # module:function

    def make(self, request: Request) -> Made:
        """Return the files that a request asks for."""
        module, name = self.maker.split(":")
        function = getattr(import_module(f"nn_opt.ahead_of_time.{module}"), name)
        return cast("Make", function)(request)


# Families of targets: machines with threads and libraries, other processors, languages, and plans:
# what loops are laid out for in source text.
NATIVE, PROCESSORS = ("machine",), ("machine", "bare")
C, JS = ("c", "machine", "bare", "plan"), ("js", "wasm", "machine", "plan")
HOST, GPU = "cpu", "gpu_source:kernels"
KINDS: Mapping[str, Kind] = {
    ".ll": Kind("LLVM IR of the code alone", (*PROCESSORS, "wasm"), HOST, "machine_code:llvm_ir"),
    ".s": Kind("assembly of the code alone", (*PROCESSORS, "wasm"), HOST, "machine_code:assembly"),
    ".o": Kind("object with weights, and a C header", PROCESSORS, PORTABLE, "machine_code:binary"),
    ".so": Kind(
        "shared library with weights, and a C header", NATIVE, PORTABLE, "machine_code:library"
    ),
    ".c": Kind("C99 without dependencies, and a header", C, "c", "c_source:source"),
    ".wasm": Kind("WebAssembly module, and its weights", ("wasm",), "wasm", "web:wasm"),
    ".mjs": Kind("ES module for browsers and node, and what it loads", JS, WEB, "web:module"),
    ".cl": Kind("OpenCL kernels, launch plan, weights", ("opencl",), "opencl", GPU),
    ".cu": Kind("CUDA kernels, launch plan, weights", ("cuda",), "cuda", GPU),
    ".metal": Kind("Metal kernels, launch plan, weights", ("metal",), "metal", GPU),
    ".wgsl": Kind("WebGPU kernels, launch plan, weights", ("wgsl",), "webgpu", GPU),
    ".html": Kind("a page that runs the model, all inside", JS, WEB, "page:page"),
}
# What a folder holds, by the family of the target; the file in it that the rest is named after.
HOSTED = "gpu_source:folder"
OPTIONS = {"embed_weights": ".c", "labels": ".html", "mean": ".html", "std": ".html"}  # are for
SEVERAL = (".so", ".o", ".mjs", ".html")  # have code for several targets
FOLDERS: Mapping[str, tuple[str, Kind]] = {
    "machine": ("lib{}.so", KINDS[".so"]),
    "bare": ("{}.o", KINDS[".o"]),
    "c": ("{}.c", KINDS[".c"]),
    "js": ("{}.mjs", KINDS[".mjs"]),
    "wasm": ("{}.wasm", KINDS[".wasm"]),
    "opencl": ("{}.cl", replace(KINDS[".cl"], maker=HOSTED)),
    "cuda": ("{}.cu", replace(KINDS[".cu"], maker=HOSTED)),
    "metal": ("{}.metal", replace(KINDS[".metal"], maker=HOSTED)),
    "wgsl": ("{}.wgsl", replace(KINDS[".wgsl"], maker=HOSTED)),
}


def request_of(options: Namespace) -> tuple[Kind, Request]:
    """Return the kind of what is to be written, and the request for it.

    Raises: DiagnosticError for a suffix that says nothing, or one that does not go with a target.
    """
    output = Path(options.output)
    suffix = "" if output.is_dir() else output.suffix
    if suffix and suffix not in KINDS:
        fail(f"error: -o is {output}\n  hint: its suffix says what to write: {_kinds()}")
    usual = KINDS[suffix].default if suffix else PORTABLE
    targets = targets_of(usual if options.target is None else options.target)
    family = _family(targets)
    if not suffix:
        return _folder(options, output, family, targets)
    if family not in KINDS[suffix].families:
        fail(f"error: {output} cannot be for target {targets[0]!r}\n  hint: {_choices(family)}")
    _require_one(suffix, targets)
    return KINDS[suffix], Request(options, output, output.stem, targets)


def require_options_fit(options: Namespace, output: Path) -> None:
    """Refuse options that say nothing to what is written.

    Raises: DiagnosticError.
    """
    for name, suffix in OPTIONS.items():
        if getattr(options, name) and output.suffix != suffix:
            flag = name.replace("_", "-")
            fail(f"error: --{flag} is for {suffix} files, and {output} is none")


def _family(targets: Sequence[str]) -> str:
    """Return the family of all targets; WebAssembly goes with JavaScript."""
    families = {family_of(name) for name in targets}
    if families == {"wasm", "js"}:
        return "js"
    if len(families) > 1:
        fail(f"error: one file cannot be for both {' and '.join(targets)}")
    return families.pop()


def _folder(
    options: Namespace, output: Path, family: str, targets: tuple[str, ...]
) -> tuple[Kind, Request]:
    if family not in FOLDERS:
        fail(f"error: no folder can be for target {targets[0]!r}\n  hint: {_choices(family)}")
    if output.exists() and not output.is_dir():
        fail(f"error: -o is {output}, which is no folder\n  hint: its suffix says what to write")
    pattern, kind = FOLDERS[family]
    stem = options.name or output.resolve().name
    return kind, Request(options, output / pattern.format(stem), stem, targets)


def _require_one(suffix: str, targets: tuple[str, ...]) -> None:
    if len(targets) > 1 and suffix not in SEVERAL:
        fail(
            f"error: a {suffix} file is for one target, not {len(targets)}"
            "\n  hint: .so, .o and folders take several and choose where they run"
        )


def _kinds() -> str:
    return ", ".join(f"{suffix} ({kind.what})" for suffix, kind in KINDS.items())


def _choices(family: str) -> str:
    """Return what can be written for a family of targets."""
    files = [suffix for suffix, kind in KINDS.items() if family in kind.families]
    return f"for it there are: {', '.join(files + ['a folder'] * (family in FOLDERS))}"
