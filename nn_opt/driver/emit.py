"""`--emit=c` and `--emit=js`: a module as source text, its weights as one block of bytes."""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from nn_opt.driver.arguments import Options


def emit_source(module: ModuleOp, options: Options) -> str:
    """Return the text of a planned module; write the bytes that it reads where asked.

    Raises: PassFailedException for what the language cannot say.
    """
    from nn_opt.backends.source import print_c, print_js
    from nn_opt.ir.files import write_bytes

    title = f"{Path(options.input).name}, compiled by nn-opt"
    if options.emit == "c":
        program = print_c(module, title)
    else:
        program = print_js(module, title, Path(options.emit_weights or "model.weights").name)
    if options.emit_weights is not None:
        write_bytes(options.emit_weights, program.weights.content())
    return program.text
