"""Input to modules: a file or standard input, text or ONNX, whole or in parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from nn_opt.driver.arguments import Options
from nn_opt.driver.streams import decode, read_input
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.parsing import parse_module

SPLIT = "// -----"
_SPLIT_LINE = re.compile(r"^// -----[^\n]*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Chunk:
    """A part of the input; a text is None for a model, which the front-end reads by itself."""

    filename: str
    text: str | None
    first_line: int = 1
    part: int = 0  # its number from 1 on, if there are several


def read_chunks(options: Options) -> list[Chunk]:
    """Return the parts of the input, one unless it is to be split.

    Raises: DiagnosticError if the input cannot be read.
    """
    if options.input == "-":
        return _split("<stdin>", read_input(), options.split_input_file)
    if not options.input:
        raise DiagnosticError("error: the name of a file to read is empty")
    path = Path(options.input)
    if path.suffix == ".onnx":
        return [Chunk(options.input, None)]
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DiagnosticError(f"{path}: error: {error.strerror}") from error
    return _split(options.input, content, options.split_input_file)


def _split(filename: str, content: bytes, split: bool) -> list[Chunk]:
    text = decode(content, filename)
    if not split:
        return [Chunk(filename, text)]
    starts = [0, *(match.end() for match in _SPLIT_LINE.finditer(text))]
    ends = [*(match.start() for match in _SPLIT_LINE.finditer(text)), len(text)]
    return [
        Chunk(filename, text[start:end], text.count("\n", 0, start) + 1, part)
        for part, (start, end) in enumerate(zip(starts, ends, strict=True), 1)
    ]


def load(ctx: Context, chunk: Chunk, options: Options) -> ModuleOp:
    """Return the module of a part of the input; its lines count from the top of the file."""
    if chunk.text is None:
        from nn_opt.driver.value_text import parse_values
        from nn_opt.frontends.onnx import import_model

        if options.weights is not None:
            hint = "a model holds its weights, or names their file itself"
            raise DiagnosticError(
                f"error: --weights is for IR, and this is a model\n  hint: {hint}"
            )
        return import_model(chunk.filename, options.dims, values=parse_values(options.value))
    for flag, given in (("--dim", options.dim), ("--value", options.value)):
        if given:
            hint = "write the sizes into the types, and values as constants"
            raise DiagnosticError(f"error: {flag} is for models, and this is IR\n  hint: {hint}")
    weights = None
    if options.weights is not None:
        from nn_opt.ir.weights import WeightsFile

        weights = WeightsFile(options.weights)
    return parse_module(ctx, numbered_text(chunk), chunk.filename, weights)


def numbered_text(chunk: Chunk) -> str:
    """Return the text of a part, its lines numbered as those of the file."""
    return "\n" * (chunk.first_line - 1) + (chunk.text or "")
