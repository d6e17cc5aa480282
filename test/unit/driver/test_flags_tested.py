"""Every flag of the three tools is given in a lit test."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from nn_opt.driver import compile as nn_compile
from nn_opt.driver import run as nn_run
from nn_opt.driver.flags import make_parser

LIT = Path(__file__).resolve().parents[2] / "lit"
PARSERS = {
    "nn-opt": make_parser,
    "nn-run": nn_run.make_parser,
    "nn-compile": nn_compile.make_parser,
}


def flags_of(parser: argparse.ArgumentParser) -> set[str]:
    """Return the flags of a parser; of those with a short and a long name, the long one."""
    names = [action.option_strings for action in parser._actions]
    return {name for some in names for name in some if name.startswith("--") or len(some) == 1}


def given(tool: str) -> set[str]:
    """Return the flags that the commands of lit tests give to a tool."""
    commands: list[str] = []
    for path in LIT.rglob("*.*"):
        if path.suffix in (".mlir", ".py"):
            text = re.sub(r"\\\n(//|#) RUN:", " ", path.read_text(encoding="utf-8"))
            commands += re.findall(r"RUN: (.*)", text)
    parts = [part for command in commands for part in re.split(r"\||&&|;", command)]
    found: set[str] = set()
    for part in parts:
        if re.search(rf"(^|[ ('`]){tool} ", part):
            found.update(re.findall(r"(?<![\w-])--?[a-z][\w-]*", part))
    return found


@pytest.mark.parametrize("tool", PARSERS)
def test_every_flag_is_in_a_lit_test(tool: str):
    flags = flags_of(PARSERS[tool]())
    assert len(flags) > 5, "the parser has flags"
    untested = sorted(flags - given(tool))
    assert not untested, f"no lit test gives these to {tool}"
