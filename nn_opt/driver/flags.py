"""The flags of nn-opt that are no passes, as groups of one argument parser."""

from __future__ import annotations

import argparse
from typing import NoReturn

from nn_opt import __version__
from nn_opt.ir.diagnostics import MOST_SHOWN, DiagnosticError

ALL = "all"  # passes, where some could be named


class FlagParser(argparse.ArgumentParser):
    """The parser of these flags; what it refuses is a diagnostic."""

    def has_option(self, flag: str) -> bool:
        """Return whether a flag is one of the options."""
        return flag in self._option_string_actions

    def error(self, message: str) -> NoReturn:
        raise DiagnosticError(f"error: {message}\n  hint: --help lists the options")


def make_parser() -> FlagParser:
    """Return the parser of all that is no pass."""
    parser = FlagParser(
        prog="nn-opt",
        description="Read a model (.onnx) or textual IR, run passes in order, print IR.",
        epilog="Each pass and pipeline is a flag: --fuse-ops, --fuse-ops{max-depth=4}; "
        "see --list-passes and --pass-help=NAME. An option with a default value takes another "
        "one after `=` only: --timing in.mlir, --timing=json in.mlir. `nn-opt doctor` tells what "
        "is installed, `nn-opt completion SHELL` prints what completes this in a shell, "
        "`nn-opt lsp` serves an editor.",
        allow_abbrev=False,
    )
    parser.add_argument("input", nargs="?", default="-", help="file to read; - is standard input")
    parser.add_argument("-o", dest="output", default="-", metavar="FILE", help="file to write")
    parser.add_argument("--version", action="version", version=f"nn-opt {__version__}")
    _add_switches(parser)
    _add_dumps(parser)
    _add_changes(parser)
    _add_values(parser)
    _add_reports(parser)
    _add_messages(parser)
    _add_debugging(parser)
    return parser


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _add_switches(parser: argparse.ArgumentParser) -> None:
    switches = {
        "split-input-file": "treat the parts between `// -----` as files of their own",
        "dump-pass-pipeline": "print the pipeline that runs, with all options, to stderr",
        "allow-unregistered-dialect": "accept operations that no dialect defines",
        "print-op-generic": "print the generic form of every operation",
        "print-locations": "print the source location of every operation",
        "verify-locations": "refuse a pass that makes operations without a location",
        "debug-info": "with --emit=llvm-ir, add the file, line and node of each instruction",
        "print-patterns": "print a line for each pattern that changes something, to stderr",
        "report": "print what a model consists of and where its nodes run, and stop",
        "list-passes": "print the passes and pipelines, and stop",
        "inline-weights": "print weights as dense text instead of keys",
        "debug": "show a traceback with an error",
    }
    for name, text in switches.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    parser.add_argument(
        "--elide",
        dest="inline_weights",
        action="store_false",
        help="print the keys of weights instead of their values (default)",
    )
    parser.add_argument(
        "--verify-each",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="verify the module after each pass (default)",
    )


def _add_dumps(parser: argparse.ArgumentParser) -> None:
    for when in ("before", "after"):
        dest = f"print_{when}"
        parser.add_argument(
            f"--print-ir-{when}",
            dest=dest,
            action="extend",
            type=_names,
            default=[],
            metavar="PASS,..",
            help=f"print the module {when} these passes, to stderr",
        )
        parser.add_argument(
            f"--print-ir-{when}-all",
            dest=dest,
            action="append_const",
            const=ALL,
            help=f"... {when} every pass",
        )


def _add_changes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--print-ir-after-change",
        dest="print_after_change",
        action="store_true",
        help="print the module after each pass that changed it, to stderr",
    )
    parser.add_argument(
        "--print-ir-after-failure",
        dest="print_after_failure",
        action="store_true",
        help="print the module as a pass that failed left it, to stderr",
    )
    parser.add_argument(
        "--print-ir-change",
        dest="print_change",
        action="store_true",
        help="print what each pass changed, as a unified diff, to stderr",
    )
    parser.add_argument(
        "--print-ir-tree-dir",
        dest="print_tree_dir",
        metavar="DIR",
        help="write the module after each pass to a numbered file of this folder",
    )


def _add_values(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    # These two are taken from the command line before, in their places among the pass flags.
    pipeline = "run a pipeline such as builtin.module(cse,func.func(canonicalize,dce))"
    add("--pass-pipeline", metavar="TEXT", default=argparse.SUPPRESS, help=pipeline)
    file = "... that this file holds"
    add("--pass-pipeline-file", metavar="FILE", default=argparse.SUPPRESS, help=file)
    add("--pass-help", metavar="NAME", help="print what a pass does and its options, and stop")
    add("--show-dialects", metavar="NAME", help="print the dialects, or the ops of one, and stop")
    add(
        "--load",
        action="append",
        default=[],
        metavar="FILE.py",
        help="run a Python file, or import a module, that adds passes or dialects",
    )
    add("--weights", metavar="FILE", help="safetensors file with the weights of the input")
    add("--emit-weights", metavar="FILE", help="write the weights of the result to this file")
    add("--target", metavar="NAME", help="machine to compile for; host is this one")
    add("--dim", action="append", default=[], metavar="N=1", help="size of a model's dimension")
    add("--value", action="append", default=[], metavar="s=1,2", help="what a model's input holds")
    kernels = ("opencl", "cuda", "metal", "wgsl", "ptx", "spirv")
    languages = ("mlir", "llvm-ir", "c", "js", *kernels, "launch-plan")
    add("--emit", choices=languages, default="mlir", help="what to print")


def _add_reports(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--remarks",
        metavar="REGEX",
        help="print why passes did or did not fire, to stderr; of these lines those that match",
    )
    add("--remarks-format", choices=("text", "json", "yaml"), help="... in this form")
    add(
        "--timing",
        choices=("tree", "json"),
        help="print the time of each phase, pipeline and pass to stderr (default: tree)",
    )
    add(
        "--statistics",
        choices=("text", "json"),
        help="print the counters of the passes to stderr (default: text)",
    )
    add(
        "--pattern-statistics",
        choices=("text", "json"),
        help="print how often each pattern was tried and fired, and its time (default: text)",
    )
    add(
        "--check",
        type=float,
        metavar="RTOL",
        help="run the module before and after each pass and compare (default: 1e-5)",
    )


def _add_messages(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--verify-diagnostics",
        choices=("errors", "all", "only-expected"),
        help="check the messages against `// expected-error@+1 {{...}}` (default: errors and "
        "warnings must be expected; all: notes and remarks, too)",
    )
    add(
        "--diagnostics-format",
        choices=("text", "json", "sarif"),
        default="text",
        help="print errors as text, as one JSON object a line, or as SARIF",
    )
    add(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colour errors and diffs; auto: on a terminal, unless NO_COLOR is set",
    )
    add(
        "--error-limit",
        type=int,
        default=MOST_SHOWN,
        metavar="N",
        help=f"print at most N errors, 0 for all (default: {MOST_SHOWN})",
    )


def _add_debugging(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--crash-reproducer",
        metavar="FILE",
        help="if a pass fails, write what it was given, and the pipeline, to this file",
    )
    add("--run-reproducer", action="store_true", help="the input is such a file: replay it")
    add(
        "--debug-counter",
        action="append",
        default=[],
        metavar="PASS=N",
        help="let only the first N rewrites of a pass happen",
    )
    add(
        "--disable-pass",
        action="extend",
        type=_names,
        default=[],
        metavar="PASS,..",
        help="leave out these passes, wherever a pipeline has them",
    )
    add(
        "--bisect",
        metavar="CMD",
        help="find the first pass, and rewrite in it, after which `CMD file` fails",
    )
    add(
        "--reduce",
        metavar="CMD",
        help="shrink the module while `CMD file` exits with 0: it is still interesting",
    )
    _add_explorer(parser)


def _add_explorer(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--explore",
        action="store_true",
        help="show what each pass (of --compile, if none is named) does to the module, and why: "
        "a page, served on this machine, or written to the file of -o",
    )
    add("--port", type=int, default=0, metavar="N", help="... served here (default: a free port)")
    add(
        "--host",
        default="127.0.0.1",
        metavar="NAME",
        help="... at this address, so that other machines see it, too (default: 127.0.0.1)",
    )
