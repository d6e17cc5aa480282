"""Bad, big and tricky IR: one clean message, or text that comes out as it went in.

Each case is a complaint that users filed against some MLIR tool; the issue is named beside it.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from nn_opt.driver import main


def function(body: str, signature: str = "%a: i32", result: str = "i32") -> str:
    return f"func.func @f({signature}) -> {result} {{\n{body}\n}}\n"


@dataclass(frozen=True)
class Refused:
    """Text that must be refused at one of the places, with every pattern in the message."""

    issue: str
    text: str
    places: tuple[str, ...]
    patterns: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


REFUSED = {
    "missing comma": Refused(
        "xdsl#425",
        function("  %b = arith.addi %a, %a : i32\n  %c = arith.addi %b %a : i32\n  func.return"),
        ("3:21", "3:22"),
        ("','",),
    ),
    "unknown operation": Refused(
        "SHerLOC#19", function("  %b = arith.frobnicate %a : i32"), ("2:8",), (r"frobnicate",)
    ),
    "unregistered dialect": Refused(
        "xdsl#4691",
        function('  %b = "acme.widget"(%a) : (i32) -> i32\n  func.return %b : i32'),
        ("2:8",),
        ("acme", "--allow-unregistered-dialect"),
    ),
    "use before definition": Refused(
        "llvm-project#128011",
        function(
            "  %c = arith.addi %b, %a : i32\n  %b = arith.addi %a, %a : i32\n  func.return %c : i32"
        ),
        ("2:8",),
        ("before its definition", "3:8"),
    ),
    "operand of another type": Refused(
        "tensorflow/mlir#43",
        function("  %c = arith.addi %a, %x : i32\n  func.return %c : i32", "%a: i32, %x: i64"),
        ("2:23",),
        ("i32", "i64"),
    ),
    "no terminator": Refused(
        "clangir#542", function("  %c = arith.addi %a, %a : i32"), ("2:8",), ("terminator",)
    ),
    "symbol defined twice": Refused(
        "llvm-project#173566",
        function("  func.return %a : i32") * 2,
        ("4:1",),
        ("@f", ":1:1: note: previous definition is here"),
    ),
    "malformed inner block": Refused(
        "llvm-project#128011",
        'func.func @f() {\n  "t.user"(%i) : (index) -> ()\n  "t.region"() ({\n'
        "  ^bb0(%i : index):\n    123\n  }) : () -> ()\n  func.return\n}\n",
        ("5:5",),
        flags=("--allow-unregistered-dialect",),
    ),
    "end of file": Refused(
        "llvm-project#202531", function("  %b = arith.addi %a, %a : i32").rstrip("}\n"), ("2:31",)
    ),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_refused(name: str, newline: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    case = REFUSED[name]
    path = tmp_path / "in.mlir"
    path.write_bytes(case.text.replace("\n", newline).encode())
    assert main([*case.flags, str(path)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert any(err.startswith(f"{path}:{place}: error: ") for place in case.places), err
    assert all(re.search(pattern, err) for pattern in case.patterns), err
    assert "Traceback" not in err


@dataclass(frozen=True)
class Accepted:
    """Text that must come through, with patterns found so many times in the output."""

    issue: str
    text: str
    counts: dict[str, int]
    flags: tuple[str, ...] = ()
    seconds: float = 60.0


def chain(length: int) -> str:
    lines = [f"  %v{k + 1} = arith.addi %v{k}, %v{k} : i32" for k in range(length)]
    return function("\n".join([*lines, f"  func.return %v{length} : i32"]), "%v0: i32")


def nested(depth: int) -> str:
    return function("scf.if %a {\n" * depth + "}\n" * depth + "func.return", "%a: i1", "()")


def hexadecimal(elements: int) -> str:
    digits = "0000803F" * (elements - 1) + "00000040"
    type_ = f"tensor<{elements}xf32>"
    return function(
        f'  %c = arith.constant dense<"0x{digits}"> : {type_}\n  func.return %c : {type_}',
        "",
        type_,
    )


ACCEPTED = {
    "unregistered dialect": Accepted(
        "xdsl#2165",
        function('  %b = "acme.widget"(%a) {k = 1 : i32} : (i32) -> i32\n  func.return %b : i32'),
        {r'"acme\.widget"\(%': 1},
        ("--allow-unregistered-dialect",),
    ),
    "crlf": Accepted(
        "scair#64",
        function("  %b = arith.addi %a, %a : i32\n  func.return %b : i32").replace("\n", "\r\n"),
        {"arith.addi": 1},
    ),
    "300 nested regions": Accepted("xdsl#4713", nested(300), {"scf.if": 300}),
    "chain of 50,000": Accepted("xdsl#937", chain(50_000), {"arith.addi": 50_000}, seconds=20),
    "4 MiB constant": Accepted("iree#15098", hexadecimal(1 << 20), {"dense": 1}, seconds=10),
    "no body": Accepted(
        "llvm-project#107546",
        "func.func private @decl() -> ()\n",
        {"@decl": 1},
        ("--canonicalize", "--cse"),
    ),
    "empty file": Accepted("llvm-project#107546", "", {"builtin.module": 1}),
    "special values": Accepted(
        "xdsl#1840",
        'func.func @f() attributes {note = "tab\\09 quote\\22 größe \\\\"} {\n'
        "  %a = arith.constant 0x7FC00000 : f32\n  %b = arith.constant -0.0 : f32\n"
        "  %c = arith.constant dense<[-1, 2]> : tensor<2xi8>\n"
        "  %d = arith.constant dense<> : tensor<0xf32>\n  %e = arith.constant true\n"
        "  func.return\n}\n",
        {"(?i)0x7FC00000": 1, r"-0\.0": 1, "-1, 2": 1, "true": 1},
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    case = ACCEPTED[name]
    path = tmp_path / "in.mlir"
    path.write_bytes(case.text.encode())
    start = time.process_time()
    assert main([*case.flags, str(path)]) == 0
    assert time.process_time() - start < case.seconds  # twice what it takes here, alone
    text = capsys.readouterr().out
    found = {pattern: len(re.findall(pattern, text)) for pattern in case.counts}
    assert found == case.counts


@pytest.mark.parametrize("name", [name for name in ACCEPTED if "50,000" not in name])
def test_what_comes_out_goes_in(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    case = ACCEPTED[name]
    path = tmp_path / "in.mlir"
    path.write_bytes(case.text.encode())
    assert main([*case.flags, str(path)]) == 0
    first = capsys.readouterr().out
    path.write_text(first)
    assert main([*case.flags, str(path)]) == 0
    assert capsys.readouterr().out == first
