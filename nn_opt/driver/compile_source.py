"""nn-compile to source text: one C99 file with its header, or an ES module."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nn_opt import __version__

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from nn_opt.backends.source import SourceProgram
    from nn_opt.runtime.manifest import Manifest, TensorInfo

EMBEDDED_BYTES = 1 << 20  # of weights in a C file; compilers are slow at larger tables
_HEADER = """\
/* {title}, compiled by nn-opt {version}. */
#ifndef {guard}_H
#define {guard}_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {{
#endif

#define {guard}_ARENA_BYTES {arena}
#define {guard}_WEIGHT_BYTES {weights}

/* Inputs, each row-major:
{inputs}
   Outputs:
{outputs}
   `arena` is memory for temporaries, `weights` {place}; both aligned to 8
   bytes or more. Calls that run at once need an arena each. */
void {name}_run(const void *const *inputs, void *const *outputs, const void *weights, void *arena);
{declaration}
#ifdef __cplusplus
}}
#endif
#endif
"""
_DECLARATION = """
typedef union {{ uint64_t word; double number; }} {name}_block;
extern const {name}_block {name}_weights[];
"""


def write_c(module: ModuleOp, options: Namespace, output: Path) -> None:
    """C99 without dependencies, and a header."""
    from nn_opt.backends.llvm.library import identifier
    from nn_opt.backends.source import print_c

    manifest = _lower(module, options, "lower-to-c")
    name = identifier(options.name or output.stem)
    title = f"{Path(options.model).name}, compiled by nn-opt {__version__}"
    program = print_c(module, title, name, embed_bytes=EMBEDDED_BYTES)
    embed = program.weights.size <= EMBEDDED_BYTES
    _write(output, program.text.encode())
    header = _header(program, manifest, name, Path(options.model).name, output, embed=embed)
    _write(output.with_suffix(".h"), header.encode())
    if not embed:
        _write(output.with_suffix(".weights"), program.weights.content())


def write_js(module: ModuleOp, options: Namespace, output: Path) -> None:
    """ES module without dependencies, and its weights."""
    from nn_opt.backends.source import print_js
    from nn_opt.ir.target import SCALAR

    if options.target == "cpu":
        options.target = SCALAR.name
    _lower(module, options, "lower-to-js")
    title = f"{Path(options.model).name}, compiled by nn-opt {__version__}"
    weights = output.with_suffix(".weights")
    program = print_js(module, title, weights.name)
    _write(output, program.text.encode())
    _write(weights, program.weights.content())


def _lower(module: ModuleOp, options: Namespace, pipeline: str) -> Manifest:
    """Run all passes on a module; return what goes in and out."""
    from nn_opt.build import signature_of
    from nn_opt.ir.parsing import make_context
    from nn_opt.ir.target import set_target, target_named
    from nn_opt.ir.verify import verify
    from nn_opt.pipelines import expand, run_passes

    manifest = signature_of(module)
    verify(module)
    set_target(module, target_named(options.target).name)
    flags = f"winograd={options.winograd} precision={options.precision}"
    steps = [*expand("optimize-graph", flags), *expand("lower-to-loops"), *expand(pipeline)]
    run_passes(make_context(), module, steps)
    return manifest


def _header(
    program: SourceProgram, manifest: Manifest, name: str, title: str, output: Path, *, embed: bool
) -> str:
    where = f"is {name}_weights" if embed else f"the content of {output.stem}.weights"
    return _HEADER.format(
        title=_plain(title),
        version=__version__,
        guard=name.upper(),
        name=name,
        arena=program.arena_bytes,
        weights=program.weights.size,
        inputs=_listing(manifest.inputs),
        outputs=_listing(manifest.outputs),
        place=_plain(where),
        declaration=_DECLARATION.format(name=name) if embed else "",
    )


def _listing(infos: Sequence[TensorInfo]) -> str:
    return "\n".join(f"     [{k}] {_plain(str(info))}" for k, info in enumerate(infos))


def _plain(text: str) -> str:
    from nn_opt.backends.source.program import plain

    return plain(text)


def _write(path: Path, data: bytes) -> None:
    from nn_opt.ir.files import write_bytes

    write_bytes(path, data)
