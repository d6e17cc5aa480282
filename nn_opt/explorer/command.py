"""`nn-opt --explore`: the page of a run, into a file or served."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from nn_opt.driver.arguments import Options
from nn_opt.driver.instruments import replay_flags
from nn_opt.driver.sources import Chunk
from nn_opt.explorer.api import Exploration, run_explored
from nn_opt.explorer.reload import FreshPage
from nn_opt.explorer.serve import serve
from nn_opt.explorer.sources import Source, onnx_source, text_source
from nn_opt.instrument import Instrument
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.files import write_text
from nn_opt.pipeline import Pipeline

_ALONE = {  # options, and what they are where they are not given
    "bisect": None,
    "reduce": None,
    "verify_diagnostics": None,
    "emit_weights": None,
    "split_input_file": False,
    "emit": "mlir",
    "print_op_generic": False,
    "print_locations": False,
    "inline_weights": False,
}
_STREAM = "-"


def explore_module(
    ctx: Context,
    module: ModuleOp,
    pipeline: Pipeline,
    chunk: Chunk,
    options: Options,
    instruments: Sequence[Instrument],
) -> str:
    """Run the pipeline; return the page, or serve it where no file is named.

    Raises: what a pass failed with, when the page is written or no longer served.
    """
    refuse_others(options)
    command = shlex.join(["nn-opt", *sys.argv[1:]])
    source = _source(chunk, options)
    explored = run_explored(
        ctx,
        module,
        pipeline,
        source,
        instruments=instruments,
        command=command,
        flags=flags_of(options),
        word=word,
    )
    if options.output == _STREAM:
        _serve(explored, options)
        page = ""
    elif explored.error is not None:
        write_text(options.output, explored.html)
        page = ""
    else:
        page = explored.html
    if explored.error is not None:
        raise explored.error
    return page


def flags_of(options: Options) -> list[str]:
    """Return the flags, besides passes, that decide what the module is."""
    flags = [f"--dim={dim}" for dim in options.dim]
    flags += [f"--target={options.target}"] if options.target else []
    flags += [f"--weights={options.weights}"] if options.weights else []
    return [*flags, *replay_flags(options)]


def word(error: Exception) -> str:
    """Return what is told of an error; of one that is no user's mistake, its kind too."""
    return str(error) or type(error).__name__


def refuse_others(options: Options) -> None:
    """Raise DiagnosticError for an option that would show something else."""
    for name, absent in _ALONE.items():
        if getattr(options, name) != absent:
            flag = f"--{name.replace('_', '-')}"
            raise DiagnosticError(f"error: --explore and {flag} do not go together")


def _source(chunk: Chunk, options: Options) -> Source:
    if chunk.text is None:
        return onnx_source(options.input)
    return text_source(chunk.filename, chunk.text)


def _serve(explored: Exploration, options: Options) -> None:
    if explored.error is not None:
        sys.stderr.write("note: a pass failed; the page shows where\n")
    files = [Path(name) for name in (options.input, options.weights, *options.load) if name]
    page = FreshPage(explored.html, files, sys.argv[1:])
    # What came from standard input cannot be read again.
    current = page.current if options.input != _STREAM else lambda: explored.html
    serve(current, options.host, options.port)
