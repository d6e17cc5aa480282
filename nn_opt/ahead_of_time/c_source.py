"""C99 in one file, for microcontrollers and whatever else has a C compiler."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from nn_opt import __version__
from nn_opt.ahead_of_time import description
from nn_opt.ahead_of_time.description import bytes_of
from nn_opt.ahead_of_time.request import COMPILER, Made, Request, size_text
from nn_opt.ahead_of_time.source_text import listing, lowered
from nn_opt.backends.source import SourceProgram, print_c
from nn_opt.backends.source.program import plain
from nn_opt.dialects.loop import AllocOp
from nn_opt.dialects.loop.buffers import byte_size
from nn_opt.runtime.manifest import Manifest, TensorInfo

EMBEDDED_BYTES = 1 << 20  # of weights in a C file; compilers are slow at larger tables
_ANY_BYTES = 1 << 62
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
{sizes}

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


def source(request: Request) -> Made:
    """Return C99 without dependencies, its header and description."""
    module, manifest = lowered(request, "lower-to-c", request.target)
    title = f"{request.title}, compiled by {COMPILER}"
    limit = _ANY_BYTES if request.options.embed_weights else EMBEDDED_BYTES
    program = print_c(module, title, request.name, embed_bytes=limit)
    size, beside = program.weights.size, f"{request.output.name}.weights"
    is_inside = size <= limit
    said = {
        "arena_bytes": program.arena_bytes,
        "weights": {"bytes": size, "file": None if is_inside else beside},
        "functions": {"run": f"{request.name}_run"},
    }
    files = {
        request.output.name: program.text.encode(),
        f"{request.stem}.h": _header(request, program, manifest, is_inside=is_inside).encode(),
        f"{request.output.name}.json": description.description(
            request, manifest, [], said
        ).encode(),
    }
    if not is_inside:
        files[beside] = program.weights.content()
    return Made(files, _memory(manifest, program, _stack_bytes(module)))


def _memory(manifest: Manifest, program: SourceProgram, stack: int) -> tuple[str, ...]:
    """Return what the model needs of a small machine, besides its code."""
    edges = sum(map(bytes_of, (*manifest.inputs, *manifest.outputs)))
    ram = f"RAM: arena {size_text(program.arena_bytes)}, inputs and outputs {size_text(edges)}"
    arrays = f"arrays on the stack {size_text(stack)}"
    return (f"{ram}, {arrays}; flash: weights {size_text(program.weights.size)}",)


def _stack_bytes(module: ModuleOp) -> int:
    """Return the bytes of the arrays that one kernel has on its stack, of the one with the most."""
    kernels = [op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data != "main"]
    allocs = ([op for op in kernel.walk() if isinstance(op, AllocOp)] for kernel in kernels)
    return max((sum(byte_size(op.result) for op in ops) for ops in allocs), default=0)


def _header(
    request: Request, program: SourceProgram, manifest: Manifest, *, is_inside: bool
) -> str:
    name = request.name
    where = f"is {name}_weights" if is_inside else f"the content of {request.output.name}.weights"
    infos = [("INPUT", manifest.inputs), ("OUTPUT", manifest.outputs)]
    return _HEADER.format(
        title=plain(request.title),
        version=__version__,
        guard=name.upper(),
        name=name,
        arena=program.arena_bytes,
        weights=program.weights.size,
        sizes="\n".join(_sizes(name.upper(), word, tensors) for word, tensors in infos),
        inputs=listing(manifest.inputs),
        outputs=listing(manifest.outputs),
        place=plain(where),
        declaration=_DECLARATION.format(name=name) if is_inside else "",
    )


def _sizes(guard: str, word: str, infos: Sequence[TensorInfo]) -> str:
    """Return how many elements each input or output has."""
    rows = (f"#define {guard}_{word}_{k}_SIZE {prod(i.sizes)}" for k, i in enumerate(infos))
    return "\n".join(rows)
