"""Room for deeply nested regions: parser, verifier and printer recurse once a region."""

import sys

FRAMES = 20_000  # about 1,200 nested regions; a frame of CPython 3.11 needs no C stack of its own


def allow_deep_nesting() -> None:
    """Raise Python's recursion limit, never lower it."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), FRAMES))
