"""`key=value key={a,b} key="x y"`: the options of a pass as text, in the forms that MLIR reads.

A value ends at a space, unless that is in quotes or braces. In quotes, a backslash stands before a
quote, another backslash, or the `n` of a line break. Lists have commas, and may be in braces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_KEY = re.compile(r"\s*([A-Za-z][\w-]*)(=?)")
_ESCAPE = re.compile(r"""\\([\\"'n])""")
_BARE = re.compile(r"[\w.,:/+-]+")
_PAIRS = {"{": "}", '"': '"', "'": "'"}


def group_end(text: str, at: int) -> int | None:
    """Return where what a quote or brace opens is over; None if it never is.

    >>> group_end('{a="}" b={c}} d', 0)
    13
    """
    close = _PAIRS[text[at]]
    position = at + 1
    while position < len(text):
        character = text[position]
        if character == close:
            return position + 1
        if close != "}":
            position += 2 if character == "\\" else 1
        elif character in _PAIRS:
            inner = group_end(text, position)
            if inner is None:
                return None
            position = inner
        else:
            position += 1
    return None


def split_pairs(text: str) -> list[tuple[str, str]]:
    """Return the keys and values of a text, the values as they are written.

    Raises: ValueError that says where the text goes wrong.

    >>> split_pairs('max_depth=4 on name="a b" sizes={1,2}')
    [('max-depth', '4'), ('on', ''), ('name', '"a b"'), ('sizes', '{1,2}')]
    """
    text = text.strip()
    if text.startswith("{") and group_end(text, 0) == len(text):
        text = text[1:-1].strip()
    pairs: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        key = _KEY.match(text, at)
        if key is None:
            raise ValueError(f"expected key=value, got '{text[at:].strip()}'")
        end = _value_end(text, key.end())
        value = text[key.end() : end]
        if value and not key[2]:
            raise ValueError(f"expected key=value, got '{text[at:].strip()}'")
        pairs.append((key[1].replace("_", "-"), value))
        at = end
    return pairs


def _value_end(text: str, at: int) -> int:
    while at < len(text) and not text[at].isspace():
        end = group_end(text, at) if text[at] in _PAIRS else at + 1
        if end is None:
            raise ValueError(f"nothing closes what begins at '{text[at:]}'")
        at = end
    return at


def plain(written: str) -> str:
    r"""Return a value without its quotes or braces.

    >>> print(plain(r'"say \"a b\""'), plain("{a b}"), plain("f{x}"))
    say "a b" a b f{x}
    """
    if _is_group(written) and written[0] == "{":
        return written[1:-1]
    return "".join(_unquoted(piece) for piece in _pieces(written))


def parts(written: str) -> list[str]:
    """Return the elements of a list, each as it is written.

    >>> parts("1,2"), parts("{1,2}"), parts('"a b",c'), parts("")
    (['1', '2'], ['1', '2'], ['"a b"', 'c'], [])
    """
    if _is_group(written):
        written = written[1:-1]
    found = [""] if written else []
    for piece in _pieces(written):
        if piece == ",":
            found.append("")
        else:
            found[-1] += piece
    return [part if part[:1] in _PAIRS else part.strip() for part in found]


def _is_group(written: str) -> bool:
    return written[:1] in _PAIRS and bool(written) and group_end(written, 0) == len(written)


def _pieces(written: str) -> Iterator[str]:
    """Yield single characters, and what quotes and braces hold as one."""
    at = 0
    while at < len(written):
        end = (group_end(written, at) if written[at] in _PAIRS else None) or at + 1
        yield written[at:end]
        at = end


def _unquoted(piece: str) -> str:
    if len(piece) < 2 or piece[0] == "{":
        return piece
    return _ESCAPE.sub(lambda found: "\n" if found[1] == "n" else found[1], piece[1:-1])


def written_text(text: str, bare: re.Pattern[str] = _BARE) -> str:
    r"""Return a text as `plain` reads it, in one line; `none` in quotes is no missing value.

    >>> print(written_text("a b"), written_text("a"), written_text('say "a"'))
    "a b" a 'say "a"'
    """
    if bare.fullmatch(text) and text != "none":
        return text
    if '"' in text and not re.search(r"['\\\n]", text):
        return f"'{text}'"
    escaped = re.sub(r'([\\"])', r"\\\1", text).replace("\n", r"\n")
    return f'"{escaped}"'


def written_list(texts: Sequence[str]) -> str:
    """Return a list of elements, each as it is written, as `parts` reads it.

    >>> written_list(["1", "2"]), written_list(['"a,b"']), written_list([])
    ('1,2', '{"a,b"}', '')
    """
    joined = ",".join(texts)
    return f"{{{joined}}}" if len(texts) == 1 and joined[:1] in _PAIRS else joined


def written_element(text: str) -> str:
    """Return a text as an element of a list: a comma is in quotes."""
    return written_text(text, _BARE_ELEMENT)


_BARE_ELEMENT = re.compile(r"[\w.:/+-]+")
