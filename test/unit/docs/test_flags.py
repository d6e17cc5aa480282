"""Every flag that the documentation names exists."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest
import tools
from doc_blocks import ROOT, pages

from nn_opt.driver.compile import make_parser as make_compile_parser
from nn_opt.driver.flags import make_parser
from nn_opt.driver.run import make_parser as make_run_parser
from nn_opt.pipelines import PIPELINES
from nn_opt.registry import PASSES

FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")
TUTORIAL = ROOT / "examples" / "tutorial" / "rms_norm.py"
FOREIGN = {"from-mlir.md": "mlir-opt", "from-xdsl.md": "xdsl-opt"}
DEFINED = re.compile(r'(?:rewrite\(|name = )"([a-z0-9-]+)"')  # passes that a page writes
ELSEWHERE = {
    "editable",  # pip
    "specs",  # gcc
    "target-env",  # spirv-as
    "experimental-wasm-relaxed-simd",  # node
    "canonicalise",  # misspelt on purpose
    "pass",  # stands for any
    "networks",  # of the conformance suite
    "seconds",  # of programs in bench/
    "threads",
    "sweep",
    "small",
    "out",
    "json",
    "output",
}


def ours() -> set[str]:
    """Return the names of all flags, passes and pipelines."""
    parsers = (make_parser(), make_run_parser(), make_compile_parser())
    options = {s for parser in parsers for action in parser._actions for s in action.option_strings}
    return {*PASSES, *PIPELINES, *(option.lstrip("-") for option in options)}


def named(text: str) -> set[str]:
    """Return the flags in code of a page."""
    code = re.findall(r"`[^`\n]+`|^```.*?^```", text, re.MULTILINE | re.DOTALL)
    return {flag for part in code for flag in FLAG.findall(part)}


def flags_of(tool: str) -> set[str]:
    """Return the flags in the help of another project's tool."""
    site = Path(sysconfig.get_path("purelib"))
    places = [site / "mlir" / "bin", Path(sysconfig.get_path("scripts"))]
    path = next((place / tool for place in places if (place / tool).exists()), None)
    if path is None:
        tools.lacking(f"{tool} is not installed")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(site / "llvm" / "lib")}
    hidden = "--help-hidden" if tool == "mlir-opt" else "--help"
    done = subprocess.run(
        [path, hidden], capture_output=True, text=True, check=True, env=environment
    )
    return set(FLAG.findall(done.stdout))


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_flags_exist(path):
    known = ours() | ELSEWHERE
    if path.name in FOREIGN:
        known |= flags_of(FOREIGN[path.name])
    text = path.read_text() + TUTORIAL.read_text()
    unknown = named(path.read_text()) - known - set(DEFINED.findall(text))
    assert {flag for flag in unknown if not flag.startswith("xdsl-")} == set()
