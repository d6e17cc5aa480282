"""Targets written out: what each stands for, and what is said of those that are wrong."""

from __future__ import annotations

import pytest

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.target import TARGETS, host, target_named
from nn_opt.ir.target_text import full_triple


@pytest.mark.parametrize(
    ("given", "triple"),
    [
        ("aarch64-linux-gnu", "aarch64-unknown-linux-gnu"),
        ("aarch64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"),
        ("arm64-apple-darwin", "aarch64-apple-darwin"),
        ("armv7-linux-gnueabi", "armv7-unknown-linux-gnueabihf"),
        ("thumbv7em-none-eabihf", "thumbv7em-unknown-none-eabihf"),
        ("riscv64", "riscv64-unknown-none"),
        ("wasm32", "wasm32-unknown-unknown"),
        ("wasm32-unknown-unknown", "wasm32-unknown-unknown"),
        ("x86_64-pc-windows-msvc", "x86_64-pc-windows-msvc"),
    ],
)
def test_triples_get_all_of_their_parts(given: str, triple: str):
    assert full_triple(given) == triple


def test_floats_stay_soft_where_that_is_asked_for():
    assert full_triple("armv7-linux-gnueabi", "soft") == "armv7-unknown-linux-gnueabi"


def test_a_processor_and_its_features():
    text = "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76 -mattr=+dotprod"
    target = target_named(text)
    assert (target.name, target.cpu) == (text, "cortex-a76")
    assert target.has("dotprod")
    assert (target.vector_bytes, target.vector_registers) == (16, 32)


@pytest.mark.parametrize(
    ("options", "vector_bytes"),
    [
        ("-mtriple=x86_64-linux-gnu", 16),
        ("-mtriple=x86_64-linux-gnu -mcpu=haswell", 32),
        ("-mtriple=x86_64-linux-gnu -mcpu=znver4", 64),
        ("-mtriple=x86_64-linux-gnu -mattr=+avx2,+fma", 32),
        ("-mtriple=aarch64-linux-gnu -msve-vector-bits=512", 64),
        ("-mtriple=riscv64-linux-gnu -mattr=+v", 16),
        ("-mtriple=riscv64-linux-gnu -mattr=+v,+zvl256b", 32),
        ("-mtriple=wasm32 -mattr=-simd128", 8),
    ],
)
def test_vectors_are_as_wide_as_the_processor_has_them(options: str, vector_bytes: int):
    assert target_named(f"llvm {options}").vector_bytes == vector_bytes


@pytest.mark.parametrize(
    ("options", "row"),
    [
        ("-mtriple=wasm32-unknown-unknown", "wasm"),
        ("-mtriple=wasm32 -mattr=+relaxed-simd", "wasm-relaxed"),
        ("-mtriple=armv7-linux-gnueabihf", "armv7"),
        ("-mtriple=thumbv7em-none-eabihf", "cortex-m4"),
        ("-mtriple=riscv64-linux-gnu", "riscv64"),
    ],
)
def test_texts_mean_what_the_rows_do(options: str, row: str):
    made, wanted = target_named(f"llvm {options}"), TARGETS[row]
    for field in ("triple", "cpu", "abi", "pointer_bits", "vector_bytes", "fuses", "halves"):
        assert getattr(made, field) == getattr(wanted, field), field
    assert {*wanted.features.split(",")} <= {*made.features.split(",")}


def test_vfp4_fuses_on_armv7():
    assert not target_named("llvm -mtriple=armv7-linux-gnueabihf").fuses
    assert target_named("llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a15").fuses
    assert target_named("llvm -mtriple=armv7-linux-gnueabihf -mattr=+vfp4").fuses


def test_llvm_alone_is_this_machine():
    assert target_named("llvm").triple == host().triple


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("llvm -mcpu=cortex-a76", "it has no -mtriple"),
        ("llvm -mtriple=z80-none", "'z80' is no architecture known here"),
        ("llvm -mtriple=aarch64_be-linux", "'aarch64_be' has its bytes in big-endian order"),
        ("llvm -mtriple=wasm32 -mattrs=+x", "there is no option -mattrs\n  hint: did you mean"),
        ("llvm -mtriple=wasm32 -xyz=1", "there is no option -xyz\n  hint: those are -mtriple"),
        ("llvm -mtriple=wasm32 fast", "'fast' is no option\n  hint: options look like -mcpu="),
        ("llvm -mtriple=wasm32 -mtriple=wasm32", "it has -mtriple twice"),
        ("llvm -mtriple=wasm32 -mattr=simd128", "-mattr has 'simd128'"),
        ("llvm -mtriple=aarch64 -msve-vector-bits=100", "-msve-vector-bits is 100"),
        ("llvm -mtriple=armv7 -mfloat-abi=softfp", "-mfloat-abi is 'softfp'"),
        ("llvmx -mtriple=armv7", "it begins with 'llvmx'"),
    ],
)
def test_what_is_wrong_is_said(text: str, says: str):
    with pytest.raises(DiagnosticError) as caught:
        target_named(text)
    assert str(caught.value).startswith(f"error: target {text!r}: ")
    assert says in str(caught.value)
