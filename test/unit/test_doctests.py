"""Every public name has a documentation whose examples are true."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from importlib import import_module

import pytest

import nn_opt
from nn_opt import registry
from nn_opt.ir import contexts

PUBLIC = [name for name in nn_opt.__all__ if name not in ("__version__", "passes")]
MODULES = sorted({getattr(nn_opt, name).__module__ for name in PUBLIC} | {"nn_opt.passes"})
OURS = [name for name in MODULES if name.startswith("nn_opt.")]
# What takes a model, or is shown in pages of its own.
ELSEWHERE = {"Model", "import_model", "explore", "meaning"}


@pytest.fixture(autouse=True)
def tables() -> Iterator[None]:
    """Examples register passes and dialects; leave none behind."""

    kept = [dict(table) for table in TABLES]
    yield
    for table, before in zip(TABLES, kept, strict=True):
        table.clear()
        table.update(before)


TABLES: tuple[dict[str, object], ...] = (
    registry.PASSES,  # pyright: ignore[reportAssignmentType]
    registry.SOURCES,
    registry._classes,
    contexts.REGISTERED,
)


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
