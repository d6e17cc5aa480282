"""canonicalize, cse and dce change no bit of any result."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.ir.verify import verify
from nn_opt.pipelines import run_passes
from nn_opt.plans import parse_pipeline
from nn_opt.reference import run

FLOATS = ("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.maximumf")
INTEGERS = ("arith.addi", "arith.subi", "arith.muli", "arith.xori", "arith.andi")
CONSTANTS = ("0.0", "-0.0", "1.0", "-1.0", "0x7F800000", "0x7FC00000")


def random_program(seed: int, length: int = 60) -> str:
    """Return a straight-line program full of constants, equal subterms and unread values."""
    choose = random.Random(seed).choice
    lines: list[str] = []
    floats, integers = ["%x", "%y"], ["%i", "%j"]
    for n in range(length):
        name = f"%v{n}"
        kind = choose(("float", "float", "integer", "fconst", "iconst"))
        if kind == "float":
            lines.append(f"{name} = {choose(FLOATS)} {choose(floats)}, {choose(floats)} : f32")
        elif kind == "integer":
            lines.append(f"{name} = {choose(INTEGERS)} {choose(integers)}, {choose(integers)} : i8")
        elif kind == "fconst":
            lines.append(f"{name} = arith.constant {choose(CONSTANTS)} : f32")
        else:
            lines.append(f"{name} = arith.constant {choose((0, 1, -1, 127))} : i8")
        (floats if kind in ("float", "fconst") else integers).append(name)
    results = [*floats[-4:], *integers[-4:]]
    types = ", ".join(["f32"] * 4 + ["i8"] * 4)
    body = "\n  ".join([*lines, f"func.return {', '.join(results)} : {types}"])
    signature = "%x: f32, %y: f32, %i: i8, %j: i8"
    return f"func.func @main({signature}) -> ({types}) {{\n  {body}\n}}\n"


@pytest.mark.parametrize("pipeline", ["canonicalize", "cse", "dce", "canonicalize,cse,dce"])
@pytest.mark.parametrize("seed", range(15))
def test_results_keep_every_bit(seed: int, pipeline: str):
    ctx = make_context()
    module = parse_module(ctx, random_program(seed), "m.mlir")
    inputs = [np.float32(1.5), np.float32(-np.inf), np.int8(-128), np.int8(3)]
    before = run(module, [np.asarray(value) for value in inputs])
    run_passes(ctx, module, parse_pipeline(pipeline))
    verify(module)
    after = run(module, [np.asarray(value) for value in inputs])
    for a, b in zip(before, after, strict=True):
        # A NaN may change its payload and sign, nothing else may.
        assert a.tobytes() == b.tobytes() or (np.isnan(a) and np.isnan(b))


@pytest.mark.parametrize("pipeline", ["canonicalize", "cse", "dce"])
def test_second_run_changes_nothing(pipeline: str):
    ctx = make_context()
    module = parse_module(ctx, random_program(99), "m.mlir")
    run_passes(ctx, module, parse_pipeline(pipeline))
    text = print_module(module)
    run_passes(ctx, module, parse_pipeline(pipeline))
    assert print_module(module) == text


def test_cse_is_linear_in_equal_ops():
    count = 5_000
    lines = "\n".join(f"  %v{n} = arith.mulf %x, %x : f32" for n in range(count))
    text = f"func.func @f(%x: f32) -> f32 {{\n{lines}\n  func.return %v{count - 1} : f32\n}}\n"
    ctx = make_context()
    module = parse_module(ctx, text, "m.mlir")
    start = time.process_time()
    run_passes(ctx, module, parse_pipeline("cse"))
    assert time.process_time() - start < 3.0  # 0.1 s here; a quadratic search takes a minute
    assert print_module(module).count("arith.mulf") == 1
