"""Every public name has a documentation whose examples are true."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from importlib import import_module

import pytest
from registered import kept

import nn_opt

PUBLIC = [name for name in nn_opt.__all__ if name not in ("__version__", "passes")]
MODULES = sorted({getattr(nn_opt, name).__module__ for name in PUBLIC} | {"nn_opt.passes"})
OURS = [name for name in MODULES if name.startswith("nn_opt.")]
# What takes a model, or is shown in pages of its own.
ELSEWHERE = {"Model", "import_model", "explore", "meaning"}


@pytest.fixture(autouse=True)
def tables() -> Iterator[None]:
    """Examples register passes and dialects."""
    with kept():
        yield


@pytest.mark.parametrize("name", OURS)
def test_examples_are_true(name: str):
    failed, _ = doctest.testmod(import_module(name))
    assert failed == 0


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in ELSEWHERE])
def test_public_name_has_an_example(name: str):
    thing = getattr(nn_opt, name)
    assert thing.__module__.startswith("xdsl.") or ">>>" in (thing.__doc__ or "")


def test_public_names_are_listed():
    assert dir(nn_opt) == sorted(nn_opt.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Pipelin'"):
        _ = nn_opt.Pipelin
