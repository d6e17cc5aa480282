"""`--remarks`: those that match a pattern, as lines, as JSON, or as YAML in the form of LLVM."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack

from xdsl.dialects.builtin import ModuleOp

from nn_opt.instrument import Instrument
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.remarks import Remark, collect_remarks

_PLACE = re.compile(r"(.*):(\d+):(\d+)", re.DOTALL)


class Remarks(Instrument):
    """Collects why passes did or did not fire; `str()` is a line for each, `json()` and `yaml()`.

    pattern: only lines that this regular expression is found in are shown.
    Raises: DiagnosticError if it is none.

    >>> import nn_opt
    >>> module = nn_opt.parse('''
    ... func.func @f(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    ...   %y = graph.relu %x : tensor<2xf32>
    ...   %z = graph.exp %y : tensor<2xf32>
    ...   func.return %y, %z : tensor<2xf32>, tensor<2xf32>
    ... }''')
    >>> remarks = nn_opt.Remarks()
    >>> _ = nn_opt.Pipeline("fuse-ops").run(module, instruments=[remarks])
    >>> for remark in remarks:
    ...     print(remark.operation, remark.text)
    graph.relu kept in memory for 2 readers: a reader needs the whole value
    """

    def __init__(self, pattern: str = "") -> None:
        self.remarks: list[Remark] = []
        self._wanted = compile_filter(pattern)
        self._scopes = ExitStack()

    def before_pipeline(self, pipeline: object, module: ModuleOp) -> None:
        self._scopes.enter_context(collect_remarks(self.remarks))

    def after_pipeline(self, pipeline: object, module: ModuleOp) -> None:
        self._scopes.close()

    def __iter__(self) -> Iterator[Remark]:
        """Yield the remarks that match the pattern."""
        return (remark for remark in self.remarks if self._wanted.search(str(remark)))

    def json(self) -> str:
        """Return them as JSON."""
        return report(self, "json")

    def yaml(self) -> str:
        """Return them as YAML in the form of LLVM."""
        return report(self, "yaml")

    def __str__(self) -> str:
        return report(self, "text")


def compile_filter(pattern: str) -> re.Pattern[str]:
    """Return the pattern that the lines of remarks are searched for.

    Raises: DiagnosticError if it is no regular expression.
    """
    try:
        return re.compile(pattern)
    except re.error as error:
        raise DiagnosticError(f"error: --remarks is '{pattern}': {error}") from error


def report(remarks: Iterable[Remark], form: str) -> str:
    """Return remarks in one of the forms."""
    if form == "json":
        import json

        return json.dumps([_fields(remark) for remark in remarks], indent=1) + "\n"
    return "".join(_yaml(remark) if form == "yaml" else f"{remark}\n" for remark in remarks)


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
    import json

    return json.dumps(text)
