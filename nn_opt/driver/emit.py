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

    show = {"c": print_c, "js": print_js}[options.emit]
    program = show(module, f"{Path(options.input).name}, compiled by nn-opt")
    if options.emit_weights is not None:
        write_bytes(options.emit_weights, program.weights.content())
    return program.text
