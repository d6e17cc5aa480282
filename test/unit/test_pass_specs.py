"""Options become typed fields, or a message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt import registry
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.pass_specs import make_pass


@dataclass(frozen=True)
class ExamplePass(ModulePass):
    """Every type of option."""

    name = "example"

    depth: int
    ratio: float = 0.5
    on: bool = False
    tiles: tuple[int, ...] = ()
    limit: int | None = None
    kind: Literal["fast", "small"] = "fast"
    label: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@pytest.fixture(autouse=True)
def example(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(registry.PASSES, "example", f"{__name__}:ExamplePass")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("depth=4", ExamplePass(4)),
        ("depth=0x10 ratio=1e-3", ExamplePass(16, ratio=0.001)),
        ("depth=1 on", ExamplePass(1, on=True)),
        ("depth=1 on=false", ExamplePass(1)),
        ("depth=1 tiles=4,8", ExamplePass(1, tiles=(4, 8))),
        ("depth=1 limit=3", ExamplePass(1, limit=3)),
        ("depth=1 limit=none", ExamplePass(1)),
        ("depth=1 kind=small label='a b'", ExamplePass(1, kind="small", label="a b")),
    ],
)
def test_options_are_typed(options: str, expected: ExamplePass):
    assert make_pass("example", options) == expected


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("", "needs the option 'depth'"),
        ("depth=four", "depth is 'four', expected an integer"),
        ("depth=1 on=maybe", "expected true or false"),
        ("depth=1 tiles=4,x", "tiles is 'x', expected an integer"),
        ("depth=1 kind=big", "expected one of fast, small"),
        ("dept=1", "did you mean depth?"),
        ("depth=1 =2", "expected key=value"),
    ],
)
def test_wrong_options_are_messages(options: str, problem: str):
    with pytest.raises(DiagnosticError) as caught:
        make_pass("example", options)
    assert problem in str(caught.value)
