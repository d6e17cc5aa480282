"""nn-compile: a model ahead of time, as machine code of any kind, C99 or JavaScript."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nn_opt import __version__
from nn_opt.driver.compile_source import write_c, write_js
from nn_opt.driver.models import (
    Parser,
    fail,
    model_parser,
    parse_dims,
    parse_shapes,
    progress_bar,
    report_errors,
)

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from nn_opt.build import Lowered


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; return its exit status."""
    return report_errors(_run, argv)


def make_parser() -> Parser:
    """Return the parser of the tool."""
    parser = model_parser("nn-compile", "Compile a model ahead of time.")
    add = parser.add_argument
    add(
        "-o",
        dest="output",
        required=True,
        metavar="FILE",
        help="file to write: .ll .s .o .so .c .mjs",
    )
    add("--threads", type=int, default=1, metavar="N", help="threads of the library's calls (1)")
    add("--name", help="prefix of the C functions (the output's name)")
    return parser


def _run(argv: list[str]) -> None:
    options = make_parser().parse_args(argv)
    output = Path(options.output)
    if output.suffix not in {**WRITERS, **SOURCES}:
        rows = {**WRITERS, **SOURCES}.items()
        kinds = ", ".join(f"{suffix} ({(w.__doc__ or '').rstrip('.')})" for suffix, w in rows)
        fail(f"error: -o is {output}\n  hint: its suffix says what to write: {kinds}")
    if not output.parent.is_dir():
        fail(f"error: there is no folder {output.parent}")
    if output.suffix in SOURCES:
        SOURCES[output.suffix](_read(options), options, output)
    else:
        WRITERS[output.suffix](_lower(options), options, output)


def _read(options: Namespace) -> ModuleOp:
    """Return the model, all sizes known."""
    from nn_opt.origin import origin_of

    origin = origin_of(options.model)
    dims, shapes = parse_dims(options.dim), parse_shapes(options.shape)
    for info in origin.signature(dims, shapes).inputs:
        if not info.is_static:
            fail(f"error: input {info} has unknown sizes\n  hint: give them by --dim or --shape")
    return origin.module(dims, shapes)


def _lower(options: Namespace) -> Lowered:
    from nn_opt.build import lower

    with progress_bar() as progress:
        module = _read(options)
        flags = f"winograd={options.winograd} precision={options.precision}"
        fixed = options.deterministic
        return lower(
            module,
            options.target,
            flags,
            deterministic=fixed,
            debug_info=options.debug_info,
            progress=progress,
        )


def _write(path: Path, data: bytes | bytearray) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        fail(f"{path}: error: {error.strerror}")


def _text(lowered: Lowered, options: Namespace, output: Path) -> None:
    """LLVM IR of the code alone."""
    _write(output, lowered.text.encode())


def _assembly(lowered: Lowered, options: Namespace, output: Path) -> None:
    """Assembly of the code alone."""
    from nn_opt.backends.llvm.object import emit_assembly

    _write(output, emit_assembly(lowered.text, lowered.machine).encode())


def _object(lowered: Lowered, options: Namespace, output: Path) -> None:
    """Object with weights, and a C header."""
    from nn_opt.backends.llvm.library import header, identifier, library_object

    name = identifier(options.name or output.stem)
    code = library_object(
        lowered.text, lowered.manifest, lowered.weights, lowered.machine, name, options.threads
    )
    _write(output, code)
    title = Path(options.model).name
    text = header(lowered.manifest, name, title, __version__)
    _write(output.with_suffix(".h"), text.encode())


def _library(lowered: Lowered, options: Namespace, output: Path) -> None:
    """Shared library with weights, and a C header."""
    compiler = _c_compiler(lowered.machine.triple)
    options.name = options.name or output.stem
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"{output.stem}.o"
        _object(lowered, options, made)
        library = Path(folder) / output.name
        command = [compiler, "-shared", "-o", str(library), str(made), "-lm", "-lpthread"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            fail(f"error: {compiler} cannot link {output.name}:\n{done.stderr.strip()}")
        _write(output, library.read_bytes())
        output.chmod(0o755)
        _write(output.with_suffix(".h"), made.with_suffix(".h").read_bytes())


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


SOURCES = {".c": write_c, ".mjs": write_js}
WRITERS: dict[str, Callable[[Lowered, Namespace, Path], None]] = {
    ".ll": _text,
    ".s": _assembly,
    ".o": _object,
    ".so": _library,
}

if __name__ == "__main__":
    sys.exit(main())
