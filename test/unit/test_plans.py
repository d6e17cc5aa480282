"""The text of pipelines becomes a plan, or a message with a caret; a plan becomes text again."""

from __future__ import annotations

from pathlib import Path

import pytest

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.pass_specs import make_pass, spec_of
from nn_opt.pipeline_text import Call, Nest, parse_text, read_text
from nn_opt.pipelines import COMPILE, PIPELINES, expand, run_passes
from nn_opt.plans import OnFunctions, make_plan, parse_pipeline, print_plan, steps_of
from nn_opt.registry import FUNCTION_PASSES, PASSES

MODEL = """
func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = graph.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = graph.relu %0 : tensor<8x8xf32>
  %2 = graph.softmax %1 axis 1 : tensor<8x8xf32>
  %3 = graph.matmul %2, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = graph.tanh %3 : tensor<8x8xf32>
  func.return %4 : tensor<8x8xf32>
}
"""


def shape(text: str) -> list[object]:
    """Return the names and options that a text holds, nested as it is."""

    def entry(item: Call | Nest) -> object:
        if isinstance(item, Call):
            return (item.name, item.options)
        return (item.anchor, [entry(inner) for inner in item.entries])

    return [entry(item) for item in parse_text(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("builtin.module()", []),
        ("a,b", [("a", ""), ("b", "")]),
        ("builtin.module(a, b{x=1 y=2,3})", [("a", ""), ("b", "x=1 y=2,3")]),
        ("func.func(a),b_c", [("func.func", [("a", "")]), ("b-c", "")]),
        ("builtin.module( func.func( a ,b ) )", [("func.func", [("a", ""), ("b", "")])]),
        ("a, # one\n// two, b\n c", [("a", ""), ("c", "")]),
        ('a{x="},{#"}', [("a", 'x="},{#"')]),
    ],
)
def test_text_is_read(text: str, expected: list[object]):
    assert shape(text) == expected


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("func.func(cse", "1:14", "expected ',' or ')', got the end"),
        ("cse,,dce", "1:5", "expected a pass or pipeline, got ','"),
        ("cse dce", "1:5", "expected ',' or the end, got 'dce'"),
        ("cse{x=1", "1:4", "no '}'"),
        ("cse,\n  func.fun(dce)", "2:3", "did you mean func.func?"),
        ("builtin.module(cse", "1:19", "got the end"),
        ("cse)", "1:4", "got ')'"),
        ("func.func(func.func(cse))", "1:11", "no 'func.func' is in a 'func.func'"),
        ("builtin.module(builtin.module(cse))", "1:16", "is in a 'builtin.module'"),
        ("dce,csee", "1:5", "did you mean cse?"),
        ("dce,fuse-ops{max-dept=3}", "1:5", "did you mean max-depth?"),
        ("func.func(cse, outline-kernels)", "1:16", "needs the whole module"),
        ("func.func(compile)", "1:11", "--outline-kernels needs the whole module"),
    ],
)
def test_broken_text_is_a_message_with_a_caret(text: str, place: str, problem: str):
    with pytest.raises(DiagnosticError) as caught:
        parse_pipeline(text)
    head, _, caret, *_ = str(caught.value).split("\n")
    assert head.startswith(f"--pass-pipeline:{place}: error: ")
    assert caret.index("^") == int(place.split(":")[1]) + 1
    assert problem in str(caught.value)


def test_a_file_may_have_comments(tmp_path: Path):
    path = tmp_path / "pipeline.txt"
    path.write_text("# first\ncanonicalize,\ncse // last\n")
    assert [entry.name for entry in read_text(str(path)) if isinstance(entry, Call)] == [
        "canonicalize",
        "cse",
    ]
    path.write_text("canonicalize,\nczze!\n")
    with pytest.raises(DiagnosticError, match=r"pipeline.txt:2:5: error: expected ','"):
        read_text(str(path))


NEEDY = {"apply-pdl": "apply-pdl{file=rules.pdl}"}  # what cannot do without an option
TEXTS = [*(NEEDY.get(name, name) for name in PASSES), *PIPELINES]


@pytest.mark.parametrize("text", [*TEXTS, "cse,func.func(cse,dce),func.func(dce)"])
def test_a_plan_is_read_back_the_same(text: str):
    plan = make_plan(parse_text(text))
    again = make_plan(parse_text(print_plan(plan)))
    assert list(steps_of(again)) == list(steps_of(plan))
    assert print_plan(again) == print_plan(plan)


def test_options_are_written_as_they_are_read():
    step = make_pass("fuse-ops", "max-depth=3")
    assert spec_of(step) == "fuse-ops{max-depth=3}"
    assert spec_of(make_pass("cse")) == "cse"


def test_what_runs_on_functions_does_the_same_there():
    """Up to where every kernel is a function of its own, and from there to the plan of memory."""
    context = make_context()
    whole, single = (parse_module(context, MODEL, "model.mlir") for _ in range(2))
    for step in expand(COMPILE):
        nested = OnFunctions(step) if step.name in FUNCTION_PASSES else step
        run_passes(context, whole, [step])
        run_passes(context, single, [nested])
        assert print_module(single) == print_module(whole), step.name
