"""What the tool knows: passes, their options, dialects, operations."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import textwrap
from collections.abc import Iterable
from typing import Any, Literal, get_args, get_origin

from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.hints import type_repr

from nn_opt.instruments.statistics import declared
from nn_opt.ir.contexts import REGISTERED, installed_dialects
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.parsing import DIALECTS, make_context, more_dialects
from nn_opt.pass_specs import default_of, field_types, suggestion
from nn_opt.pipeline_text import FUNCTION, MODULE
from nn_opt.pipelines import PIPELINE_SOURCES, PIPELINES, pipeline_owners
from nn_opt.registry import (
    PASSES,
    SOURCES,
    discover,
    is_pass,
    load_pass,
    names_like,
    runs_on_functions,
)


def _documentation(thing: type[Any]) -> str:
    return inspect.cleandoc(thing.__doc__ or "")


def _summary(thing: type[Any]) -> str:
    return _documentation(thing).split("\n")[0]


def pass_summary(name: str) -> str:
    """Return in a sentence what a pass of our own does: what its file says of itself."""
    cls = load_pass(name)
    text = inspect.cleandoc(sys.modules[cls.__module__].__doc__ or "").split("\n")[0]
    said = text.removeprefix(f"{name}: ")
    if said != text:
        return said[:1].upper() + said[1:]
    return text if _summary(cls).startswith("Needs: ") else _summary(cls)


def _table(rows: Iterable[tuple[str, str]]) -> str:
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    return "".join(f"  {name:{width}}  {text}".rstrip() + "\n" for name, text in rows)


def _columns(names: Iterable[str]) -> str:
    """Return names in lines."""
    indent = "  "
    lines = textwrap.wrap(
        " ".join(names),
        width=98,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    return "".join(f"{line}\n" for line in lines)


def list_passes() -> str:
    """Return a table of the passes and pipelines; of xDSL's passes the names."""
    from nn_opt.xdsl_passes import names

    discover()
    passes = _table((f"--{name}", pass_summary(name)) for name in PASSES if name not in SOURCES)
    for source in dict.fromkeys(SOURCES.values()):
        rows = [(f"--{n}", _foreign_summary(n)) for n in PASSES if SOURCES.get(n) == source]
        passes += f"\npasses of {source}\n{_table(rows)}"
    passes += f"\npasses of xDSL\n{_columns(f'--{name}' for name in names())}"
    pipelines = _pipelines("nn-opt")
    for source in dict.fromkeys(PIPELINE_SOURCES.values()):
        pipelines += f"\npipelines of {source}\n{_pipelines(source)}"
    return f"passes\n{passes}\npipelines\n{pipelines}"


def _pipelines(source: str) -> str:
    owners = pipeline_owners()
    names = [name for name in PIPELINES if owners[name] == source]
    return _table((f"--{name}", " ".join(PIPELINES[name])) for name in names)


def _foreign_summary(name: str) -> str:
    """Return what a pass of others does; a package that is broken does not hide the rest."""
    try:
        return _summary(load_pass(name))
    except DiagnosticError as error:
        return str(error)


def pass_help(name: str) -> str:
    """Return what a pass or pipeline does, its options with type and default, and its counters.

    Raises: DiagnosticError for an unknown name.
    """
    name = name.removeprefix("--")
    if name in PIPELINES:
        return _pipeline_help(name)
    if not is_pass(name):
        hint = suggestion(name, [*names_like(name), *PIPELINES])
        hint = hint or "\n  hint: --list-passes lists the passes"
        raise DiagnosticError(f"error: unknown pass '{name}'{hint}")
    cls = load_pass(name)
    options = _options(cls).items()
    tail = f"options\n{_table(options)}" if options else "no options\n"
    counters = _table((counter.name, counter.text) for counter in declared(cls))
    tail += f"statistics\n{counters}" if counters else ""
    where = f"{MODULE} or {FUNCTION}" if runs_on_functions(name) else MODULE
    if name in SOURCES:
        tail += f"from {SOURCES[name]}\n"
    return f"--{name}\n{_documentation(cls)}\n\nruns on {where}\n{tail}"


def _pipeline_help(name: str) -> str:
    """Return the passes of a pipeline, and the options that it hands on to them."""
    rows = PIPELINES[name]
    options = {k: v for row in rows for k, v in _options(load_pass(row.partition("{")[0])).items()}
    tail = f"options, for the passes that have them\n{_table(options.items())}" if options else ""
    return f"--{name}: a pipeline\n{_table((f'--{row}', '') for row in rows)}{tail}"


def _options(cls: type[ModulePass]) -> dict[str, str]:
    """Return the type and default of each option of a pass."""
    defaults = {f.name: default_of(f) for f in dataclasses.fields(cls)}
    return {
        option: f"{_type_text(type_)} = {_default(defaults[option.replace('-', '_')])}"
        for option, type_ in field_types(cls).items()
    }


def _type_text(type_: Any) -> str:
    if get_origin(type_) is Literal:
        return "|".join(map(str, get_args(type_)))
    return type_repr(type_)


def _default(value: object) -> str:
    if value is dataclasses.MISSING:
        return "(required)"
    return str(value).lower() if isinstance(value, bool) else str(value)


def show_dialects(name: str) -> str:
    """Return the names of the dialects, or a table of the operations of one.

    Raises: DiagnosticError for an unknown dialect.
    """
    names = list(dict.fromkeys(["builtin", *DIALECTS, *REGISTERED, *installed_dialects()]))
    more = sorted(more_dialects().keys() - set(names))
    if name == "all":
        known = "".join(f"{dialect}\n" for dialect in names)
        return f"{known}\ndialects of xDSL\n{_columns(more)}"
    if name not in names and name not in more:
        hint = suggestion(name, [*names, *more])
        raise DiagnosticError(f"error: unknown dialect '{name}'{hint}")
    operations = make_context().get_dialect(name).operations
    return _table((operation.name, _op_summary(operation)) for operation in operations)


def _op_summary(operation: type[Operation]) -> str:
    return _summary(operation)
