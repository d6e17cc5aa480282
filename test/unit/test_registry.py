"""The tables of passes and pipelines hold what they say."""

from __future__ import annotations

import pytest
from xdsl.passes import ModulePass

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.pass_specs import field_types, make_pass, split_options, split_passes
from nn_opt.pipelines import PIPELINES, expand, parse_pipeline
from nn_opt.registry import PASSES, load_pass


@pytest.mark.parametrize("name", PASSES)
def test_row_loads_and_answers_to_its_name(name: str):
    cls = load_pass(name)
    assert issubclass(cls, ModulePass)
    assert cls.name == name
    assert cls.__doc__ is not None
    field_types(cls)


@pytest.mark.parametrize("name", PASSES)
def test_file_has_the_name_of_the_pass(name: str):
    module, _, attribute = PASSES[name].partition(":")
    stem = name.removeprefix("convert-").replace("-", "_")
    assert module.rpartition(".")[2] == stem
    assert attribute.lower() == f"{name}-pass".replace("-", "")


@pytest.mark.parametrize("name", PIPELINES)
def test_pipeline_is_made_of_passes(name: str):
    assert [step.name for step in expand(name)] == [
        pair[0] for pair in split_passes(",".join(PIPELINES[name]))
    ]


def test_no_pipeline_has_the_name_of_a_pass():
    assert not PIPELINES.keys() & PASSES.keys()


def test_pipeline_text():
    assert split_passes("builtin.module(a, b{x=1 y=2,3})") == [("a", ""), ("b", "x=1 y=2,3")]
    assert split_passes("a,b") == [("a", ""), ("b", "")]
    assert split_passes("") == []
    assert [step.name for step in parse_pipeline("cse,dce")] == ["cse", "dce"]


@pytest.mark.parametrize("text", ["a(b", "a,,b", "a{", "func.func(a)"])
def test_broken_pipeline_text_is_a_message(text: str):
    with pytest.raises(DiagnosticError):
        split_passes(text)


def test_option_text():
    assert split_options("p", "max_depth=4 on name='a b'") == [
        ("max-depth", "4"),
        ("on", ""),
        ("name", "a b"),
    ]


def test_unknown_pass_gets_a_suggestion():
    with pytest.raises(DiagnosticError, match="did you mean canonicalize"):
        make_pass("canonicalise")
