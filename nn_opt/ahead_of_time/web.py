"""JavaScript: an ES module, and what a page of the model is made of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from nn_opt.ahead_of_time.request import COMPILER, Made, Request, size_text
from nn_opt.ahead_of_time.source_text import lowered
from nn_opt.backends.source import SourceProgram, print_js

_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const)\b)", re.MULTILINE)
_NAMES = "inputs, outputs, arenaBytes, run"


@dataclass(frozen=True)
class Program:
    """Files by name that the code of a page reads, and the size of the weights among them."""

    parts: Mapping[str, bytes]
    weight_bytes: int


def module(request: Request) -> Made:
    """Return an ES module without dependencies, and its weights."""
    weights = f"{request.stem}.weights"
    program = javascript(request, weights)
    files = {request.output.name: program.text.encode(), weights: program.weights.content()}
    said = f"weights {size_text(program.weights.size)}, arena {size_text(program.arena_bytes)}"
    return Made(files, (said,))


def program_of(request: Request) -> Program:
    """Return the code and weights of a page."""
    program = javascript(request, "model.weights")
    parts = {"program.js": _script(program.text), "model.weights": program.weights.content()}
    return Program(parts, program.weights.size)


def _script(module: str) -> bytes:
    """Return an ES module as the script of a worker that pages from files may start."""
    text = _EXPORT.sub("", module).replace("import.meta.url", "location.href")
    return f"const program = (() => {{\n{text}\nreturn {{{_NAMES}}};\n}})();\n".encode()


def javascript(request: Request, weights: str) -> SourceProgram:
    """Return the model as plain JavaScript."""
    lower, _ = lowered(request, "lower-to-js")
    return print_js(lower, f"{request.title}, compiled by {COMPILER}", weights)
