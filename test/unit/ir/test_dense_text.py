"""Long literals of numbers are read as xDSL reads them, or left to it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.utils.exceptions import ParseError

from nn_opt.ir import dense_text
from nn_opt.ir.dense_text import read_literal
from nn_opt.ir.parsing import LocatingParser, make_context


def read(text: str, monkeypatch: pytest.MonkeyPatch, long: int) -> str:
    """Return the attribute as bytes, or the message."""
    monkeypatch.setattr(dense_text, "LONG", long)
    try:
        attribute = LocatingParser(make_context(), text, "m.mlir").parse_attribute()
    except (ParseError, OverflowError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    assert isinstance(attribute, DenseIntOrFPElementsAttr)
    return attribute.data.data.hex()


CASES = [
    ("[1, -2, 3]", "3xi32"),
    ("[[1, 2], [3, 4]]", "2x2xi8"),
    ("[[1.5, 2.0], [-3.25, 1.0e-3]]", "2x2xf32"),
    ("[1.1, 2.2E+5 , 3.3e5]", "3xf64"),
    ("[0.1, 65504.0, 1.0e-7]", "3xf16"),
    ("[-0.0, 1.0e30]", "2xf32"),
    ("[\n1, 2,\n\t3]", "3xindex"),
    ("[9223372036854775807, -9223372036854775808]", "2xi64"),
    ("[18446744073709551615, 1]", "2xi64"),
    ("[255, -128]", "2xi8"),
    ("[256, 1]", "2xi8"),
    ("[300, 1]", "2xui8"),
    ("[1, 0]", "2xi1"),
    ("[1, 2]", "2xf32"),
    ("[1.0, 2.0]", "2xi32"),
    ("[1.0, 2]", "2xf32"),
    ("[1.0e400, 2.0]", "2xf32"),
    ("[1.0e39, 2.0]", "2xf32"),
    ("[1.5, 2.5]", "2xbf16"),
    ("[1, 2, 3]", "2xi32"),
    ("[1, 2]", "2x1xi32"),
    ("[[1, 2], [3]]", "2x2xi32"),
    ("[1,, 2]", "2xi32"),
    ("[1, ]", "1xi32"),
    ("[1 2]", "2xi32"),
    ("[.5, 1.0]", "2xf32"),
    ("[+5, 1]", "2xi32"),
    ("[1e5, 2.0]", "2xf32"),
    ("[1.2.3, 2]", "2xf32"),
    ("[- 1, 2]", "2xi32"),
    ("[--1, 2]", "2xi32"),
    ("[]", "0xi32"),
    ("[1]", "?xi32"),
    ("[1, 2", "2xi32"),
]


@pytest.mark.parametrize(("literal", "shape"), CASES)
def test_short_and_long_way_agree(literal: str, shape: str, monkeypatch: pytest.MonkeyPatch):
    text = f"dense<{literal}> : tensor<{shape}>"
    assert read(text, monkeypatch, 0) == read(text, monkeypatch, 10**9)


def test_the_short_way_is_taken(monkeypatch: pytest.MonkeyPatch):
    rng = random.Random(1)
    numbers = [f"{rng.uniform(-9, 9):.9g}" for _ in range(3000)]
    numbers = [n if "." in n else f"{n}.0" for n in numbers]
    text = f"dense<[{', '.join(numbers)}]> : tensor<3000xf32>"
    expected = read(text, monkeypatch, 10**9)
    taken: list[str] = []

    def recorded(text: str, type: Any) -> Any:
        taken.append(text)
        return read_literal(text, type)

    monkeypatch.setattr("nn_opt.ir.parsing.read_literal", recorded)
    assert read(text, monkeypatch, 2000) == expected
    assert len(taken) == 1
