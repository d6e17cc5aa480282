"""Python's search for garbage, put off while IR is built: nearly all of it stays alive."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

COLLECT_AFTER = 1_000_000  # objects made and not freed: some 100 MB


@contextmanager
def quiet_collector() -> Generator[None]:
    """While active, reference cycles are looked for after many more objects than usual.

    What was made meanwhile counts as old afterwards: it is looked through when all is, not at once.
    """
    before = gc.get_threshold()
    if before[0] >= COLLECT_AFTER:  # it is quiet already
        yield
        return
    gc.set_threshold(COLLECT_AFTER, *before[1:])
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # nobody else keeps objects apart
            gc.freeze()
            gc.unfreeze()
        gc.set_threshold(*before)
