"""`--remarks`: those that match a pattern, as lines, as JSON, or as YAML in the form of LLVM."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.remarks import Remark

_PLACE = re.compile(r"(.*):(\d+):(\d+)", re.DOTALL)


def compile_filter(pattern: str) -> re.Pattern[str]:
    """Return the pattern that the lines of remarks are searched for.

    Raises: DiagnosticError if it is no regular expression.
    """
    try:
        return re.compile(pattern)
    except re.error as error:
        raise DiagnosticError(f"error: --remarks is '{pattern}': {error}") from error


def report(remarks: Sequence[Remark], pattern: str, form: str) -> str:
    """Return the remarks whose line matches a pattern, in one of the forms."""
    wanted = compile_filter(pattern)
    found = [remark for remark in remarks if wanted.search(str(remark))]
    if form == "json":
        return json.dumps([_fields(remark) for remark in found], indent=1) + "\n"
    return "".join(_yaml(remark) if form == "yaml" else f"{remark}\n" for remark in found)


def _fields(remark: Remark) -> dict[str, str]:
    return {
        "pass": remark.pass_name,
        "operation": remark.operation,
        "function": remark.function,
        "location": remark.location,
        "text": remark.text,
    }


def _yaml(remark: Remark) -> str:
    """Return a document as LLVM writes for an analysis; a node's name is an argument."""
    place = _PLACE.fullmatch(remark.location)
    arguments = [("String", remark.text)]
    lines = ["--- !Analysis", f"Pass:            {_quoted(remark.pass_name)}"]
    lines.append(f"Name:            {_quoted(remark.operation)}")
    if place is not None:
        file, line, column = _quoted(place[1]), place[2], place[3]
        lines.append(f"DebugLoc:        {{ File: {file}, Line: {line}, Column: {column} }}")
    else:
        arguments.append(("Location", remark.location))
    lines += [f"Function:        {_quoted(remark.function)}", "Args:"]
    lines += [f"  - {key + ':':16} {_quoted(text)}" for key, text in arguments]
    return "\n".join([*lines, "...\n"])


def _quoted(text: str) -> str:
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text)
