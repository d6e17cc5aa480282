"""xDSL's own passes, dialects and files in nn-opt: what xDSL does with them, we do."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Dialect, Operation
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects.gpu import OURS
from nn_opt.driver import main
from nn_opt.ir.parsing import DIALECTS, make_context, more_dialects, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.ir.verify import verify
from nn_opt.pass_specs import field_types, make_pass, spec_of
from nn_opt.registry import PASSES, is_pass, load_pass, names_like
from nn_opt.xdsl_passes import PREFIX, names

PROGRAM = """
func.func @f(%a: i32, %b: i32, %m: memref<4xf32>) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %z = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %k = arith.muli %a, %one : i32
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %z) -> (i32) {
    %x = arith.addi %k, %b : i32
    %y = arith.addi %k, %b : i32
    %q = arith.muli %x, %y : i32
    %w = arith.addi %q, %s : i32
    scf.yield %w : i32
  }
  affine.for %j = 0 to 4 {
    %v = affine.apply affine_map<(d0) -> (d0 + 1)> (%j)
    affine.yield
  }
  func.return %r : i32
}
"""
LINALG = """
func.func @g(%a: memref<4x8xf32>, %b: memref<4x8xf32>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%a : memref<4x8xf32>) outs(%b : memref<4x8xf32>) {
  ^body(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    linalg.yield %z : f32
  }
  func.return
}
"""
TENSOR = """
func.func @t(%i: index) -> f32 {
  %e = tensor.empty() : tensor<4xf32>
  %v = tensor.extract %e[%i] : tensor<4xf32>
  func.return %v : f32
}
"""
RUNS = {
    "canonicalize": PROGRAM,
    "cse": PROGRAM,
    "dce": PROGRAM,
    "licm": PROGRAM,
    "convert-scf-to-cf": PROGRAM,
    "scf-for-loop-unroll": PROGRAM,
    "lower-affine": PROGRAM,
    "convert-memref-to-ptr": PROGRAM,
    "arith-add-fastmath": PROGRAM,
    "convert-arith-to-riscv": PROGRAM,
    "convert-linalg-to-loops": LINALG,
    "empty-tensor-to-alloc-tensor": TENSOR,
}


def xdsl_context() -> Context:
    ctx = Context()
    for name, factory in get_all_dialects().items():
        ctx.register_dialect(name, factory)
    return ctx


@pytest.mark.parametrize(("name", "text"), RUNS.items(), ids=RUNS.keys())
def test_a_pass_does_what_it_does_in_xdsl(name: str, text: str):
    theirs = Parser(ctx := xdsl_context(), text).parse_module()
    get_all_passes()[name]()().apply(ctx, theirs)
    ours = parse_module(ctx := make_context(), text, "in.mlir")
    make_pass(PREFIX + name).apply(ctx, ours)
    assert print_module(ours) == print_module(theirs)
    verify(ours)


@pytest.mark.parametrize("name", ["convert-scf-to-cf", "scf-for-loop-unroll", "lower-affine"])
def test_what_a_pass_makes_has_a_location(name: str):
    module = parse_module(ctx := make_context(), PROGRAM, "in.mlir")
    make_pass(PREFIX + name).apply(ctx, module)
    unknown = [op.name for op in module.walk() if isinstance(op.location, UnknownLoc)]
    assert unknown == []


def test_each_pass_has_a_name_a_text_and_options_that_can_be_given():
    for name in names():
        cls = load_pass(name)
        assert issubclass(cls, ModulePass)
        assert cls.name == name
        assert cls.__doc__
        assert "(self" not in cls.__doc__
        given = {option: sample(type_) for option, type_ in field_types(cls).items()}
        step = make_pass(name, " ".join(f'{option}="{text}"' for option, text in given.items()))
        again = spec_of(step).removeprefix(name).strip("{}")
        assert make_pass(name, again) == step


def sample(type_: Any) -> str:
    """Return a text that an option of a type takes."""
    text = str(type_)
    if "Literal" in text:
        return text.partition("'")[2].partition("'")[0]
    return "true" if "bool" in text else "7" if "int" in text else "text"


def test_names_are_offered_where_they_may_be_meant():
    assert is_pass("xdsl-cse")
    assert not is_pass("xdsl-nothing")
    assert "xdsl-licm" in names_like("--xdsl-lim")
    assert names_like("licm") == list(PASSES)


MISUSES = {
    "--xdsl-lim": "hint: did you mean --xdsl-licm?",
    "--xdsl-licm=fast=1": "error: --xdsl-licm has no option 'fast'",
    "--xdsl-arith-add-fastmath=flags=quick": "error: --xdsl-arith-add-fastmath: ",
    "--xdsl-scf-parallel-loop-tiling": "needs the option 'parallel-loop-tile-sizes'",
    "--xdsl-apply-pdl=pdl-file=none.pdl": "error: --xdsl-apply-pdl: xDSL's pass stopped with",
    "--show-dialects=linalgo": "did you mean linalg?",
}


@pytest.mark.parametrize(("flag", "message"), MISUSES.items(), ids=MISUSES.keys())
def test_a_misuse_is_one_message(
    flag: str, message: str, tmp_path: Any, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "in.mlir").write_text(PROGRAM)
    assert main([flag, str(tmp_path / "in.mlir")]) == 1
    out, err = capsys.readouterr()
    assert message in err
    assert out == ""
    assert "Traceback" not in err


def test_a_message_without_a_place_gets_the_pass():
    module = parse_module(ctx := make_context(), "", "in.mlir")
    step = make_pass("xdsl-mlir-opt", "executable=no-such-tool")
    message = "error: --xdsl-mlir-opt: xDSL's pass stopped with ValueError: no-such-tool is not"
    with pytest.raises(PassFailedException, match=message):
        step.apply(ctx, module)


def test_lists_hold_passes_and_dialects_of_xdsl(capsys: pytest.CaptureFixture[str]):
    assert main(["--list-passes"]) == 0
    assert "passes of xDSL\n  --xdsl-apply-" in capsys.readouterr().out
    assert main(["--show-dialects"]) == 0
    ours, _, theirs = capsys.readouterr().out.partition("\ndialects of xDSL\n")
    assert "graph" in ours.split()
    assert "linalg" in theirs.split()
    assert not set(ours.split()) & set(theirs.split())
    assert main(["--show-dialects=linalg"]) == 0
    assert "linalg.generic" in capsys.readouterr().out
    assert main(["--pass-help=xdsl-licm"]) == 0
    assert "xdsl.transforms.loop_invariant_code_motion" in capsys.readouterr().out


# Whose definitions ours replace; xDSL's passes make the first, and match none of them.
REPLACED = {"llvm.getelementptr", "llvm.fcmp", "llvm.select"}


def test_dialects_of_one_name_hold_all_that_xdsls_hold():
    theirs = get_all_dialects()
    ctx = make_context()
    different: set[str] = set()
    for name in DIALECTS.keys() & theirs.keys():
        ours: Dialect = ctx.get_dialect(name)
        known: dict[str, type[Operation]] = {op.name: op for op in ours.operations}
        different |= {op.name for op in theirs[name]().operations if known.get(op.name) is not op}
        attributes = {attribute.name for attribute in theirs[name]().attributes}
        assert attributes <= {attribute.name for attribute in ours.attributes}
    assert {name for name in different if not name.startswith("gpu.")} == REPLACED
    assert {name for name in different if name.startswith("gpu.")} <= {op.name for op in OURS}


def test_all_of_xdsls_dialects_are_known_and_load():
    ctx = make_context()
    assert more_dialects().keys() | DIALECTS.keys() | {"builtin"} >= get_all_dialects().keys()
    for name in more_dialects():
        ctx.load_registered_dialect(name)


def test_values_of_graph_regions_have_no_order():
    cyclic = '%a = "test.op"(%b) : (i32) -> i32\n%b = "test.op"(%a) : (i32) -> i32'
    verify(parse_module(make_context(), cyclic, "in.mlir"))
    verify(
        parse_module(
            make_context(),
            f'"test.op"() ({{\n{cyclic}\n"test.termop"() : () -> ()\n}}) : () -> ()',
            "in.mlir",
        )
    )
    classes = """
      func.func @f(%x: i32) {
        %a = equivalence.class %x, %b : i32
        %b = arith.addi %a, %a : i32
        func.return
      }"""
    verify(parse_module(make_context(), classes, "in.mlir"))
