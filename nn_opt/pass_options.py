"""Options of passes as Python values: what types they may have, and what is wrong with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

from xdsl.passes import ModulePass

from nn_opt.pass_specs import SCALARS, field_types, suggestion

_ACCEPTED: dict[Any, Any] = {int: int, float: (int, float), str: str, bool: bool}

_NUMBERS = (int, float)


def make_checked(
    cls: type[ModulePass], title: str, /, *arguments: Any, **options: Any
) -> ModulePass:
    """Return a pass with options.

    Raises: TypeError for an option that it does not have, or a value of another type.
    """
    types = {key.replace("-", "_"): type_ for key, type_ in field_types(cls).items()}
    if len(arguments) > len(types):
        raise TypeError(f"{title} takes {len(types)} options, got {len(arguments)}")
    given = dict(zip(types, arguments, strict=False))
    for key in options:
        if key in given:
            raise TypeError(f"{title}: {key} is given twice")
    given |= options
    if unknown := next((key for key in given if key not in types), None):
        raise TypeError(f"{title} has no option {unknown!r}{choices(unknown, types)}")
    values = {key: checked_option(title, key, value, types[key]) for key, value in given.items()}
    for f in dataclasses.fields(cls):
        missing = f.default is f.default_factory is dataclasses.MISSING
        if f.init and missing and f.name not in values:
            raise TypeError(f"{title} needs the option {f.name!r}")
    return cls(**values)


def choices(key: str, types: Mapping[str, Any]) -> str:
    """Return what to say after the name of an unknown option."""
    if not types:
        return "; it has none"
    hint = suggestion(key, list(types)).strip().removeprefix("hint: ")
    return f"; {hint}" if hint else ""


def checked_option(title: str, key: str, value: object, type_: Any) -> object:
    """Return the value of an option.

    Raises: TypeError, with the title, for a value of another type.
    """
    try:
        return checked_value(value, type_)
    except ValueError as error:
        raise TypeError(f"{title}: {key} is {value!r}, expected {error}") from error


def is_option_type(type_: Any) -> bool:
    """Return whether options may be of a type."""
    origin, arguments = get_origin(type_), get_args(type_)
    if origin in (Union, UnionType):
        rest = [a for a in arguments if a is not NoneType]
        return len(rest) == 1 and is_option_type(rest[0])
    if origin is tuple:
        return arguments[-1:] == (Ellipsis,) and arguments[0] in SCALARS
    if origin is Literal:
        return all(isinstance(a, str) for a in arguments)
    return type_ in SCALARS


def checked_value(value: Any, type_: Any) -> Any:
    """Return a value of an option as the option's type has it: lists become tuples.

    Raises: ValueError that says what was expected.
    """
    origin, arguments = get_origin(type_), get_args(type_)
    if origin in (Union, UnionType):
        if value is None and NoneType in arguments:
            return None
        return checked_value(value, next(a for a in arguments if a is not NoneType))
    if origin is tuple:
        if not isinstance(value, tuple | list):
            raise ValueError("a tuple")
        return tuple(checked_value(part, arguments[0]) for part in cast(tuple[Any, ...], value))
    if origin is Literal:
        if value not in arguments:
            raise ValueError(f"one of {', '.join(map(repr, arguments))}")
        return value
    if type_ in _NUMBERS and hasattr(value, "dtype") and hasattr(value, "item"):
        value = value.item()  # a number of NumPy
    if isinstance(value, bool) is not (type_ is bool) or not isinstance(value, _ACCEPTED[type_]):
        raise ValueError(SCALARS[type_][1])
    return float(value) if type_ is float else value
