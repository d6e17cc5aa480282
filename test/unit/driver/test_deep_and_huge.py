"""Deep and huge input works, or is refused by one line: no recursion error, no quadratic time.

What is quadratic takes minutes at these sizes; all of this takes half a minute.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from xdsl.dialects.builtin import ModuleOp

from nn_opt.driver import main
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.ir.verify import verify
from nn_opt.pass_specs import make_pass

Refused: TypeAlias = Callable[[str], list[str]]
DEPTH = 10_000
MANY = 100_000


def parse(text: str) -> ModuleOp:
    module = parse_module(make_context(allow_unregistered=True), text, "m.mlir")
    verify(module)
    return module


def nested(opening: str, inside: str, closing: str, depth: int = DEPTH) -> str:
    parameters = "%c: i1, %k: index, %m: memref<f32>, %v: f32"
    body = f"{opening * depth}{inside}{closing * depth}"
    return f"func.func @f({parameters}) {{\n{body}func.return\n}}\n"


STORE = "memref.store %v, %m[] : memref<f32>\n"
NESTS = {
    "branches": nested("scf.if %c {\n", STORE, "}\n"),
    "generic": nested('"t.op"() ({\n', '"t.end"() : () -> ()\n', "}) : () -> ()\n"),
    "modules": "builtin.module {\n" * DEPTH + "}\n" * DEPTH,
}


@pytest.mark.parametrize("kind", NESTS)
def test_nested_regions(kind: str):
    module = parse(NESTS[kind])
    count = sum(1 for _ in module.walk())
    assert count >= DEPTH
    assert len(print_module(module)) < 1000 * DEPTH  # indentation ends somewhere
    assert print_module(module, generic=True).count("\n") >= 2 * DEPTH
    copy = module.clone()
    assert sum(1 for _ in copy.walk(reverse=True, region_first=True)) == count
    assert sum(1 for _ in copy.walk_blocks()) >= DEPTH
    copy.erase()
    assert sum(1 for _ in module.walk()) == count


def test_passes_in_nested_regions():
    module = parse(NESTS["branches"])
    for name in ("canonicalize", "cse", "dce", "infer-shapes", "fold-constants", "outline-kernels"):
        make_pass(name, "").apply(make_context(), module)
    assert sum(op.name == "scf.if" for op in module.walk()) == DEPTH
    printed = print_module(module)
    assert print_module(parse(printed)) == printed


def test_dead_nested_regions_go():
    module = parse(nested("scf.if %c {\n", "", "}\n"))
    make_pass("canonicalize", "").apply(make_context(), module)
    assert [op.name for op in module.walk()] == ["builtin.module", "func.func", "func.return"]


def test_passes_on_a_chain():
    steps = "".join(f"  %v{k + 1} = arith.addf %v{k}, %v0 : f32\n" for k in range(MANY))
    module = parse(f"func.func @f(%v0: f32) -> f32 {{\n{steps}  func.return %v{MANY} : f32\n}}\n")
    for name in ("cse", "dce", "canonicalize"):
        make_pass(name, "").apply(make_context(), module)
    assert sum(1 for _ in module.clone().walk()) == MANY + 3
    assert print_module(module).count("arith.addf") == MANY


def test_wide_ops_and_blocks():
    names = ", ".join(f"%a{k}" for k in range(MANY))
    types = ", ".join(["i32"] * MANY)
    parameters = ", ".join(f"%a{k}: i32" for k in range(MANY))
    body = f'%r:{MANY} = "t.op"({names}) : ({types}) -> ({types})\n'
    module = parse(
        f"func.func @f() {{\n  func.return\n^bb1({parameters}):\n{body}func.return\n}}\n"
    )
    (op,) = (op for op in module.walk() if len(op.operands) == MANY)
    assert len(op.results) == MANY
    assert sum(len(block.args) for block in module.clone().walk_blocks()) == MANY


def test_many_blocks():
    count = 20_000
    blocks = "".join(f"^b{k}:\n  cf.cond_br %c, ^b{k + 1}, ^b{count}\n" for k in range(count))
    module = parse(f"func.func @f(%c: i1) {{\n  cf.br ^b0\n{blocks}^b{count}:\n  func.return\n}}\n")
    make_pass("cse", "").apply(make_context(), module)
    assert sum(1 for _ in module.walk_blocks()) == count + 3


def test_regions_beside_each_other():
    """Each region forgets its names without a copy of those around it."""
    count = 10_000
    body = "".join(
        f"%v{k + 1} = arith.addi %v{k}, %v{k} : i32\n"
        f"scf.if %c {{\n  %x = arith.addi %v{k + 1}, %v{k} : i32\n}}\n"
        for k in range(count)
    )
    module = parse(f"func.func @f(%c: i1, %v0: i32) {{\n{body}func.return\n}}\n")
    assert sum(op.name == "arith.addi" for op in module.walk()) == 2 * count
    with pytest.raises(DiagnosticError, match=r"%x.* has no definition that is visible here"):
        parse(
            "func.func @f(%c: i1) {\nscf.if %c {\n%x = arith.constant 1 : i32\n}\n"
            '"t.u"(%x) : (i32) -> ()\n}\n'
        )


ATTRIBUTES = {
    "array": ("a = " + "[" * MANY, "]" * MANY),
    "dictionary": ("a = " + "{k = " * MANY, "}" * MANY),
    "type": ("a = " + "tuple<" * MANY, ">" * MANY),
    "function": ("a = " + "() -> (" * MANY, ")" * MANY),
    "open": ("a = " + "(" * MANY, ""),
}
LOCATIONS = {"fused": ("fused[", "]"), "callsite": ('callsite("a" at ', ")"), "name": ('"a"(', ")")}


@pytest.fixture
def refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Refused:
    monkeypatch.chdir(tmp_path)

    def run(text: str) -> list[str]:
        Path("m.mlir").write_text(text)
        assert main(["m.mlir"]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        return err.rstrip("\n").split("\n")

    return run


@pytest.mark.parametrize("kind", ATTRIBUTES)
def test_nested_attributes_are_refused(kind: str, refused: Refused):
    opening, closing = ATTRIBUTES[kind]
    head, source, caret = refused(f"func.func private @f() attributes {{{opening}{closing}}}\n")
    assert head.startswith("m.mlir:1:")
    assert head.endswith(" error: types, attributes or locations are nested too deeply")
    assert len(source) < 200
    assert len(caret) < 200


@pytest.mark.parametrize("kind", LOCATIONS)
def test_nested_locations_are_refused(kind: str, refused: Refused):
    opening, closing = LOCATIONS[kind]
    text = f"func.func private @f() loc({opening * MANY}unknown{closing * MANY})\n"
    assert refused(text)[0].endswith("nested too deeply")


@pytest.mark.parametrize(
    ("opening", "inside", "closing"),
    [("[", "", "]"), ("{k = ", "unit", "}"), ("tuple<", "", ">"), ("() -> (", "", ")")],
)
def test_what_is_read_is_printed(opening: str, inside: str, closing: str):
    text = f"{opening * 200}{inside}{closing * 200}"
    module = parse(f"func.func private @f() attributes {{a = {text}}}\n")
    printed = print_module(module)
    assert print_module(parse(printed)) == printed
    assert module.clone().is_structurally_equivalent(module)


@pytest.mark.parametrize("kind", LOCATIONS)
@pytest.mark.parametrize("depth", [200, 1500, 3500])
def test_locations_are_printed_or_refused(
    kind: str, depth: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    opening, closing = LOCATIONS[kind]
    path = tmp_path / "m.mlir"
    path.write_text(f"func.func private @f() loc({opening * depth}unknown{closing * depth})\n")
    if main([str(path), "--cse", "--print-locations"]) == 0:
        assert "func.func private @f() -> ()" in capsys.readouterr().out
    else:
        assert "nested too deeply" in capsys.readouterr().err.split("\n")[0]


def test_large_texts():
    size = 5_000_000
    comment = parse("//" + "x" * size + "\nfunc.func private @f()\n")
    assert len(list(comment.walk())) == 2
    string = parse(f'func.func private @f() attributes {{a = "{"x" * size}"}}\n')
    assert len(print_module(string)) > size
    count = size // 5
    floats = ", ".join(["1.5"] * count)
    for literal in (f"[{floats}]", '"0x' + "0000C03F" * count + '"'):
        module = parse(
            f"func.func @f() -> tensor<{count}xf32> {{\n"
            f"  %c = arith.constant dense<{literal}> : tensor<{count}xf32>\n"
            f"  func.return %c : tensor<{count}xf32>\n}}\n"
        )
        assert "dense<1.500000e+00>" in print_module(module)


def test_a_string_without_end(refused: Refused):
    head, source, caret = refused('func.func private @f() attributes {a = "' + "x" * 5_000_000)
    assert head.endswith("error: End of file reached before closing string literal.")
    assert len(source) < 200
    assert caret.index("^") < 200


def test_many_functions():
    body = "  %b = arith.addi %a, %a : i32\n  func.return %b : i32\n"
    text = "".join(f"func.func @f{k}(%a: i32) -> i32 {{\n{body}}}\n" for k in range(5000))
    module = parse(text)
    assert len(list(module.walk())) == 15_001
    assert print_module(module).count("func.func") == 5000


def test_many_errors(refused: Refused):
    lines = refused("func.func private @f()\n" * 3000)
    assert lines[-1] == "  note: 2979 more errors"
