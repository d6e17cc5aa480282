"""Installed packages add passes and dialects through entry points; broken ones hide nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = '''
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.passes import ModulePass


class MarkPass(ModulePass):
    """Mark the module."""

    name = "third-mark"

    def apply(self, ctx, op):
        op.attributes["marked"] = UnitAttr()


class OtherNamePass(MarkPass):
    name = "other"


@irdl_op_definition
class NopOp(IRDLOperation):
    """Does nothing."""

    name = "third.nop"
    assembly_format = "attr-dict"


Third = Dialect("third", [NopOp])
'''
POINTS = """[nn_opt.passes]
third-mark = third_party:MarkPass
third-absent = third_party:NoSuchPass
third-wrong = third_party:NopOp
third-renamed = third_party:OtherNamePass
cse = third_party:MarkPass

[nn_opt.dialects]
third = third_party:Third
fourth = third_party:Third
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder with a package as installers leave it."""
    (tmp_path / "third_party.py").write_text(CODE)
    info = tmp_path / "third_party-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(POINTS)
    (tmp_path / "in.mlir").write_text("third.nop\n")
    (tmp_path / "plain.mlir").write_text("func.func private @f()\n")
    return tmp_path


def nn_opt(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the tool in a folder that is on Python's path."""
    return subprocess.run(
        [sys.executable, "-m", "nn_opt.driver", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=site,
        env={**os.environ, "PYTHONPATH": str(site)},
    )


@pytest.mark.parametrize(
    "flags",
    [["--third-mark"], ["--pass-pipeline=cse,third-mark"], ["--third_mark", "--cse"]],
    ids=["flag", "pipeline", "underscore"],
)
def test_an_installed_pass_is_a_flag(site: Path, flags: list[str]):
    done = nn_opt(site, *flags, "plain.mlir")
    assert done.stderr == ""
    assert "attributes {marked}" in done.stdout


def test_an_installed_dialect_is_read(site: Path):
    done = nn_opt(site, "--cse", "in.mlir")
    assert (done.stdout, done.stderr) == ("builtin.module {\n  third.nop\n}\n", "")


def test_lists_say_where_things_come_from(site: Path):
    listed = nn_opt(site, "--list-passes").stdout
    begin = listed.index("passes of third-party 1.2\n")
    assert "--third-mark     Mark the module." in listed[begin:]
    assert "cannot be loaded: module 'third_party' has no attribute" in listed[begin:]
    assert "--cse " in listed[:begin]
    assert "from third-party 1.2\n" in nn_opt(site, "--pass-help=third-mark").stdout
    assert "\nthird\n" in nn_opt(site, "--show-dialects").stdout
    assert "third.nop  Does nothing." in nn_opt(site, "--show-dialects=third").stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--third-mar", "plain.mlir"], "did you mean --third-mark?"),
        (["--third-absent", "plain.mlir"], "error: pass 'third-absent' of third-party 1.2 cannot"),
        (["--third-wrong", "plain.mlir"], "third_party:NopOp is no ModulePass"),
        (["--third-renamed", "plain.mlir"], "third_party:OtherNamePass calls itself 'other'"),
        (
            ["--show-dialects=fourth"],
            "error: dialect 'fourth' of third-party 1.2: third_party:Third"
            " is no dialect of that name",
        ),
        (["--third-mark{x=1}", "plain.mlir"], "--third-mark has no option 'x'"),
    ],
)
def test_a_broken_package_is_one_message(site: Path, arguments: list[str], problem: str):
    done = nn_opt(site, *arguments)
    assert done.returncode == 1
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


def test_a_pass_of_nn_opt_is_not_replaced(site: Path):
    assert "marked" not in nn_opt(site, "--cse", "plain.mlir").stdout


def test_packages_are_asked_only_for_what_is_unknown(site: Path):
    code = (
        "import sys\nfrom nn_opt.driver import main\n"
        "main(['--cse', '--timing', 'plain.mlir'])\n"
        "print('importlib.metadata' in sys.modules, file=sys.stderr)\n"
        "from nn_opt import passes\npasses.Cse()\n"
        "print('importlib.metadata' in sys.modules, file=sys.stderr)\n"
        "passes.ThirdMark()\n"
        "print('importlib.metadata' in sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=site,
        env={**os.environ, "PYTHONPATH": str(site)},
    )
    assert done.stderr.split("\n")[-4:-1] == ["False", "False", "True"]
