"""passes/__init__.pyi: the names and options of passes, for editors and type checkers."""

from __future__ import annotations

from nn_opt.pass_names import camel_case
from nn_opt.pass_specs import field_types
from nn_opt.pipelines import PIPELINES
from nn_opt.registry import PASSES, SOURCES, load_pass

_HEAD = '''"""The names in the table of passes, written by docs/generate.py."""

from typing import Any, Literal

'''
_PIPELINE = "from nn_opt.pipeline import Pipeline\n"
_TAIL = """
# Passes of others: registered by a program, of installed packages, and xDSL's (`XdslCse`).
def __getattr__(name: str) -> Any: ...  # pyright: ignore[reportIncompleteStub]
def __dir__() -> list[str]: ...
"""


def pass_stub() -> str:
    """Return the text of passes/__init__.pyi."""
    own = sorted((*PASSES[name].split(":"), name) for name in PASSES if name not in SOURCES)
    imports = [*(f"from {module} import {cls}\n" for module, cls, _ in own), _PIPELINE]
    names = [f"{camel_case(name)} = {cls}\n" for _, cls, name in own]
    return "".join([_HEAD, *imports, "\n", *names, "\n", *map(_pipeline, PIPELINES), _TAIL])


def _pipeline(name: str) -> str:
    types = {
        key.replace("-", "_"): type_
        for step in PIPELINES[name]
        for key, type_ in field_types(load_pass(step)).items()
    }
    if not types:
        return f"def {camel_case(name)}() -> Pipeline: ...\n"
    options = "".join(f"    {key}: {_text(type_)} = ...,\n" for key, type_ in types.items())
    return f"def {camel_case(name)}(\n    *,\n{options}) -> Pipeline: ...\n"


def _text(type_: object) -> str:
    if isinstance(type_, type) and not hasattr(type_, "__args__"):
        return type_.__name__
    return str(type_).replace("typing.", "").replace("'", '"')
