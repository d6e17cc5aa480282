"""The most multiply-adds a core can do: a loop of independent ones, on registers alone."""

from __future__ import annotations

import ctypes
import time

import numpy as np

from nn_opt.backends.llvm.object import emit_object
from nn_opt.ir.target import host
from nn_opt.runtime.loader import LoadedCode

CHAINS = 12  # independent sums: more than latency times issue width, no more than registers
ITERATIONS = 2_000_000
TRIES = 5


def loop_text(lanes: int) -> str:
    """Return LLVM IR of `void peak(i64 iterations, float *values)`."""
    vector = f"<{lanes} x float>"
    sums = range(CHAINS)
    phis = [f"  %s{k} = phi {vector} [ %x, %entry ], [ %t{k}, %loop ]" for k in sums]
    steps = [
        f"  %t{k} = call {vector} @llvm.fma.v{lanes}f32({vector} %s{k}, {vector} %x, {vector} %x)"
        for k in sums
    ]
    totals = [f"  %r{k} = fadd {vector} %{f'r{k - 1}' if k else 'x'}, %t{k}" for k in sums]
    return "\n".join(
        [
            f"declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})",
            "define void @peak(i64 %n, ptr %p) {",
            "entry:",
            f"  %x = load {vector}, ptr %p, align 4",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %entry ], [ %j, %loop ]",
            *phis,
            *steps,
            "  %j = add i64 %i, 1",
            "  %more = icmp slt i64 %j, %n",
            "  br i1 %more, label %loop, label %done",
            "done:",
            *totals,
            f"  store {vector} %r{CHAINS - 1}, ptr %p, align 4",
            "  ret void",
            "}",
        ]
    )


class Peak:
    """The loop in memory; asked again and again, since a core's clock is not always the same."""

    def __init__(self) -> None:
        target = host()
        self.flops = 2 * target.lanes * CHAINS * ITERATIONS
        self._code = LoadedCode([emit_object(loop_text(target.lanes), target)])
        kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)
        self._call = kind(self._code.address("peak"))
        self._values = np.full(target.lanes, 0.5, np.float32)  # s = 0.5 s + 0.5 stays below 1

    def gflops(self) -> float:
        """Return billions of float32 operations a second, the best of some tries."""
        return self.flops / min(self._seconds() for _ in range(TRIES)) / 1e9

    def _seconds(self) -> float:
        self._values[:] = 0.5
        start = time.perf_counter()
        self._call(ITERATIONS, self._values.ctypes.data)
        return time.perf_counter() - start
