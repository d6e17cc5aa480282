"""Python's search for garbage, put off while IR is built: nearly all of it stays alive."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

COLLECT_AFTER = 1_000_000  # objects made and not freed: some 100 MB


@contextmanager
def quiet_collector() -> Generator[None]:
    """While active, reference cycles are looked for after many more objects than usual."""
    before = gc.get_threshold()
    gc.set_threshold(max(COLLECT_AFTER, before[0]), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
