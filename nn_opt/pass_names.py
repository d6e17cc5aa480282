"""`nn_opt.passes.FuseOps(max_depth=4)`: passes and pipelines by name, with checked options."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable
from functools import cache
from typing import Any

from xdsl.passes import ModulePass

from nn_opt.pass_options import choices, make_checked
from nn_opt.pass_specs import field_types, suggestion
from nn_opt.pipeline import Pipeline
from nn_opt.pipelines import PIPELINES, expand
from nn_opt.plans import Group
from nn_opt.registry import XDSL, discover, load_pass, names_like


def camel_case(name: str) -> str:
    """Return the name of a class: fuse-ops becomes FuseOps."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("-"))


def names() -> list[str]:
    """Return all names, those of installed packages and of xDSL too."""
    discover()
    return sorted(_table(XDSL))


def named(name: str) -> Any:
    """Return the pass class, or the function that makes the pipeline, of a name.

    Raises: AttributeError for another name.
    """
    known = _table(name)
    if name not in known and discover():
        known = _table(name)
    if name not in known:
        hint = suggestion(name, list(known)).strip().removeprefix("hint: ")
        raise AttributeError(f"nn_opt.passes has no {name!r}" + (f"; {hint}" if hint else ""))
    flag = known[name]
    return _pipeline(flag) if flag in PIPELINES else _pass(load_pass(flag))


def _table(name: str) -> dict[str, str]:
    """Return the flags of all names; of xDSL's passes only if one of them may be meant."""
    flags = (*names_like(name.lower()), *PIPELINES)
    return {camel_case(flag): flag for flag in flags}


class _Checked(ABCMeta):
    """The class of a pass under its short name: it makes passes whose options are checked.

    What it makes are instances of the pass's own class, as a command line makes them.
    """

    def __call__(cls, *arguments: Any, **options: Any) -> ModulePass:
        own = vars(cls).get("own")
        if own is None:  # a subclass
            return super().__call__(*arguments, **options)
        return make_checked(own, cls.__name__, *arguments, **options)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, vars(cls).get("own", ())) or super().__instancecheck__(instance)


@cache
def _pass(cls: type[ModulePass]) -> type[ModulePass]:
    from inspect import signature

    body = {
        "__doc__": cls.__doc__,
        "__module__": "nn_opt.passes",
        "__signature__": signature(cls),
        "own": cls,
    }
    made: Any = _Checked(camel_case(cls.name), (cls,), body)
    return made


def _options(step: ModulePass) -> dict[str, Any]:
    keys = (key.replace("-", "_") for key in field_types(type(step)))
    return {key: getattr(step, key) for key in keys}


def _pipeline(flag: str) -> Callable[..., Pipeline]:
    """Return the function that makes a named pipeline."""
    title = camel_case(flag)

    def make(**options: Any) -> Pipeline:
        own = [(type(step), _options(step)) for step in expand(flag)]
        have = dict.fromkeys(key for _, values in own for key in values)
        if unknown := next((key for key in options if key not in have), None):
            hint = choices(unknown, have)
            raise TypeError(f"no pass of {title} has an option {unknown!r}{hint}")
        steps = [
            make_checked(cls, title, **{key: options.get(key, values[key]) for key in values})
            for cls, values in own
        ]
        return Pipeline.from_plan((Group(flag, tuple(steps)),))

    make.__name__ = make.__qualname__ = title
    make.__module__ = "nn_opt.passes"
    make.__doc__ = (
        f"Return the pipeline {', '.join(PIPELINES[flag])}; each pass takes the options it has."
    )
    return make
