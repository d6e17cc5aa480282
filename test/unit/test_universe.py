"""xDSL's tools, where nn-opt is installed: they know our dialects and passes, and still run."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from xdsl.universe import XDSL_UNIVERSE, Universe

from nn_opt.registry import PASSES
from nn_opt.universe import UNIVERSE

GRAPH = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = graph.relu %a : tensor<4xf32>
  func.return %b : tensor<4xf32>
}
"""


def test_no_name_is_one_of_xdsls():
    for kind in ("all_dialects", "all_passes", "all_targets", "all_frontends"):
        assert not getattr(UNIVERSE, kind).keys() & getattr(XDSL_UNIVERSE, kind).keys()


def test_what_is_offered_is_all_but_what_clashes():
    assert sorted(UNIVERSE.all_dialects) == ["graph", "loop", "sched"]
    left_out = {name for name in PASSES if name not in UNIVERSE.all_passes}
    assert left_out == {"apply-pdl", "canonicalize", "cse", "dce"}


def test_what_is_offered_loads_and_is_what_it_is_called():
    for name, make in UNIVERSE.all_dialects.items():
        assert make().name == name
    for name, make in UNIVERSE.all_passes.items():
        cls = make()
        assert cls.name == name
        assert cls.from_pass_spec(cls().pipeline_pass_spec(include_default=True)) == cls()


def test_the_installed_package_offers_it():
    offered = {plugin.name: plugin.load() for plugin in entry_points(group="xdsl.universe")}
    assert offered["nn-opt"] is UNIVERSE
    everything = Universe.get_multiverse()
    assert "fuse-ops" in everything.all_passes
    assert "licm" in everything.all_passes


def xdsl_opt(tmp_path: Path, *arguments: str) -> str:
    file = tmp_path / "in.mlir"
    file.write_text(GRAPH, encoding="utf-8")
    tool = Path(sys.executable).with_name("xdsl-opt")
    done = subprocess.run([tool, *arguments, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("passes", ["fuse-ops", "fuse-ops{max-depth=4},cse,dce"])
def test_xdsl_opt_runs_our_passes(tmp_path: Path, passes: str):
    text = xdsl_opt(tmp_path, "-p", passes)
    assert "graph.fused" in text
    assert "graph.relu" in text


def test_xdsl_opt_goes_down_to_loops_in_one_run(tmp_path: Path):
    passes = "fuse-ops,outline-kernels,convert-graph-to-tensor,convert-tensor-to-loop,licm"
    assert "loop.for" in xdsl_opt(tmp_path, "-p", passes)
