"""A model as one object file for C programs: code, weights, thread pool and a plain C function."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nn_opt.backends.llvm.object import emit_linked
from nn_opt.ir.target import Target
from nn_opt.runtime.loader import find_section
from nn_opt.runtime.manifest import Manifest, TensorInfo
from nn_opt.runtime.memory import Block
from nn_opt.runtime.pool import pool_text

_SECTION = "nn_weights"
# Weights are zeros for LLVM and filled into its object file: as text they would be three times as
# long. Each thread that calls keeps its temporaries for its next call.
_GLUE = """
@weights = internal externally_initialized constant [{weight_bytes} x i8] zeroinitializer, \
section "nn_weights", align 64
@{name}_threads = global i32 {threads}
@key = internal global i32 0
%Hook = type {{ i32, ptr, ptr }}
@llvm.global_ctors = appending global [1 x %Hook] [%Hook {{ i32 65535, ptr @start, ptr null }}]
@llvm.global_dtors = appending global [1 x %Hook] [%Hook {{ i32 65535, ptr @stop, ptr null }}]
declare void @nn_pool_init()
declare void @nn_pool_stop()
declare void @nn_main(ptr, ptr, ptr, ptr)
declare void @nn_call(ptr, ptr, ptr, ptr, ptr, i64)
declare i32 @pthread_key_create(ptr, ptr)
declare i32 @pthread_key_delete(i32)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
define internal void @start() {{
  call void @nn_pool_init()
  %rc = call i32 @pthread_key_create(ptr @key, ptr @free)
  ret void
}}
define internal void @stop() {{
  call void @nn_pool_stop()
  %key = load i32, ptr @key
  %rc = call i32 @pthread_key_delete(i32 %key)
  ret void
}}
define i32 @{name}_run(ptr %inputs, ptr %outputs) {{
entry:
  %key = load i32, ptr @key
  %kept = call ptr @pthread_getspecific(i32 %key)
  %first = icmp eq ptr %kept, null
  br i1 %first, label %allocate, label %run
allocate:
  %new = call ptr @aligned_alloc(i64 4096, i64 {arena_bytes})
  %none = icmp eq ptr %new, null
  br i1 %none, label %fail, label %keep
keep:
  %rc = call i32 @pthread_setspecific(i32 %key, ptr %new)
  br label %run
run:
  %arena = phi ptr [%kept, %entry], [%new, %keep]
  %threads32 = load i32, ptr @{name}_threads
  %many = icmp sgt i32 %threads32, 1
  %some = select i1 %many, i32 %threads32, i32 1
  %threads = zext i32 %some to i64
  call void @nn_call(ptr @nn_main, ptr %inputs, ptr %outputs, ptr @weights, ptr %arena, \
i64 %threads)
  ret i32 0
fail:
  ret i32 1
}}
"""
_HEADER = """\
/* {title}, compiled by nn-opt {version} for {target}. */
#ifndef {guard}
#define {guard}
#ifdef __cplusplus
extern "C" {{
#endif

/* Inputs, each row-major:
{inputs}
   Outputs:
{outputs}
   Returns 0, or 1 if {arena_bytes} bytes for temporaries could not be had. Several threads may
   call at once. */
int {name}_run(const void *const *inputs, void *const *outputs);

/* How many threads a call may use. */
extern int {name}_threads;

#ifdef __cplusplus
}}
#endif
#endif
"""


def identifier(stem: str) -> str:
    """Return the C name made of a file's name."""
    name = re.sub(r"\W", "_", stem, flags=re.ASCII)
    return f"model_{name}" if name[:1].isdigit() or not name else name


def library_object(
    text: str, manifest: Manifest, weights: Block, target: Target, name: str, threads: int
) -> bytearray:
    """Return the object file that defines {name}_run and {name}_threads, and no other symbol."""
    glue = _GLUE.format(
        name=name,
        threads=threads,
        weight_bytes=max(manifest.weight_bytes, 1),
        arena_bytes=max(_rounded(manifest.arena_bytes), 4096),
    )
    parts = [text, pool_text(target.triple.partition("-")[0]), glue]
    return _fill(emit_linked(parts, [f"{name}_run", f"{name}_threads"], target), weights)


def _rounded(size: int) -> int:
    return -(-size // 4096) * 4096


def _fill(data: bytes, weights: Block) -> bytearray:
    """Put the weights where the object has zeros for them."""
    offset, size = find_section(data, _SECTION)
    assert size >= weights.bytes.nbytes, "the section is too small for the weights"
    filled = bytearray(data)
    filled[offset : offset + weights.bytes.nbytes] = weights.bytes.data
    return filled


def header(manifest: Manifest, name: str, title: str, version: str) -> str:
    """Return the C header of a library."""
    return _HEADER.format(
        title=_in_comment(title),
        version=version,
        target=manifest.target,
        guard=f"{name.upper()}_H",
        name=name,
        arena_bytes=_rounded(manifest.arena_bytes),
        inputs=_listing(manifest.inputs),
        outputs=_listing(manifest.outputs),
    )


def _listing(infos: Sequence[TensorInfo]) -> str:
    return "\n".join(f"     [{k}] {_in_comment(str(info))}" for k, info in enumerate(infos))


def _in_comment(text: str) -> str:
    return text.replace("*/", "* /")
