"""Options of passes are printed as text that is read back, whatever is in them."""

from dataclasses import dataclass
from typing import Any, Literal

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.option_text import split_pairs
from nn_opt.pass_specs import make_pass, spec_of
from nn_opt.pattern_passes import register_pass
from nn_opt.pipeline import Pipeline
from nn_opt.registry import PASSES, SOURCES


@dataclass(frozen=True)
class Options(ModulePass):
    """Has an option of each type."""

    name = "option-text-test"

    text: str = "a"
    maybe: str | None = None
    numbers: tuple[int, ...] = ()
    words: tuple[str, ...] = ()
    rate: float = 0.5
    kind: Literal["p", "none"] = "p"
    flag: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        assert ctx, op


@pytest.fixture(autouse=True)
def registered():
    register_pass(Options)
    yield
    del PASSES[Options.name], SOURCES[Options.name]


TEXTS = [
    *(
        "",
        " ",
        "a b",
        " a",
        "a ",
        "a,b",
        "a=b",
        "none",
        ",",
        "1,2",
        "a\tb",
        "a\nb",
        "é λ",
        "// # (",
    ),
    *("{", "}", "a}b", "{a}", "{a b}", "func.func(cse{x=1})"),
    *('"', "'", "a'b", "a\"b'c", '"a"', "'a'", "\\", "a\\", "\\n", "C:\\new"),
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_read_back(text: str):
    for step in (
        Options(text=text),
        Options(maybe=text),
        Options(words=(text,)),
        Options(words=(text, "b", text)),
        Options(words=("b", text), flag=True),
    ):
        assert list(Pipeline(str(Pipeline(step)))) == [step]
        options = spec_of(step).removeprefix(step.name)
        assert make_pass(step.name, options[1:-1]) == step
        assert "\n" not in options


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("numbers=1,2", {"numbers": (1, 2)}),
        ("numbers={1,2}", {"numbers": (1, 2)}),  # as mlir-opt prints lists
        ('numbers="1,2"', {"numbers": (1, 2)}),
        ("numbers={}", {"numbers": ()}),
        ("{numbers={1,2} flag}", {"numbers": (1, 2), "flag": True}),
        ('words="a b",c', {"words": ("a b", "c")}),
        ('words="a b,c"', {"words": ("a b", "c")}),
        ("words={a b, c}", {"words": ("a b", "c")}),
        ("text={canonicalize cse}", {"text": "canonicalize cse"}),
        ("text=func.func(cse{a=b c=d})", {"text": "func.func(cse{a=b c=d})"}),
        ("maybe=none", {"maybe": None}),
        ('maybe="none"', {"maybe": "none"}),
        (r"text=C:\new", {"text": r"C:\new"}),
        ("rate=1e-3 kind=none", {"rate": 1e-3, "kind": "none"}),
    ],
)
def test_forms_of_mlir(text: str, expected: dict[str, Any]):
    assert make_pass(Options.name, text) == Options(**expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rate = 1", "expected key=value, got '= 1'\n  hint: no spaces around ="),
        ("rate=1,flag=true", "rate is '1,flag=true', expected a number\n  hint: options are sep"),
        ("numbers=1,flag=true", "numbers is 'flag=true', expected an integer"),
        ('text="a', "nothing closes what begins at '\"a'"),
        ("text={a", "nothing closes what begins at '{a'"),
        ('flag"a"', "expected key=value, got 'flag\"a\"'"),
    ],
)
def test_other_texts(text: str, message: str):
    with pytest.raises(DiagnosticError) as caught:
        make_pass(Options.name, text)
    assert message in str(caught.value)


def test_quotes_hold_braces_and_spaces():
    assert split_pairs("""a="} {" b={c={d '}'}} e""") == [
        ("a", '"} {"'),
        ("b", "{c={d '}'}}"),
        ("e", ""),
    ]
