"""What tests register is gone after them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from nn_opt import pipelines, registry
from nn_opt.ir import contexts

TABLES: tuple[dict[str, Any], ...] = (
    registry.PASSES,
    registry.SOURCES,
    registry._classes,
    contexts.REGISTERED,
    pipelines.PIPELINES,
    pipelines.PIPELINE_SOURCES,
)


@contextmanager
def kept() -> Generator[None]:
    """Give the tables of passes and dialects their content back."""
    before = [dict(table) for table in TABLES]
    try:
        yield
    finally:
        for table, rows in zip(TABLES, before, strict=True):
            table.clear()
            table.update(rows)
