"""Operators on the text of strings."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from nn_opt.staged.host.table import Array, Call, HostFault, host, string, tensor


@host("StringConcat", kind=string)
def string_concat(call: Call) -> Array:
    return np.asarray(call.array(0) + call.array(1), object)


@host("StringSplit", kind=string)
def string_split(call: Call) -> tuple[Array, Array]:
    """Rows are as long as the longest one, empty at the end; and how many pieces each string has.

    Without a delimiter, any run of white space is one.
    """
    data = call.array(0)
    delimiter = call.attrs.text("delimiter") or None
    most = call.attrs.int("maxsplit", -1)
    pieces = [str(text).split(delimiter, most) for text in data.reshape(-1)]
    width = max(map(len, pieces), default=0)
    rows = np.full((len(pieces), width), "", object)
    for row, found in zip(rows, pieces, strict=True):
        row[: len(found)] = found
    counts = np.asarray([len(found) for found in pieces], np.int64).reshape(data.shape)
    return rows.reshape(*data.shape, width), counts


@host("RegexFullMatch", kind=tensor)
def regex_full_match(call: Call) -> Array:
    try:
        pattern = re.compile(call.attrs.text("pattern"))
    except re.error as error:
        raise HostFault(f"the pattern is no regular expression: {error}") from None
    data = call.array(0)
    found = [pattern.fullmatch(str(text)) is not None for text in data.reshape(-1)]
    return np.asarray(found, bool).reshape(data.shape)


CASES: dict[str, Callable[[str], str]] = {"LOWER": str.lower, "UPPER": str.upper, "NONE": str}


@host("StringNormalizer", kind=string)
def string_normalizer(call: Call) -> Array:
    """Drop the stop words of a vector or of one row, then change the case of what is left."""
    data = call.array(0)
    if data.ndim > 2 or (data.ndim == 2 and data.shape[0] != 1):
        raise HostFault(f"the input has shape {list(data.shape)}, expected [C] or [1, C]")
    change = call.attrs.choice("case_change_action", "NONE", CASES)
    exact = call.attrs.flag("is_case_sensitive")
    same: Callable[[str], str] = str if exact else str.lower
    stops = {same(word) for word in call.attrs.texts("stopwords") or []}
    kept = [change(str(text)) for text in data.reshape(-1) if same(str(text)) not in stops]
    result = np.asarray(kept or [""], object)
    return result.reshape(1, -1) if data.ndim == 2 else result
