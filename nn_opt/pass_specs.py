"""`name{key=value key=1,2}`: what a pass or a list of passes is called on a command line."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.option_text import (
    parts,
    plain,
    split_pairs,
    written_element,
    written_list,
    written_text,
)
from nn_opt.registry import is_pass, load_pass, names_like

SCALARS: dict[Any, tuple[Callable[[str], object], str]] = {
    int: (lambda text: int(text, 0), "an integer"),
    float: (float, "a number"),
    str: (str, "text"),
    bool: (lambda text: {"true": True, "false": False, "": True}[text], "true or false"),
}


def suggestion(name: str, known: list[str]) -> str:
    """Return a hint line at the closest known name, or at all of them if few, or nothing."""
    from difflib import get_close_matches  # slow to import, and for errors only

    if close := get_close_matches(name, known, 1):
        return f"\n  hint: did you mean {close[0]}?"
    return f"\n  hint: there are {', '.join(known)}" if 0 < len(known) < 8 else ""


def field_types(cls: type[ModulePass]) -> dict[str, Any]:
    """Return the option names of a pass, as written on the command line, and their types."""
    hints = get_type_hints(cls)
    return {f.name.replace("_", "-"): hints[f.name] for f in dataclasses.fields(cls) if f.init}


def make_pass(name: str, options: str = "") -> ModulePass:
    """Return a pass with options such as `max-depth=4 tiles=4,8`.

    Raises: DiagnosticError for an unknown pass or option, or a value of another type.
    """
    if not is_pass(name):
        raise DiagnosticError(f"error: unknown pass '{name}'{suggestion(name, names_like(name))}")
    cls = load_pass(name)
    types = field_types(cls)
    values: dict[str, Any] = {}
    for key, text in split_options(name, _with_key(cls, options)):
        if key not in types:
            problem = f"error: --{name} has no option '{key}'"
            hint = suggestion(key, list(types)) or "\n  hint: it has none"
            raise DiagnosticError(problem + hint)
        if key.replace("-", "_") in values:
            raise DiagnosticError(f"error: --{name}: {key} is given twice")
        values[key.replace("-", "_")] = _option_value(f"--{name}: {key}", text, types[key])
    for missing in sorted(_required(cls) - values.keys()):
        raise DiagnosticError(f"error: --{name} needs the option '{missing.replace('_', '-')}'")
    return cls(**values)


def _with_key(cls: type[ModulePass], text: str) -> str:
    """Return an option text with the name of its first value, which a pass may let be left out."""
    key = getattr(cls, "positional", "")
    if not key or not text or re.match(r"\s*[\w-]+=", text):
        return text
    return f"{key}={text}"


def _required(cls: type[ModulePass]) -> set[str]:
    none = dataclasses.MISSING
    optional = {
        f.name
        for f in dataclasses.fields(cls)
        if not f.init or f.default is not none or f.default_factory is not none
    }
    return {f.name for f in dataclasses.fields(cls)} - optional


def split_options(name: str, text: str) -> list[tuple[str, str]]:
    """Return the keys of an option text, `-` and `_` are one in them, and values as written."""
    try:
        return split_pairs(text)
    except ValueError as error:
        hint = "\n  hint: no spaces around =" if re.search(r"\s=|=\s", text) else ""
        raise DiagnosticError(f"error: --{name}: {error}{hint}") from error


def _option_value(what: str, written: str, type_: Any) -> Any:
    """Return what is written as a value of an option's type."""
    origin, arguments = get_origin(type_), get_args(type_)
    if origin in (Union, UnionType):
        if written == "none" and NoneType in arguments:
            return None
        return _one_of(what, written, [a for a in arguments if a is not NoneType])
    if origin is tuple:
        return tuple(_option_value(what, part, arguments[0]) for part in parts(written))
    text = plain(written)
    if origin is Literal:
        if text in arguments:
            return text
        choices = ", ".join(cast(tuple[str, ...], arguments))
        raise DiagnosticError(f"error: {what} is '{text}', expected one of {choices}")
    convert, wanted = SCALARS[type_]
    try:
        return convert(text)
    except (ValueError, KeyError) as error:
        hint = "\n  hint: options are separated by spaces" if "=" in text else ""
        raise DiagnosticError(f"error: {what} is '{text}', expected {wanted}{hint}") from error


def _one_of(what: str, text: str, types: Sequence[Any]) -> Any:
    """Return a text as a value of the first type that takes it."""
    for type_ in types[:-1]:
        try:
            return _option_value(what, text, type_)
        except DiagnosticError:
            continue
    return _option_value(what, text, types[-1])


def spec_of(step: ModulePass) -> str:
    """Return a pass as text with all its options: `name{key=value key=1,2}`."""
    return _spec(step, list(field_types(type(step))))


def short_spec(step: ModulePass) -> str:
    """Return a pass as text with those of its options that differ from their defaults."""
    fields = [
        f.name.replace("_", "-")
        for f in dataclasses.fields(step)
        if f.init and getattr(step, f.name) != default_of(f)
    ]
    return _spec(step, fields)


def default_of(field: dataclasses.Field[Any]) -> Any:
    """Return the default of an option; MISSING if it has none."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _spec(step: ModulePass, keys: Sequence[str]) -> str:
    pairs = [f"{key}={_text(getattr(step, key.replace('-', '_')))}" for key in keys]
    return f"{step.name}{{{' '.join(pairs)}}}" if pairs else step.name


def _text(value: object) -> str:
    """Return the value of an option as `_option_value` reads it."""
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case tuple():
            return written_list([_element(part) for part in cast(tuple[object, ...], value)])
        case str():
            return written_text(value)
        case _:
            return str(value)


def _element(value: object) -> str:
    return written_element(value) if isinstance(value, str) else _text(value)
