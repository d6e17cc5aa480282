"""The command line: pass flags in the order given, everything else as `flags` has it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from nn_opt.driver.conflicts import check_values
from nn_opt.driver.flags import make_parser
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.pass_specs import suggestion
from nn_opt.pipeline_text import Call, Entry, parse_text, read_text
from nn_opt.pipelines import COMPILE, PIPELINE_SOURCES, PIPELINES
from nn_opt.registry import SOURCES, discover, has_row, names_like

_PASS_FLAG = re.compile(r"--([a-z][\w-]*)(?:\{(.*)\}|=(.*))?", re.DOTALL)
_PIPELINE_FLAGS = {"--pass-pipeline": parse_text, "--pass-pipeline-file": read_text}
_CHECK_TOLERANCE = 1e-5  # of the largest element; sums in another order differ by about 1e-6

# argparse would take the file name after a flag with an optional value for that value.
_WITHOUT_VALUE = {
    "--check": f"--check={_CHECK_TOLERANCE}",
    "--show-dialects": "--show-dialects=all",
    "--remarks": "--remarks=",
    "--timing": "--timing=tree",
    "--verify-diagnostics": "--verify-diagnostics=errors",
    "--statistics": "--statistics=text",
    "--pattern-statistics": "--pattern-statistics=text",
}


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    passes: list[Entry]
    input: str
    output: str
    split_input_file: bool
    verify_each: bool
    verify_diagnostics: str | None
    print_before: list[str]
    print_after: list[str]
    print_after_change: bool
    print_after_failure: bool
    dump_pass_pipeline: bool
    print_change: bool
    print_tree_dir: str | None
    timing: str | None
    statistics: str | None
    print_patterns: bool
    pattern_statistics: str | None
    allow_unregistered_dialect: bool
    print_op_generic: bool
    print_locations: bool
    debug_info: bool
    verify_locations: bool
    report: bool
    list_passes: bool
    pass_help: str | None
    show_dialects: str | None
    weights: str | None
    emit_weights: str | None
    inline_weights: bool
    target: str | None
    dim: list[str]
    value: list[str]
    check: float | None
    emit: str
    remarks: str | None
    remarks_format: str | None
    diagnostics_format: str
    color: str
    error_limit: int
    debug: bool
    debug_counter: list[str]
    disable_pass: list[str]
    crash_reproducer: str | None
    run_reproducer: bool
    bisect: str | None
    reduce: str | None
    explore: bool
    host: str
    port: int
    load: list[str]

    @property
    def dims(self) -> dict[str, int]:
        """The sizes given to unknown dimensions of a model, by name."""
        sizes: dict[str, int] = {}
        for text in self.dim:
            name, _, size = text.partition("=")
            if not size.isdecimal():
                raise DiagnosticError(f"error: --dim is '{text}', expected NAME=SIZE")
            sizes[name] = int(size)
        return sizes


def parse_arguments(argv: Sequence[str]) -> Options:
    """Return the options of a command line.

    Raises: DiagnosticError for a flag that is neither an option, a pass nor a pipeline.
    """
    if any(argument.startswith("--load") for argument in argv):
        from nn_opt.driver.loading import load_all

        load_all(argv)
    parser = make_parser()
    passes, rest = split_pass_flags(argv)
    known, unknown = parser.parse_known_args(rest)
    if any(argument.startswith("--") for argument in unknown) and discover():
        passes, rest = split_pass_flags(argv)
        known, unknown = parser.parse_known_args(rest)
    for name in (*SOURCES, *PIPELINE_SOURCES):
        if parser.has_option(f"--{name}"):
            raise DiagnosticError(f"error: the pass '{name}' has the name of an option of nn-opt")
    if unknown:
        _refuse(unknown[0], parser)
    check_values(known)
    values: dict[str, Any] = vars(known)
    if known.explore and not passes:
        passes.append(Call(COMPILE))
    return Options(passes=passes, **values)


def split_pass_flags(argv: Sequence[str]) -> tuple[list[Entry], list[str]]:
    """Return the passes called for in order, and the arguments that are no passes."""
    passes: list[Entry] = []
    rest: list[str] = []
    pending = iter(argv)
    for argument in pending:
        key, assigned, value = argument.partition("=")
        if key in _PIPELINE_FLAGS:
            given = value if assigned else next(pending, None)
            if given is None:
                raise DiagnosticError(f"error: argument {key}: expected one argument")
            passes += _PIPELINE_FLAGS[key](given)
            continue
        flag = _PASS_FLAG.fullmatch(argument)
        name = flag[1].replace("_", "-") if flag else ""
        if flag and (has_row(name) or name in PIPELINES):
            passes.append(Call(name, flag[2] or flag[3] or ""))
        else:
            rest.append(_WITHOUT_VALUE.get(argument, argument))
    return passes, rest


def _refuse(argument: str, parser: argparse.ArgumentParser) -> NoReturn:
    if not argument.startswith("-"):
        raise DiagnosticError(f"error: more than one input file: '{argument}'")
    flag = argument.partition("=")[0].partition("{")[0]
    name = flag.removeprefix("--").replace("_", "-")
    if has_row(name) or name in PIPELINES:
        problem = f"expected {flag}{{key=value}} or {flag}=key=value"
        raise DiagnosticError(f"error: {argument}: {problem}")
    names = [*names_like(flag), *PIPELINES]
    flags = [f"--{name}" for name in names] + re.findall(r"--[\w-]+", parser.format_usage())
    hint = suggestion(flag, flags) or "\n  hint: --list-passes lists the passes, --help the rest"
    raise DiagnosticError(f"error: unknown pass or option '{flag}'{hint}")
