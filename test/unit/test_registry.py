"""The tables of passes and pipelines hold what they say."""

from __future__ import annotations

import pytest
from xdsl.passes import ModulePass

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.pass_specs import field_types, make_pass, split_options
from nn_opt.pipelines import PIPELINES, expand
from nn_opt.registry import FUNCTION_PASSES, PASSES, load_pass


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
    assert [step.name for step in expand(name)] == list(PIPELINES[name])


def test_what_runs_on_functions_is_a_pass():
    assert FUNCTION_PASSES <= PASSES.keys()


def test_no_pipeline_has_the_name_of_a_pass():
    assert not PIPELINES.keys() & PASSES.keys()


def test_option_text():
    assert split_options("p", "max_depth=4 on name='a b'") == [
        ("max-depth", "4"),
        ("on", ""),
        ("name", "'a b'"),
    ]


def test_unknown_pass_gets_a_suggestion():
    with pytest.raises(DiagnosticError, match="did you mean canonicalize"):
        make_pass("canonicalise")
