"""A wrong rewrite in a pipeline: --check sees it, --bisect names it, --reduce leaves a few ops."""

from __future__ import annotations

import random
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from registered import kept

from nn_opt.driver import main
from nn_opt.ir.parsing import make_context, parse_module

TENSOR = "tensor<4x8xf32>"
WRONG = '''
import nn_opt
from nn_opt.dialects import graph

@nn_opt.rewrite("move-negations")
def move_negations(op: graph.SubOp, rewriter):
    """x - neg(y)  ->  x - y, which is wrong."""
    owner = op.operands[1].owner
    if isinstance(owner, graph.NegOp):
        rewriter.replace(op, graph.SubOp(op.operands[0], owner.operands[0]))
'''
# Says whether a module still computes what the first one does.
SAME = """
import sys
import numpy as np
import nn_opt
from nn_opt.check import seeded_inputs
from nn_opt.reference import run
first, now = (nn_opt.parse(path) for path in sys.argv[1:])
inputs = seeded_inputs(first)
pairs = zip(run(first, inputs), run(now, inputs), strict=True)
sys.exit(not all(np.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in pairs))
"""


def module_text() -> str:
    """Return a function of 60 operations, in which two negations are subtracted."""
    choose = random.Random(3).choice
    lines = [f"func.func @main(%v0: {TENSOR}, %v1: {TENSOR}) -> ({TENSOR}, {TENSOR}, {TENSOR}) {{"]
    for k in range(2, 60):
        a, b = (f"%v{choose(range(max(0, k - 6), k))}" for _ in range(2))
        if k in (30, 51):
            lines.append(f"  %v{k} = graph.neg {a} : {TENSOR}")
        elif k % 3 == 0:
            lines.append(f"  %v{k} = graph.{choose(['tanh', 'sigmoid'])} {a} : {TENSOR}")
        else:
            name, b = ("sub", f"%v{k - 1}") if k in (31, 52) else ("add", b)
            lines.append(f"  %v{k} = graph.{name} {a}, {b} : ({TENSOR}, {TENSOR}) -> {TENSOR}")
    return "\n".join(
        [*lines, f"  func.return %v31, %v52, %v59 : {TENSOR}, {TENSOR}, {TENSOR}", "}\n"]
    )


@pytest.fixture(autouse=True)
def tables() -> Iterator[None]:
    """Leave no pass behind."""
    with kept():
        yield


def test_from_wrong_result_to_a_few_operations(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source, wrong, same = (tmp_path / name for name in ("in.mlir", "wrong.py", "same.py"))
    source.write_text(module_text())
    wrong.write_text(WRONG)
    same.write_text(SAME)
    load = f"--load={wrong}"
    passes = ["--canonicalize", "--cse", "--move-negations", "--dce", "--fuse-ops"]

    assert main([load, *passes, "--check", str(source)]) == 1
    assert "--move-negations changed result #" in capsys.readouterr().err

    report = tmp_path / "report"
    check = shlex.join([sys.executable, str(same), str(source)])
    assert main([load, f"--bisect={check}", *passes, str(source), "-o", str(report)]) == 0
    assert report.read_text().startswith("--move-negations (pass 3 of 5) makes the command fail\n")
    assert re.search(r"rewrite 1 of [2-4]: .*graph.sub at ", report.read_text())

    tool = [sys.executable, "-m", "nn_opt.driver", load, "--move-negations", "--check", "{}"]
    fails = f"sh -c '{shlex.join(tool)} 2>&1 | grep -q \"changed result\"'"
    small = tmp_path / "small.mlir"
    before = f"{report}.rewrite-before.mlir"
    assert main([f"--reduce={fails}", before, "-o", str(small)]) == 0
    module = parse_module(make_context(), small.read_text(), "small")
    names = [op.name for op in module.walk()]
    assert len(names) < 10
    assert {"graph.neg", "graph.sub"} <= set(names)
    assert main([load, "--move-negations", "--check", str(small)]) == 1
