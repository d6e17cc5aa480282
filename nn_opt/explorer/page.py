"""One HTML file that holds style, program and data, and asks for nothing from outside.

The program is ES modules of `web/`, joined: imports go, exports become plain names.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import zlib
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Any

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class)\b)", re.MULTILINE)
_NAME = re.compile(r"^(?:async )?(?:function\*?|const|let|class) ([\w$]+)", re.MULTILINE)
_SLOT = re.compile(r"@@(\w+)@@")
_ENTRY = "main"


def page_html(data: dict[str, Any], title: str) -> str:
    """Return the page for data; nothing in either can become markup."""
    packed = zlib.compress(json.dumps(data, separators=(",", ":")).encode("utf-8"), 9)
    style, program = web_text("page.css"), joined_program()
    slots = {
        "title": html.escape(title),
        "policy": policy(style, program),
        "style": style,
        "program": program,
        "data": base64.b64encode(packed).decode("ascii"),
    }
    return _SLOT.sub(lambda match: slots[match[1]], web_text("page.html"))


def policy(style: str, program: str) -> str:
    """Return a Content-Security-Policy that lets this style and this program run, and no other."""
    return (
        f"default-src 'none'; script-src {_digest(program)}; style-src {_digest(style)};"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


@lru_cache(maxsize=1)
def joined_program() -> str:
    """Return the modules as one, those first that others import.

    Raises: ValueError if two have a name in common, or what is left imports or exports.
    """
    order: dict[str, str] = {}
    _visit(_ENTRY, order)
    owners: dict[str, str] = {}
    for module, text in order.items():
        for name in _NAME.findall(text):
            if name in owners:
                raise ValueError(f"{module}.js and {owners[name]}.js both define {name}")
            owners[name] = module
    program = "\n".join(order.values())
    left = re.search(r"^(?:import|export)\b.*", program, re.MULTILINE)
    if left is not None or "</script" in program:
        raise ValueError(f"the modules cannot be joined: {left and left[0]}")
    return f"\n{program}"


def _visit(module: str, order: dict[str, str]) -> None:
    text = web_text(f"{module}.js")
    for needed in imports_of(text):
        if needed not in order:
            _visit(needed, order)
    order[module] = _EXPORT.sub("", _IMPORT.sub("", text))


def imports_of(text: str) -> Iterator[str]:
    """Yield the modules that a module imports."""
    return (match[1] for match in _IMPORT.finditer(text))


def web_text(name: str) -> str:
    """Return a file of `web/`."""
    return files("nn_opt.explorer").joinpath("web", name).read_text(encoding="utf-8")
