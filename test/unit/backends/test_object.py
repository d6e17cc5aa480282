"""Machine code: what is spared of LLVM's work, and that others' code stays as it was."""

from __future__ import annotations

import threading
from typing import Any

from nn_opt.backends.llvm import worker
from nn_opt.backends.llvm.object import emit_assembly, emit_object, machine_for
from nn_opt.ir.target import TARGETS, Target
from nn_opt.runtime.llvm import llvm

# Strength reduction makes one pointer of the two sums.
LOOP = """
define void @f(ptr %x, ptr %y, i64 %n) {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %k = mul i64 %i, 24
  %a = getelementptr i8, ptr %x, i64 %k
  %b = getelementptr i8, ptr %y, i64 %k
  %v = load <16 x float>, ptr %a
  store <16 x float> %v, ptr %b
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %out
out:
  ret void
}
"""


def read(target: Target) -> Any:
    """Return LLVM's module for the loop."""
    layout = str(machine_for(target).target_data)
    return worker.parsed(LOOP, target.triple, layout, llvm.create_context())


def plain(name: str) -> bytes:
    """Return the object that LLVM makes left alone."""
    machine = machine_for(TARGETS[name])
    return machine.emit_object(read(TARGETS[name]))


def test_the_options_of_others_stay():
    before = plain("x86-64-v4")
    ours = emit_object(LOOP, TARGETS["x86-64-v4"])
    assert ours != before
    assert plain("x86-64-v4") == before
    assert emit_object(LOOP, TARGETS["x86-64-v4"]) == ours


def test_other_machines_get_all_of_llvm():
    assert emit_object(LOOP, TARGETS["neon"]) == plain("neon")


def test_the_assembly_is_what_the_object_holds():
    target = TARGETS["x86-64-v4"]
    assembled = emit_assembly(LOOP, target)
    machine = machine_for(target)
    left_alone = machine.emit_assembly(read(target))
    assert assembled != left_alone


def test_threads_that_emit_at_once_get_the_same_code():
    wanted = emit_object(LOOP, TARGETS["x86-64-v4"])
    made: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: made.append(emit_object(LOOP, TARGETS["x86-64-v4"])))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [wanted] * 8
