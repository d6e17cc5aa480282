"""How IR looks in a notebook: `import nn_opt` in IPython or Jupyter is enough.

IPython is asked to show what xDSL defines by its name, so nothing is imported before it is shown.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from nn_opt.runtime.html import fold

LONG = 120  # lines; longer functions are folded
SHOWN = 2000  # lines; what is longer is cut


def register() -> None:
    """Let the running IPython, if there is one, show IR, schedules and pipelines in colour."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return
    formatter = shell.display_formatter.formatters["text/html"]
    for (module, name), show in SHOWS.items():
        formatter.for_type_by_name(module, name, show)


def operation_html(op: Any) -> str:
    """Return an operation as highlighted text; a module has a fold for each long function."""
    from xdsl.dialects.builtin import ModuleOp

    if not isinstance(op, ModuleOp):
        return text_html(_text(op))
    parts = [(_title(inner), _text(inner)) for inner in op.body.ops]
    if sum(text.count("\n") for _, text in parts) <= LONG:
        return text_html(_text(op))
    folds = [fold(title, text_html(text), is_open=len(parts) == 1) for title, text in parts]
    return "".join(folds)


def schedule_html(schedule: Any) -> str:
    """Return a schedule: its script, and the loops as they are now."""
    script = fold("script", text_html(_text(schedule.script)), is_open=True)
    return script + fold("loops", text_html(_text(schedule.function)))


def pipeline_html(pipeline: Any) -> str:
    """Return a pipeline as its text."""
    return text_html(str(pipeline))


def text_html(text: str) -> str:
    """Return IR text as HTML, coloured, and cut where it is too long for a page."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter

    from nn_opt.highlight import MlirLexer

    lines = text.split("\n")
    cut = f"// ... and {len(lines) - SHOWN} more lines\n" if len(lines) > SHOWN else ""
    shown = "\n".join(lines[:SHOWN]) + f"\n{cut}"
    make: Any = HtmlFormatter
    return highlight(shown, MlirLexer(), make(noclasses=True, nobackground=True, wrapcode=True))


def _text(op: Any) -> str:
    from nn_opt.ir.printing import print_module

    return print_module(op)


def _title(op: Any) -> str:
    name = op.get_attr_or_prop("sym_name")
    lines = _text(op).count("\n")
    return f"{op.name} {getattr(name, 'data', '')} ({lines} lines)"


SHOWS: dict[tuple[str, str], Callable[[Any], str]] = {
    ("xdsl.ir.core", "Operation"): operation_html,
    ("nn_opt.schedule.schedule", "Schedule"): schedule_html,
    ("nn_opt.pipeline", "Pipeline"): pipeline_html,
}
