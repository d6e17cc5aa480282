"""The page of the command line, from the parsers of the tools."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from nn_opt.driver.compile import make_parser as make_compile_parser
from nn_opt.driver.flags import make_parser
from nn_opt.driver.run import make_parser as make_run_parser
from nn_opt.ir.target import TARGETS

INTRODUCTION = """# The command line

`nn-opt` transforms IR, `nn-run` runs a model, `nn-compile` makes files of one. An error is one
message, `file:line:col: error: what`, and a status of 1; `--debug` adds a traceback. `-` stands for
standard input or output.

Written by `docs/generate.py` from the parsers.
"""
PASSES = """### Passes and pipelines

Each is a flag, and they run in order. Options follow in braces or after `=`:

<!-- file: in.mlir = docs/examples/two_layers.mlir -->
```sh
nn-opt --canonicalize --fuse-ops in.mlir
nn-opt --fuse-ops{max-depth=4} in.mlir
nn-opt --fuse-ops=max-depth=4 in.mlir
nn-opt --pass-pipeline='builtin.module(func.func(canonicalize,cse),fuse-ops{max-depth=4})' in.mlir
```

[Passes and pipelines](passes.md) lists them. `func.func(...)` runs what looks at one function at a
time on each; `--pass-pipeline` and `--pass-pipeline-file` may stand among other flags.

### Options
"""

ENVIRONMENT = """## Environment

| Variable | Meaning |
|---|---|
| `NN_OPT_CACHE` | the folder of compiled models, instead of the user's cache folder |
| `OMP_NUM_THREADS` | the number of threads, where none is given; 1 also compiles in one process |
| `CC` | the C compiler that `nn-compile` links libraries with |
| `NO_COLOR` | no colours on terminals |
| `JITDUMPDIR` | LLVM tells `perf` of the code it loads, in a file in this folder |
"""


def command_page() -> str:
    """Return the text of docs/command-line.md."""
    opt = ["## nn-opt\n", *tool(make_parser()), PASSES, *table(make_parser())]
    run = ["## nn-run\n", *tool(make_run_parser()), *table(make_run_parser())]
    made = ["## nn-compile\n", *tool(make_compile_parser()), *table(make_compile_parser())]
    return "\n".join([INTRODUCTION, *opt, *run, *made, *targets(), ENVIRONMENT])


def targets() -> Iterator[str]:
    """Yield the machines that code can be made for."""
    yield "## Targets\n"
    yield "`--target=NAME`, and `target` of `nn_opt.compile`; `host` and `cpu` are this machine.\n"
    yield "| Name | LLVM's processor | Features besides | Vectors |"
    yield "|---|---|---|---|"
    for name, target in TARGETS.items():
        vectors = f"{target.vector_registers} registers of {target.vector_bytes} bytes"
        features = target.features.replace("+", "").replace(",", ", ")
        yield f"| `{name}` | {target.cpu}, {target.triple} | {features} | {vectors} |"
    yield ""


def tool(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield what a tool does."""
    yield f"{parser.description}\n"
    if parser.epilog:
        yield f"{parser.epilog}\n"


def table(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the rows of all options."""
    yield "| Option | Meaning |"
    yield "|---|---|"
    for action in parser._actions:
        if action.help != argparse.SUPPRESS:
            text = (action.help or "").replace("%%", "%").replace("|", "\\|")
            yield f"| {option(action)} | {text} |"
    yield ""


def option(action: argparse.Action) -> str:
    """Return an option as one writes it."""
    if not action.option_strings:
        return f"`{action.dest}`"
    names = list(action.option_strings)
    if isinstance(action, argparse.BooleanOptionalAction) or action.nargs == 0:
        return ", ".join(f"`{name}`" for name in names)
    if action.choices:
        value = ",".join(map(str, action.choices))
        return ", ".join(f"`{name}={{{value}}}`" for name in names)
    value = action.metavar or action.dest.upper().replace("_", "-")
    join = "=" if names[0].startswith("--") else " "
    return ", ".join(f"`{name}{join}{value}`" for name in names)
