"""Code for other machines: made in a process of its own, whose end is an error in one line."""

from __future__ import annotations

import sys

import pytest

from nn_opt.backends.llvm.child import make_in_child
from nn_opt.backends.llvm.object import RefusedCode, emit_assembly, emit_object
from nn_opt.backends.llvm.worker import ASSEMBLY, Job, UnknownTarget, machine_of
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.target import TARGETS

SUM = """
define float @sum(float %x, float %y) {
  %z = fadd float %x, %y
  ret float %z
}
"""
# NVPTX has no exponential function, and LLVM ends the process when it finds out.
EXP = """
declare float @llvm.exp.f32(float)
define float @f(float %x) {
  %y = call float @llvm.exp.f32(float %x)
  ret float %y
}
"""
PTX = "nvptx64-nvidia-cuda"


def test_assembly_of_another_machine():
    assert "fadd\ts0, s0, s1" in emit_assembly(SUM, TARGETS["neon"])


def test_the_object_is_that_of_a_child():
    made = emit_object(SUM, TARGETS["neon"])
    assert made[:4] == b"\x7fELF"
    assert int.from_bytes(made[18:20], "little") == 183


def test_what_ends_llvm_is_an_error_in_one_line():
    job = Job([EXP], PTX, "sm_80", output=ASSEMBLY)
    with pytest.raises(DiagnosticError) as caught:
        make_in_child(job, "cuda")
    said = str(caught.value)
    assert said.startswith("error: LLVM cannot make code for 'cuda': ")
    assert "\n" not in said
    assert "exp" in said


def test_a_processor_that_llvm_does_not_know():
    said = "error: target 'mine': LLVM knows no processor 'z80' of aarch64\n"
    with pytest.raises(DiagnosticError, match=said):
        make_in_child(Job([SUM], "aarch64-linux-gnu", "z80"), "mine")


def test_text_that_llvm_refuses_names_its_function():
    with pytest.raises(RefusedCode, match="for @broken") as caught:
        emit_object("define float @broken() {\n  ret float %nothing\n}", TARGETS["neon"])
    assert caught.value.function == "broken"


def test_a_target_unknown_to_llvm():
    with pytest.raises(UnknownTarget, match="vax"):
        machine_of(Job([], "vax-dec-unknown-elf"))
    with pytest.raises(DiagnosticError, match="LLVM does not know 'vax-dec-unknown-elf'"):
        make_in_child(Job([SUM], "vax-dec-unknown-elf"), "vax")


def test_other_programs_have_no_python_to_start(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/usr/bin/viewer")
    with pytest.raises(DiagnosticError, match="made by a second Python, and there is none here"):
        emit_object(SUM, TARGETS["neon"])
