"""A planted bug in a large module is shrunk to a few operations, the same ones each time."""

from __future__ import annotations

import random
import shlex
import sys
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from nn_opt.driver import main
from nn_opt.driver.checks import Check
from nn_opt.driver.reduce import EDITS, Modules, Reducer
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.verify import verify

TENSOR = "tensor<4x64xf32>"
PLANTED = '''"""Stands for a pass that goes wrong where a divisor is a tanh."""
import re, sys
text = open(sys.argv[1]).read()
names = re.findall(r"(%\\w+) = graph.tanh", text)
sys.exit(not any(re.search(rf"graph.div %\\w+, {name}\\\\b", text) for name in names))
'''.replace("\\\\b", "\\b")


def large_module() -> str:
    """Return a function of 200 operations; one of them divides by a tanh."""
    choose = random.Random(1).choice
    lines = [f"func.func @main(%v0: {TENSOR}, %unread: {TENSOR}) -> {TENSOR} {{"]
    for k in range(1, 200):
        a, b = (f"%v{choose(range(max(0, k - 8), k))}" for _ in range(2))
        if k == 120:
            lines.append(f"  %v{k} = graph.tanh {a} : {TENSOR}")
        elif k % 3 == 0:
            lines.append(f"  %v{k} = graph.{choose(['relu', 'neg', 'abs'])} {a} : {TENSOR}")
        else:
            name = "div" if k == 121 else choose(["add", "mul", "sub"])
            b = "%v120" if k == 121 else b
            lines.append(f"  %v{k} = graph.{name} {a}, {b} : ({TENSOR}, {TENSOR}) -> {TENSOR}")
    return "\n".join([*lines, f"  func.return %v199 : {TENSOR}", "}\n"])


@pytest.fixture
def command(tmp_path: Path) -> str:
    script = tmp_path / "planted.py"
    script.write_text(PLANTED)
    return shlex.join([sys.executable, "-S", "-E", str(script)])


def test_a_planted_bug_ends_under_ten_operations(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
):
    source = tmp_path / "large.mlir"
    source.write_text(large_module())
    results: list[str] = []
    for _ in range(2):
        assert main([f"--reduce={command}", str(source)]) == 0
        out, err = capsys.readouterr()
        results.append(out)
        assert "reduce: operations: 202 -> " in err
    assert results[0] == results[1]
    module = parse_module(make_context(), results[0], "reduced")
    verify(module)
    assert "graph.tanh" in results[0]
    assert "graph.div" in results[0]
    assert len(list(module.walk())) < 10
    assert "tensor<1x1xf32>" in results[0]


class Never:
    """A check that accepts nothing, and counts how often it is asked."""

    runs = 0

    def accepts(self, _: object) -> bool:
        self.runs += 1
        return False


@pytest.mark.parametrize("title", EDITS)
def test_nothing_changes_while_the_command_refuses(title: str):
    module = parse_module(make_context(), large_module(), "large")
    before = str(module)
    check = Never()
    reducer = Reducer(module, check, Modules())
    assert not reducer.run(title)
    assert str(reducer.subject) == before
    assert check.runs <= 600


def test_after_ctrl_c_what_is_smallest_so_far_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    accepts = Check.accepts

    def interrupted(self: Check, module: ModuleOp) -> bool:
        if self.runs == 12:
            raise KeyboardInterrupt
        return accepts(self, module)

    monkeypatch.setattr(Check, "accepts", interrupted)
    source, output = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(large_module())
    assert main(["--reduce=grep -q graph.tanh", str(source), "-o", str(output)]) == 0
    assert "reduce: interrupted after 12 runs: the smallest so far\n" in capsys.readouterr().err
    assert "graph.tanh" in output.read_text()
    assert len(output.read_text()) < len(source.read_text())


def test_weights_that_are_left_lie_beside(tmp_path: Path):
    source, output = tmp_path / "in.mlir", tmp_path / "out.mlir"
    values = ", ".join(f"{k}.0" for k in range(20))
    source.write_text(
        "func.func @f() -> tensor<20xf32> {\n"
        f"  %c = graph.constant dense<[{values}]> : tensor<20xf32>\n"
        "  %n = graph.neg %c : tensor<20xf32>\n"
        "  func.return %n : tensor<20xf32>\n}\n"
    )
    flags = ["--fold-constants", "--reduce=grep -q resource"]
    assert main([*flags, str(source), "-o", str(output)]) == 0
    weights = f"--weights={output}.safetensors"
    assert main([weights, "--inline-weights", str(output), "-o", str(source)]) == 0
    assert "-1.9" in source.read_text()
