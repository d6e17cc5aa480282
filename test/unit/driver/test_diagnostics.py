"""How errors are shown: several, with source lines, in colour, as JSON and SARIF."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nn_opt.driver import main

FAULTS = """func.func @f(%a: i32) -> i32 {
\t%c = arith.addi %b, %a : i32
  %b = arith.addi %a, %a : i32
  func.return %c : i32
}
func.func private @twin()
func.func private @twin()
"""


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text(FAULTS)
    return "m.mlir"


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(argv) == 1
    out, err = capsys.readouterr()
    assert out == ""
    return err


def test_all_errors_with_their_lines(faults: str, capsys: pytest.CaptureFixture[str]):
    problem = "operand #0 (%b) is used before its definition dominates it"
    assert refused(capsys, faults).split("\n") == [
        f"m.mlir:2:7: error: arith.addi: {problem}",
        "\t%c = arith.addi %b, %a : i32",
        "\t     ^",
        "m.mlir:3:8: note: %b is defined here, by arith.addi",
        "  %b = arith.addi %a, %a : i32",
        "       ^",
        "m.mlir:7:1: error: func.func: symbol @twin is defined twice",
        "func.func private @twin()",
        "^",
        "m.mlir:6:1: note: previous definition is here",
        "func.func private @twin()",
        "^",
        "",
    ]


def test_a_limit_counts_the_rest(faults: str, capsys: pytest.CaptureFixture[str]):
    assert refused(capsys, faults, "--error-limit=1").endswith("  note: 1 more error\n")
    Path(faults).write_text("func.func private @twin()\n" * 30)
    assert refused(capsys, faults).endswith("  note: 9 more errors\n")
    assert refused(capsys, faults, "--error-limit=0").count(": error: ") == 29


def test_each_part_of_a_file_has_its_errors(faults: str, capsys: pytest.CaptureFixture[str]):
    Path(faults).write_text(f"{FAULTS}// -----\n{FAULTS}")
    err = refused(capsys, faults, "--split-input-file")
    assert [line.split(" ")[0] for line in err.split("\n") if ": error: " in line] == [
        f"m.mlir:{place}:" for place in ("2:7", "7:1", "10:7", "15:1")
    ]
    assert err.count("\t     ^") == 2


def test_colours_are_for_terminals(
    faults: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    plain = refused(capsys, faults)
    assert "\033" not in plain
    assert refused(capsys, faults, "--color=never") == plain
    coloured = refused(capsys, faults, "--color=always")
    assert "\033[1;31merror:\033[0m" in coloured
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert refused(capsys, faults) == coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert refused(capsys, faults) == plain
    assert refused(capsys, faults, "--color=always") == coloured


def test_json_is_one_object_a_line(faults: str, capsys: pytest.CaptureFixture[str]):
    lines = refused(capsys, faults, "--diagnostics-format=json").splitlines()
    first, second = map(json.loads, lines)
    assert (first["file"], first["line"], first["column"]) == ("m.mlir", 2, 7)
    assert (first["severity"], first["op"]) == ("error", "arith.addi")
    assert second["notes"] == [
        {
            "severity": "note",
            "file": "m.mlir",
            "line": 6,
            "column": 1,
            "message": "previous definition is here",
        }
    ]
    absent = json.loads(refused(capsys, "none.mlir", "--diagnostics-format=json"))
    assert absent == {
        "severity": "error",
        "place": "none.mlir",
        "message": "No such file or directory",
    }


def test_sarif_names_places(faults: str, capsys: pytest.CaptureFixture[str]):
    log = json.loads(refused(capsys, faults, "--diagnostics-format=sarif"))
    first, second = log["runs"][0]["results"]
    assert first["level"] == "error"
    place = first["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 2, "startColumn": 7}
    assert place["artifactLocation"] == {"uri": "m.mlir"}
    assert second["relatedLocations"][0]["message"]["text"] == "previous definition is here"


def test_the_line_of_a_huge_constant_is_cut(faults: str, capsys: pytest.CaptureFixture[str]):
    numbers = ", ".join(["1.5"] * 50_000)
    Path(faults).write_text(
        f"func.func @f() {{ %c = arith.constant dense<[{numbers}]> : tensor<50000xf32> oops }}\n"
    )
    head, source, caret, *_ = refused(capsys, faults).split("\n")
    assert len(source) < 200
    assert source.startswith("...")
    assert source[caret.index("^") :].startswith("oops")
    assert head.startswith("m.mlir:1:2500")


def test_a_pass_error_has_its_line(faults: str, capsys: pytest.CaptureFixture[str]):
    Path(faults).write_text(
        "func.func @f(%a: i32) -> i32 {\n  %c = arith.addi %a, %a : i32\n"
        '  %d = "arith.ceildivui"(%c, %c) : (i32, i32) -> i32\n'
        '  %e = "arith.ceildivui"(%d, %d) : (i32, i32) -> i32\n'
        "  func.return %d : i32\n}\n"
    )
    err = refused(capsys, faults, "--convert-loop-to-llvm").split("\n")
    assert err[0].startswith("m.mlir:3:8: error: arith.ceildivui: ")
    assert err[1:3] == ['  %d = "arith.ceildivui"(%c, %c) : (i32, i32) -> i32', "       ^"]


def test_expectations_of_another_kind_are_refused(faults: str, capsys: pytest.CaptureFixture[str]):
    Path(faults).write_text("// expected-error {oops}\n")
    assert "this expects nothing" in refused(capsys, faults, "--verify-diagnostics")
