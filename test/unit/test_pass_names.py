"""`passes.X` finds every pass and pipeline, and says what is wrong with an option."""

from __future__ import annotations

import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest

from nn_opt import Pipeline, passes
from nn_opt.pass_names import camel_case
from nn_opt.pass_specs import make_pass
from nn_opt.passes.choose_layout import ChooseLayoutPass
from nn_opt.passes.fuse_ops import FuseOpsPass
from nn_opt.pipelines import PIPELINES
from nn_opt.registry import PASSES

NEEDS = {"apply-pdl": {"file": "some.pdl"}}


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_has_a_name(name: str):
    cls = getattr(passes, camel_case(name))
    made = cls(**NEEDS.get(name, {}))
    assert made.name == name
    assert type(made).__module__ in PASSES[name]
    assert isinstance(made, cls)
    assert cls.__doc__ == type(made).__doc__
    assert Pipeline(str(Pipeline(made))) == Pipeline(made)


@pytest.mark.parametrize("name", PIPELINES)
def test_every_pipeline_has_a_name(name: str):
    make = getattr(passes, camel_case(name))
    assert make() == Pipeline(name)
    assert make.__name__ == camel_case(name)


def test_names_are_listed():
    listed = dir(passes)
    assert {"FuseOps", "Compile", "ConvertLoopToLlvm", "RecognizeInt8"} <= set(listed)
    assert len([name for name in listed if not name.startswith("Xdsl")]) >= len(PASSES)


def test_options_are_keywords_or_in_order():
    assert passes.FuseOps(max_depth=4) == passes.FuseOps(4) == FuseOpsPass(4)
    assert passes.FuseOps(max_depth=4) == make_pass("fuse-ops", "max-depth=4")
    assert str(signature(passes.FuseOps)) == "(max_depth: 'int' = 64) -> None"
    assert passes.Compile(precision="bf16", max_depth=3) == Pipeline(
        "compile{precision=bf16 max-depth=3}"
    )


def test_a_subclass_is_a_class_of_its_own():
    class MinePass(passes.FuseOps):
        """Mine."""

    assert type(MinePass(3)) is MinePass
    assert isinstance(MinePass(3), MinePass)
    assert not isinstance(FuseOpsPass(3), MinePass)
    assert not isinstance(make_pass("cse"), passes.FuseOps)


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("FuseOps", {"max_dept": 4}, "FuseOps has no option 'max_dept'; did you mean max_depth?"),
        ("FuseOps", {"max_depth": "4"}, "FuseOps: max_depth is '4', expected an integer"),
        ("FuseOps", {"max_depth": True}, "FuseOps: max_depth is True, expected an integer"),
        ("ChooseLayout", {"winograd": "on"}, "winograd is 'on', expected one of 'auto', 'off'"),
        ("Cse", {"x": 1}, "Cse has no option 'x'; it has none"),
        ("ApplyPdl", {}, "ApplyPdl needs the option 'file'"),
        ("LowerToLoops", {"tiles": 32}, "no pass of LowerToLoops has an option 'tiles'"),
        ("LowerToLlvm", {"x": 32}, "no pass of LowerToLlvm has an option 'x'; it has none"),
        ("Compile", {"precision": "b"}, "Compile: precision is 'b', expected one of 'f32', 'bf16'"),
    ],
)
def test_a_wrong_option_is_a_type_error(name: str, options: dict[str, object], problem: str):
    with pytest.raises(TypeError) as caught:
        getattr(passes, name)(**options)
    assert problem in str(caught.value)


def test_positions_are_checked():
    with pytest.raises(TypeError, match="FuseOps takes 1 options, got 2"):
        passes.FuseOps(1, 2)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="FuseOps: max_depth is given twice"):
        passes.FuseOps(1, max_depth=2)  # pyright: ignore[reportCallIssue]


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(AttributeError, match=r"no 'FuseOp'; did you mean FuseOps\?"):
        _ = passes.FuseOp
    with pytest.raises(AttributeError, match=r"module 'nn_opt\.passes' has no attribute 'fuse_op'"):
        _ = passes.fuse_op


def test_passes_of_xdsl_have_names_too():
    assert passes.XdslCse().name == "xdsl-cse"
    with pytest.raises(AttributeError, match="did you mean XdslCse"):
        _ = passes.XdslCs


def test_a_module_of_the_folder_is_still_one():
    assert passes.choose_layout.ChooseLayoutPass is ChooseLayoutPass


def test_an_import_of_nn_opt_is_quick():
    """Neither xDSL nor NumPy is loaded before something is used."""
    code = (
        "import sys, nn_opt; from nn_opt import passes; print({'xdsl', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_editors_know_the_names():
    stub = (Path(__file__).resolve().parents[2] / "passes" / "__init__.pyi").read_text()
    for name in PASSES:
        assert f"\n{camel_case(name)} = " in stub
