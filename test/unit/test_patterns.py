"""Functions become patterns, patterns become passes, and mistakes say what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pytest
from registered import kept
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

import nn_opt
from nn_opt import Pipeline, passes, registry
from nn_opt.dialects import graph
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.pattern_passes import PatternPass

RELUS = """func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = graph.relu %x : tensor<2xf32>
  %b = graph.relu %a : tensor<2xf32>
  %c = graph.neg %b : tensor<2xf32>
  %d = graph.neg %c : tensor<2xf32>
  func.return %d : tensor<2xf32>
}
"""


@pytest.fixture(autouse=True)
def tables() -> Iterator[None]:
    with kept():
        yield


def relu_of_relu(op: graph.ReluOp, rewriter: PatternRewriter) -> None:
    """relu(relu(x))  ->  relu(x)"""
    if isinstance(op.x.owner, graph.ReluOp):
        rewriter.replace(op, [], [op.x])


class NegOfNeg(RewritePattern):
    """neg(neg(x))  ->  x"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.NegOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(op.x.owner, graph.NegOp):
            rewriter.replace(op, [], [op.x.owner.x])


def names(text: str, *steps: str | type[ModulePass] | ModulePass) -> list[str]:
    """Return the operations that are left in @f."""
    result = Pipeline(*steps).run(nn_opt.parse(text))
    return [op.name for op in result.walk()][2:-1]


def test_an_annotation_says_what_is_matched():
    found = nn_opt.pattern(relu_of_relu)
    assert found.roots == (graph.ReluOp,)
    assert found.name == "relu_of_relu"
    assert repr(found) == "<pattern relu_of_relu>"


def test_a_union_matches_each():
    seen: list[str] = []

    @nn_opt.rewrite("look")
    def look(op: graph.ReluOp | graph.NegOp, rewriter: PatternRewriter) -> None:
        seen.append(op.name)

    Pipeline(look).run(nn_opt.parse(RELUS))
    assert seen == ["graph.relu", "graph.relu", "graph.neg", "graph.neg"]


def test_operation_matches_all():
    @nn_opt.rewrite("look-at-all", erase_dead=False)
    def look(op: Operation, rewriter: PatternRewriter) -> None:
        seen.append(op.name)

    seen: list[str] = []
    Pipeline(look).run(nn_opt.parse(RELUS))
    assert seen[0] == "func.func"
    assert len(seen) == 6


def test_annotations_may_be_objects():
    def match(op: object, rewriter: object) -> None: ...

    match.__annotations__["op"] = arith.AddfOp | arith.MulfOp
    assert nn_opt.pattern(match).roots == (arith.AddfOp, arith.MulfOp)


def test_a_pass_is_a_flag_with_a_documentation():
    cls = nn_opt.rewrite("no-double-relu")(relu_of_relu)
    assert issubclass(cls, PatternPass)
    assert cls.__name__ == "NoDoubleReluPass"
    assert cls.__doc__ == "relu(relu(x))  ->  relu(x)"
    assert cls.__module__ == __name__
    assert names(RELUS, "no-double-relu") == names(RELUS, cls) == names(RELUS, cls())
    assert names(RELUS, passes.NoDoubleRelu()) == ["graph.relu", "graph.neg", "graph.neg"]
    assert names(RELUS, "func.func(no-double-relu)") == ["graph.relu", "graph.neg", "graph.neg"]
    assert registry.SOURCES["no-double-relu"].endswith("test_patterns.py")


def test_several_patterns_of_any_kind_make_one_pass():
    cls = nn_opt.rewrite("tidy", [relu_of_relu, NegOfNeg, nn_opt.pattern(relu_of_relu)])
    assert names(RELUS, cls) == ["graph.relu"]
    assert cls.__doc__ == (
        "relu(relu(x))  ->  relu(x)\nneg(neg(x))  ->  x\nrelu(relu(x))  ->  relu(x)"
    )
    assert nn_opt.rewrite("tidy-2", [NegOfNeg()], doc="Tidy up.").__doc__ == "Tidy up."


def test_once_is_one_sweep():
    counts: list[int] = []

    @nn_opt.rewrite("grow", once=True)
    def grow(op: graph.ReluOp, rewriter: PatternRewriter) -> None:
        counts.append(1)
        rewriter.replace(op, graph.ReluOp(op.x))

    Pipeline(grow).run(nn_opt.parse(RELUS))
    assert len(counts) == 2


def test_defaults_become_typed_options():
    given: list[object] = []

    @nn_opt.rewrite("with-options")
    def look(
        op: graph.ReluOp,
        rewriter: PatternRewriter,
        limit: int = 4,
        ratio: float | None = None,
        kind: Literal["a", "b"] = "a",
        sizes: tuple[int, ...] = (),
        untyped=True,  # pyright: ignore[reportMissingParameterType]
    ) -> None:
        given.append((limit, ratio, kind, sizes, untyped))

    text = "with-options{limit=2 ratio=0.5 kind=b sizes=1,2 untyped=false}"
    Pipeline(text).run(nn_opt.parse(RELUS))
    assert given[0] == (2, 0.5, "b", (1, 2), False)
    assert str(Pipeline(text)) == f"builtin.module({text})"
    Pipeline(passes.WithOptions(ratio=2, sizes=[3])).run(nn_opt.parse(RELUS))
    assert given[-1] == (4, 2.0, "a", (3,), True)
    assert look(sizes=[3, 4]) == look(sizes=(3, 4))
    with pytest.raises(TypeError, match="WithOptionsPass: limit is 'x', expected an integer"):
        look(limit="x")
    for wrong in ({"limit": "x"}, {"kind": "c"}, {"sizes": 3}, {"limt": 3}, {"untyped": 1}):
        with pytest.raises(TypeError, match="WithOptions"):
            passes.WithOptions(**wrong)


def test_options_of_a_pattern_can_be_given():
    given: list[int] = []

    @nn_opt.pattern
    def look(op: graph.ReluOp, rewriter: PatternRewriter, limit: int = 4) -> None:
        given.append(limit)

    cls = nn_opt.rewrite("look-twice", [look.with_options(limit=1), look])
    assert repr(look.with_options(limit=1)) == "<pattern look, limit=1>"
    Pipeline(cls(limit=2)).run(nn_opt.parse(RELUS))
    assert given == [1, 2, 1, 2]
    with pytest.raises(TypeError, match="the pattern look has no option 'limt'"):
        look.with_options(limt=1)
    with pytest.raises(TypeError, match="look: limit is 'x', expected an integer"):
        look.with_options(limit="x")


def no_rewriter(op: graph.ReluOp) -> None: ...
def no_annotation(op, rewriter) -> None: ...  # pyright: ignore
def no_op(op: int, rewriter: PatternRewriter) -> None: ...
def unknown(op: graph.NoSuchOp, rewriter: PatternRewriter) -> None: ...  # pyright: ignore
def unseen(op: nowhere.Op, rewriter: PatternRewriter) -> None: ...  # pyright: ignore  # noqa: F821
def no_default(op: graph.ReluOp, rewriter: PatternRewriter, limit: int) -> None: ...
def any_option(op: graph.ReluOp, rewriter: PatternRewriter, **options: int) -> None: ...
def odd_option(op: graph.ReluOp, rewriter: PatternRewriter, x: list[int] | None = None): ...


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (no_rewriter, "no_rewriter has to take an op and a rewriter first"),
        (no_annotation, "no_annotation: annotate 'op' by the op to match, or a union"),
        (no_op, "no_op: 'op' is annotated by <class 'int'>, which is no op class"),
        (unknown, "unknown: annotation 'graph.NoSuchOp' of 'op'"),
        (unseen, "unseen: annotation 'nowhere.Op' of 'op': name 'nowhere' is not defined"),
        (no_default, "no_default: option 'limit' needs a default"),
        (any_option, "any_option: options have names, so there is no *"),
        (
            odd_option,
            "odd_option: option 'x' is of type list[int] | None, expected int, float, bool, ",
        ),
    ],
)
def test_a_function_that_is_no_pattern_says_why(function: object, problem: str):
    with pytest.raises(TypeError) as caught:
        nn_opt.pattern(function)  # pyright: ignore[reportArgumentType]
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("cse", "there is a pass --cse already, of nn-opt"),
        ("compile", "there is a pipeline --compile already, of nn-opt"),
        ("No Double", "'No Double' is no name of a pass"),
        ("no_double", "small letters and digits"),
        ("", "'' is no name"),
    ],
)
def test_a_name_that_cannot_be_is_refused(name: str, problem: str):
    with pytest.raises(DiagnosticError) as caught:
        nn_opt.rewrite(name)(relu_of_relu)
    assert problem in str(caught.value)


def test_a_definition_that_is_run_again_replaces_its_first():
    first = nn_opt.rewrite("again")(relu_of_relu)
    second = nn_opt.rewrite("again")(relu_of_relu)
    assert registry.load_pass("again") is second is not first


def test_somebody_elses_pass_is_not_replaced():
    nn_opt.rewrite("mine")(relu_of_relu)

    class MinePass(ModulePass):
        name = "mine"

        def apply(self, ctx: Context, op: ModuleOp) -> None: ...

    with pytest.raises(DiagnosticError, match=r"there is a pass --mine already, of .*patterns\.py"):
        nn_opt.register_pass(MinePass)
    with pytest.raises(TypeError, match="derived from ModulePass"):
        nn_opt.register_pass(int)  # pyright: ignore[reportArgumentType]


def test_patterns_that_disagree_about_an_option_are_refused():
    @nn_opt.pattern
    def one(op: graph.ReluOp, rewriter: PatternRewriter, limit: int = 4) -> None: ...
    @nn_opt.pattern
    def two(op: graph.ReluOp, rewriter: PatternRewriter, limit: int = 5) -> None: ...

    with pytest.raises(TypeError, match="--both: two patterns have an option 'limit'"):
        nn_opt.rewrite("both", [one, two])


def test_what_is_no_pattern_is_refused():
    with pytest.raises(TypeError) as caught:
        nn_opt.rewrite(relu_of_relu)  # pyright: ignore[reportArgumentType, reportCallIssue]
    assert str(caught.value) == 'a rewrite has a flag: @nn_opt.rewrite("no-double-relu")'
    with pytest.raises(TypeError, match="a pattern is a function or a RewritePattern"):
        nn_opt.rewrite("integers", [int])


def test_a_pipeline_is_a_flag():
    made = nn_opt.register_pipeline("tidy", "cse", passes.FuseOps(max_depth=4), "lower-to-loops")
    assert Pipeline("tidy") == made == passes.Tidy()
    assert repr(Pipeline("tidy")) == "Pipeline('tidy')"
    assert Pipeline("tidy{max-depth=5}").passes[1] == passes.FuseOps(5)
    assert passes.Tidy(max_depth=5, apply_now=True).passes[1] == passes.FuseOps(5)
    assert Pipeline(str(made)) == made
    assert nn_opt.register_pipeline("tidy", "dce") == Pipeline("tidy")  # it was run again
    assert str(Pipeline("tidy").on_functions()) == "builtin.module(func.func(dce))"
    with pytest.raises(TypeError, match="no pass of Tidy has an option 'x'"):
        passes.Tidy(x=3)


def test_a_pipeline_keeps_quotes():
    made = nn_opt.register_pipeline("rules", passes.ApplyPdl(file='a "b".pdl'))
    assert Pipeline("rules{max-rewrites=3}").passes == (passes.ApplyPdl('a "b".pdl', 3),)
    assert Pipeline("rules") == made


class LostPass(ModulePass):
    """No flag."""

    name = "lost"

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@pytest.mark.parametrize(
    ("name", "step", "problem"),
    [
        ("cse", "dce", "there is a pass --cse already, of nn-opt"),
        ("compile", "dce", "there is a pipeline --compile already, of nn-opt"),
        ("Tidy", "dce", "'Tidy' is no name of a pass"),
        ("tidy", "func.func(cse)", "--tidy: a flag has no func.func(...)\n  hint: leave"),
        ("tidy", LostPass, "--tidy: 'lost' is no flag"),
    ],
)
def test_what_cannot_be_a_pipeline_is_refused(
    name: str, step: str | type[ModulePass], problem: str
):
    with pytest.raises(DiagnosticError) as caught:
        nn_opt.register_pipeline(name, step)
    assert problem in str(caught.value)


def test_a_pass_does_not_take_the_name_of_a_pipeline():
    nn_opt.register_pipeline("tidy", "dce")
    with pytest.raises(DiagnosticError, match=r"a pipeline --tidy already, of .*patterns\.py"):
        nn_opt.rewrite("tidy")(relu_of_relu)


def test_patterns_are_counted():
    counts = nn_opt.Statistics()
    cls = nn_opt.rewrite("no-double", [relu_of_relu, NegOfNeg])
    Pipeline(cls).run(nn_opt.parse(RELUS), [counts])
    assert counts.of("no-double") == {"patterns-applied": 2}
