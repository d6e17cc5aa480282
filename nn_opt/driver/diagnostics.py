"""How messages reach the user: as text, coloured on a terminal, as JSON or as SARIF."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from nn_opt.ir.diagnostics import MOST_SHOWN, Diagnostic, shortened, with_excerpts

_COLOURS = {  # as clang's
    "place": "1",
    "error": "1;31",
    "warning": "1;35",
    "remark": "1;34",
    "note": "1;36",
    "text of error": "1",
    "text of warning": "1",
    "caret": "1;32",
    "hint": "1;32",
}
_SARIF_LEVELS = {"error": "error", "warning": "warning"}  # the others are notes


def paint(role: str, text: str) -> str:
    """Return a part of a message in the colour of its role."""
    code = _COLOURS.get(role)
    return f"\033[{code}m{text}\033[0m" if code else text


def is_coloured(when: str) -> bool:
    """Return whether messages have colours: always, never, or on a terminal that has them."""
    if when != "auto":
        return when == "always"
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and sys.stderr.isatty()


def show(
    parts: Sequence[Sequence[Diagnostic]],
    sources: Sequence[Mapping[str, str]] = (),
    *,
    form: str = "text",
    colour: str = "auto",
    limit: int = MOST_SHOWN,
) -> str:
    """Return what to print about the parts of an input.

    sources: for each part, the texts of files by name, for excerpts.
    limit: the most diagnostics of one part that are shown as text, 0 for all.
    """
    rows = [
        [with_excerpts(diagnostic, sources[k] if k < len(sources) else {}) for diagnostic in part]
        for k, part in enumerate(parts)
    ]
    if form == "json":
        return "".join(f"{json.dumps(fields(d))}\n" for row in rows for d in row)
    if form == "sarif":
        return json.dumps(_sarif([d for row in rows for d in row]), indent=1) + "\n"
    shown = [diagnostic for row in rows for diagnostic in shortened(row, limit)]
    if is_coloured(colour):
        return "".join(f"{diagnostic.render(paint)}\n" for diagnostic in shown)
    return "".join(f"{diagnostic}\n" for diagnostic in shown)


def fields(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return a diagnostic as JSON has it; what is not known is left out."""
    found: dict[str, Any] = {"severity": diagnostic.severity}
    if diagnostic.position is not None:
        found |= dict(zip(("file", "line", "column"), diagnostic.position, strict=True))
    elif diagnostic.place:
        found["place"] = diagnostic.place
    found |= {"op": diagnostic.op} if diagnostic.op else {}
    found["message"] = diagnostic.message
    found |= {"hint": diagnostic.hint} if diagnostic.hint else {}
    if diagnostic.notes:
        found["notes"] = [fields(note) for note in diagnostic.notes]
    return found


def _sarif(diagnostics: Sequence[Diagnostic]) -> dict[str, Any]:
    """Source: OASIS, Static Analysis Results Interchange Format 2.1.0."""
    results: list[dict[str, Any]] = []
    for diagnostic in diagnostics:
        hint = f"\nhint: {diagnostic.hint}" if diagnostic.hint else ""
        result: dict[str, Any] = {
            "level": _SARIF_LEVELS.get(diagnostic.severity, "note"),
            "message": {"text": diagnostic.text + hint},
            "locations": _sarif_places(diagnostic),
        }
        related = [
            {**place, "message": {"text": note.text}}
            for note in diagnostic.notes
            for place in _sarif_places(note)
        ]
        results.append({**result, **({"relatedLocations": related} if related else {})})
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    run: dict[str, Any] = {"tool": {"driver": {"name": "nn-opt", "rules": []}}, "results": results}
    return {"$schema": schema, "version": "2.1.0", "runs": [run]}


def _sarif_places(diagnostic: Diagnostic) -> list[dict[str, Any]]:
    if diagnostic.position is None:
        return []
    file, line, column = diagnostic.position
    region = {"startLine": line, "startColumn": column}
    return [{"physicalLocation": {"artifactLocation": {"uri": file}, "region": region}}]
