"""`--value NAME=1,2`: values of a model that shall be constants of its code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nn_opt.driver.models import fail

_WORDS = {"true": True, "false": False}


def parse_values(texts: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return arrays by name: k=3 is a number, s=2,3 a vector, s=2, one of a single element.

    Raises: DiagnosticError for a text that says no numbers.
    """
    values: dict[str, NDArray[Any]] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name:
            fail(f"error: --value is {text!r}, expected NAME=1,2")
        values[name] = _array(text, value)
    return values


def _array(text: str, value: str) -> NDArray[Any]:
    parts = [part.strip() for part in value.removesuffix(",").split(",") if value]
    numbers = [_number(text, part) for part in parts]
    if not numbers:
        return np.zeros(0, np.int64)
    array = np.asarray(numbers)
    array = array.astype(np.float32) if array.dtype.kind == "f" else array
    return array if "," in value else array.reshape(())


def _number(text: str, part: str) -> bool | int | float:
    if part in _WORDS:
        return _WORDS[part]
    for kind in (int, float):
        try:
            return kind(part)
        except ValueError:
            pass
    fail(f"error: --value is {text!r}, but {part!r} is no number")
