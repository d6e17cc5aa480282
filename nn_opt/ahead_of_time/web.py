"""JavaScript: an ES module."""

from __future__ import annotations

from nn_opt.ahead_of_time.request import COMPILER, Made, Request, size_text
from nn_opt.ahead_of_time.source_text import lowered
from nn_opt.backends.source import print_js


def module(request: Request) -> Made:
    """Return an ES module without dependencies, and its weights."""
    weights = f"{request.stem}.weights"
    lower, _ = lowered(request, "lower-to-js")
    program = print_js(lower, f"{request.title}, compiled by {COMPILER}", weights)
    files = {request.output.name: program.text.encode(), weights: program.weights.content()}
    said = f"weights {size_text(program.weights.size)}, arena {size_text(program.arena_bytes)}"
    return Made(files, (said,))
