"""How many bytes a core can read in a second, from blocks of any size: from caches, then memory."""

from __future__ import annotations

import ctypes
import time

import numpy as np

from nn_opt.backends.llvm.object import emit_object
from nn_opt.ir.target import host
from nn_opt.runtime.loader import LoadedCode
from nn_opt.runtime.memory import Block

STREAMS = 8  # vectors read side by side, so that no sum waits for another
BYTES = 64 << 20  # read in one try, in as many passes over the block as it takes
TRIES = 3


def loop_text(lanes: int) -> str:
    """Return LLVM IR of `void read(ptr begin, i64 steps, i64 passes, ptr total)`: it sums all."""
    vector = f"<{lanes} x float>"
    streams = range(STREAMS)
    phis = [
        f"  %s{k} = phi {vector} [ zeroinitializer, %entry ], [ %t{k}, %loop ]" for k in streams
    ]
    reads = [
        line
        for k in streams
        for line in (
            f"  %a{k} = getelementptr {vector}, ptr %p, i64 {k}",
            f"  %x{k} = load {vector}, ptr %a{k}, align 4",
            f"  %t{k} = fadd {vector} %s{k}, %x{k}",
        )
    ]
    totals = [f"  %r{k} = fadd {vector} %{f'r{k - 1}' if k else 't0'}, %t{k}" for k in streams]
    return "\n".join(
        [
            "define void @read(ptr %begin, i64 %n, i64 %passes, ptr %total) {",
            "entry:",
            "  br label %loop",
            "loop:",
            "  %pass = phi i64 [ 0, %entry ], [ %next, %loop ]",
            "  %i = phi i64 [ 0, %entry ], [ %back, %loop ]",
            *phis,
            f"  %at = mul i64 %i, {STREAMS}",
            f"  %p = getelementptr {vector}, ptr %begin, i64 %at",
            *reads,
            "  %j = add i64 %i, 1",
            "  %whole = icmp eq i64 %j, %n",
            "  %back = select i1 %whole, i64 0, i64 %j",
            "  %one = zext i1 %whole to i64",
            "  %next = add i64 %pass, %one",
            "  %more = icmp slt i64 %next, %passes",
            "  br i1 %more, label %loop, label %done",
            "done:",
            *totals,
            f"  store {vector} %r{STREAMS - 1}, ptr %total, align 4",
            "  ret void",
            "}",
        ]
    )


class Bandwidth:
    """The reading loop; what it measured for a size is kept."""

    def __init__(self) -> None:
        target = host()
        self._step = STREAMS * target.vector_bytes
        self._code = LoadedCode([emit_object(loop_text(target.lanes), target)])
        integer, pointer = ctypes.c_int64, ctypes.c_void_p
        kind = ctypes.CFUNCTYPE(None, pointer, integer, integer, pointer)
        self._call = kind(self._code.address("read"))
        self._total = np.zeros(target.lanes, np.float32)
        self._known: dict[int, float] = {}

    def gigabytes(self, size: int) -> float:
        """Return billions of bytes a second, the best of some tries, for a block of this size.

        Sizes between two powers of two count as the higher one.
        """
        size = max(1 << (size - 1).bit_length(), self._step)
        if size not in self._known:
            self._known[size] = self._measure(Block(size))
        return self._known[size]

    def _measure(self, block: Block) -> float:
        block.bytes[:] = 0
        size = len(block.bytes)
        passes = max(1, BYTES // size)
        best = min(self._seconds(block, passes) for _ in range(TRIES))
        return passes * size / best / 1e9

    def _seconds(self, block: Block, passes: int) -> float:
        steps = len(block.bytes) // self._step
        start = time.perf_counter()
        self._call(block.address, steps, passes, self._total.ctypes.data)
        return time.perf_counter() - start
