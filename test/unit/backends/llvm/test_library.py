"""Objects for C programs: a C program links one, calls it from several threads, and computes."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import pytest
import tools

from nn_opt.backends.llvm.library import identifier, library_object, variant
from nn_opt.backends.llvm.library_glue import Interface
from nn_opt.backends.llvm.library_header import header
from nn_opt.backends.llvm.object import emit_assembly, emit_object
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.target import Target, host, target_named
from nn_opt.runtime.loader import symbols
from nn_opt.runtime.manifest import Manifest, TensorInfo
from nn_opt.runtime.weights import pack_weights

COMPILER = tools.find("cc")
F32 = np.dtype(np.float32)
N = 1000

# y[i] = x[i] * weight[i] through a temporary, in parallel
TEXT = f"""
declare void @nn_parallel(ptr, ptr, i64)
%Context = type {{ ptr, ptr, ptr, ptr }}
define internal void @body(i64 %begin, i64 %end, ptr %c) {{
entry:
  %x = load ptr, ptr %c
  %yp = getelementptr %Context, ptr %c, i32 0, i32 1
  %y = load ptr, ptr %yp
  %wp = getelementptr %Context, ptr %c, i32 0, i32 2
  %w = load ptr, ptr %wp
  %tp = getelementptr %Context, ptr %c, i32 0, i32 3
  %t = load ptr, ptr %tp
  br label %loop
loop:
  %i = phi i64 [%begin, %entry], [%i1, %loop]
  %xi = getelementptr float, ptr %x, i64 %i
  %yi = getelementptr float, ptr %y, i64 %i
  %wi = getelementptr float, ptr %w, i64 %i
  %ti = getelementptr float, ptr %t, i64 %i
  %a = load float, ptr %xi
  %b = load float, ptr %wi
  %m = fmul float %a, %b
  store float %m, ptr %ti
  %r = load float, ptr %ti
  store float %r, ptr %yi
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %loop, label %out
out:
  ret void
}}
define void @nn_main(ptr %inputs, ptr %outputs, ptr %weights, ptr %arena) {{
  %c = alloca %Context
  %x = load ptr, ptr %inputs
  %y = load ptr, ptr %outputs
  store ptr %x, ptr %c
  %yp = getelementptr %Context, ptr %c, i32 0, i32 1
  store ptr %y, ptr %yp
  %wp = getelementptr %Context, ptr %c, i32 0, i32 2
  store ptr %weights, ptr %wp
  %tp = getelementptr %Context, ptr %c, i32 0, i32 3
  store ptr %arena, ptr %tp
  call void @nn_parallel(ptr @body, ptr %c, i64 {N})
  ret void
}}
"""
MAIN = """
#include <pthread.h>
#include <stdio.h>
#include "tiny.h"
static int failures;
static void *call(void *unused) {
  static float x[1000];
  for (int i = 0; i < 1000; i++) x[i] = 2;
  for (int k = 0; k < 50; k++) {
    float y[1000] = {0};
    const void *inputs[] = {x};
    void *outputs[] = {y};
    if (tiny_run(inputs, outputs)) failures++;
    for (int i = 0; i < 1000; i++) if (y[i] != 2 * i) failures++;
  }
  return unused;
}
int main(void) {
  pthread_t threads[4];
  tiny_threads = 3;
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, call, 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
  printf("%d failures\\n", failures);
  return 0;
}
"""


@pytest.fixture
def manifest() -> Manifest:
    tensors = [TensorInfo(name, (N,), F32) for name in ("x", "y*/")]
    return Manifest(
        (tensors[0],), (tensors[1],), arena_bytes=4 * N, weight_bytes=4 * N, target="host"
    )


def make(manifest: Manifest, target: Target | None = None) -> bytes:
    weights = pack_weights([np.arange(N, dtype=np.float32)], [0], 4 * N)
    machine = target or host()
    code = variant(TEXT, machine, manifest)
    return library_object([code], machine, weights, Interface("tiny", manifest, 2, "{}"))


def header_of(manifest: Manifest) -> str:
    return header(Interface("tiny", manifest, 2, "{}"), 4096, ["host"], "a */ model", "1")


def test_only_the_public_names_are_visible(manifest):
    defined = {name for name, here in symbols(make(manifest)) if here}
    words = "run run_in threads input output message variant description"
    assert defined == {f"tiny_{word}" for word in words.split()}


@tools.needs("cc")
def test_a_c_program(manifest, tmp_path):
    (tmp_path / "tiny.o").write_bytes(make(manifest))
    (tmp_path / "tiny.h").write_text(header_of(manifest))
    (tmp_path / "main.c").write_text(MAIN)
    words = [COMPILER, "-Wall", "-Werror", "-o", "main", "main.c", "tiny.o", "-lm", "-lpthread"]
    subprocess.run(words, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "0 failures\n")


@tools.needs("cc")
def test_a_shared_library_can_be_closed_again(manifest, tmp_path):
    (tmp_path / "tiny.o").write_bytes(make(manifest))
    words = [COMPILER, "-shared", "-o", "tiny.so", "tiny.o", "-lm", "-lpthread"]
    subprocess.run(words, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "tiny.so"))
    x, y = np.full(N, 3, np.float32), np.zeros(N, np.float32)
    pointers = ctypes.c_void_p * 1
    assert library.tiny_run(pointers(x.ctypes.data), pointers(y.ctypes.data)) == 0
    np.testing.assert_array_equal(y, 3 * np.arange(N))
    close = ctypes.CDLL(None).dlclose
    close.argtypes = [ctypes.c_void_p]
    assert close(library._handle) == 0


def test_other_machines(manifest):
    arm = make(manifest, target_named("neon"))
    assert arm[:4] == b"\x7fELF"
    assert arm[18:20] == (183).to_bytes(2, "little")  # EM_AARCH64, ELF for the ARM 64-bit ABI
    text = "define float @f(float %x) { %y = fadd float %x, %x ret float %y }"
    assert "fadd\ts0, s0, s0" in emit_assembly(text, target_named("neon"))


def test_llvm_passes_run_only_when_asked():
    text = """define private i32 @g(i32 %x) { %y = mul i32 %x, %x ret i32 %y }
define i32 @f(i32 %x) { %y = call i32 @g(i32 %x) %z = add i32 %y, 1 ret i32 %z }"""
    calls = [emit_assembly(text, host(), passes).count("call") for passes in (0, 2)]
    assert calls == [1, 0]
    assert dict(symbols(emit_object(text, host(), 2))) == {"f": True}


def test_bad_text_is_our_own_fault():
    with pytest.raises(AssertionError, match="use of undefined value '%x'"):
        emit_object("define float @f() { ret float %x }", host())


def test_unknown_targets():
    with pytest.raises(DiagnosticError, match="unknown target 'z80'"):
        target_named("z80")


@pytest.mark.parametrize(
    ("stem", "name"), [("resnet18-v1.7", "resnet18_v1_7"), ("7z", "model_7z"), ("é", "_")]
)
def test_identifiers(stem, name):
    assert identifier(stem) == name
