"""Small models written directly in LLVM IR, for tests of the runtime alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nn_opt.runtime.artifact import Artifact
from nn_opt.runtime.cache import open_cache
from nn_opt.runtime.llvm import llvm
from nn_opt.runtime.loader import native_machine
from nn_opt.runtime.manifest import Kernel, Manifest, TensorInfo
from nn_opt.runtime.program import Program
from nn_opt.runtime.weights import pack_weights

F32 = np.dtype(np.float32)

# y = x * weight[0] + (a temporary that holds 1), over n elements, in parallel; %n is filled in.
SCALE = """
declare void @nn_parallel(ptr, ptr, i64)
define internal void @body(i64 %begin, i64 %end, ptr %context) {{
entry:
  %x = load ptr, ptr %context
  %y.p = getelementptr ptr, ptr %context, i64 1
  %y = load ptr, ptr %y.p
  %w.p = getelementptr ptr, ptr %context, i64 2
  %w = load ptr, ptr %w.p
  %a.p = getelementptr ptr, ptr %context, i64 3
  %a = load ptr, ptr %a.p
  %scale = load float, ptr %w
  br label %loop
loop:
  %i = phi i64 [%begin, %entry], [%i1, %loop]
  %from = getelementptr float, ptr %x, i64 %i
  %to = getelementptr float, ptr %y, i64 %i
  %place = getelementptr float, ptr %a, i64 %i
  store float 1.0, ptr %place
  %v = load float, ptr %from, align 1
  %m = fmul float %v, %scale
  %one = load float, ptr %place
  %r = fadd float %m, %one
  store float %r, ptr %to, align 1
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %loop, label %out
out:
  ret void
}}
define void @nn_main(ptr %inputs, ptr %outputs, ptr %weights, ptr %arena) {{
  %context = alloca [4 x ptr]
  %x = load ptr, ptr %inputs
  store ptr %x, ptr %context
  %y = load ptr, ptr %outputs
  %p1 = getelementptr ptr, ptr %context, i64 1
  store ptr %y, ptr %p1
  %p2 = getelementptr ptr, ptr %context, i64 2
  store ptr %weights, ptr %p2
  %p3 = getelementptr ptr, ptr %context, i64 3
  store ptr %arena, ptr %p3
  call void @nn_parallel(ptr @body, ptr %context, i64 {n})
  ret void
}}
"""


def assemble(text: str) -> bytes:
    """Return LLVM IR as object code."""
    machine = native_machine()
    return machine.emit_object(llvm.parse_assembly(text))


def scale_artifact(shape: Sequence[int], factor: float = 2.0) -> Artifact:
    """Return the model y = factor * x + 1."""
    weights = pack_weights([np.array([factor], np.float32)], [0], 64)
    count = int(np.prod(shape))
    info = [TensorInfo(name, tuple(shape), F32) for name in ("x", "y")]
    manifest = Manifest(
        (info[0],),
        (info[1],),
        arena_bytes=4 * count,
        weight_bytes=64,
        kernels=(Kernel("scale", ("mul", "add"), 2 * count),),
    )
    return Artifact(manifest, assemble(SCALE.format(n=count)), weights)


class ScaleBuilder:
    """A `Builder` that counts how often it compiles."""

    def __init__(self) -> None:
        self.built: list[tuple[tuple[int, ...], ...]] = []

    def program(self, shapes: tuple[tuple[int, ...], ...], *, profile: bool = False) -> Program:
        self.built.append(shapes)
        return Program(scale_artifact(shapes[0]))

    def text(self, level: str, shapes: tuple[tuple[int, ...], ...]) -> str:
        return f"{level} {shapes}"


def store_many(folder: str) -> None:
    """Store, load and run two models over and over; several processes do so at once."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    y = np.empty_like(x)
    cache = open_cache(folder)
    for k in range(20):
        cache.store(f"key{k % 2}", scale_artifact((2, 3)))
        entry = cache.load(f"key{k % 2}")
        assert entry is not None
        Program(entry).run([x], [y], 1)
        np.testing.assert_array_equal(y, 2 * x + 1)
