"""Regions nest as deeply as they like: parser and printer, which recurse, change stacks.

A thread has a stack, and a count of Python's frames, of its own. So what recurses once a region
goes on in a new thread after some levels, while its caller waits: no recursion limit of Python, and
no size of a stack, bounds how deeply regions nest. Attributes, types and locations may nest as
deeply as the frames left on one stack allow, some hundreds of levels.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

LEVELS = 64  # regions on one stack; a level takes up to 25 frames
READING_FRAMES, FRAMES = 4000, 8000  # what could be read can be printed, compared and hashed
_STACK_BYTES = 64 << 20  # reserved, not used: 8000 frames with C code between take up to 8 MB


class TooDeepError(Exception):
    """The system has no more stacks."""


class _Depth(threading.local):
    levels = 0


_depth = _Depth()


def allow_deep_nesting(frames: int = FRAMES) -> None:
    """Raise Python's recursion limit, never lower it."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), frames))


def unbounded(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Let a method that recurses once a region do so without bounds."""

    @wraps(method)
    def on_some_stack(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        _depth.levels += 1
        try:
            if _depth.levels < LEVELS:
                return method(self, *args, **kwargs)
            return _on_new_stack(lambda: method(self, *args, **kwargs))
        finally:
            _depth.levels -= 1

    return on_some_stack


def _on_new_stack(call: Callable[[], R]) -> R:
    """Return what a call returns, or raise what it raises, having run it in a thread."""
    results: list[R] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # any: it goes on in the caller
            errors.append(error)

    before = threading.stack_size(_STACK_BYTES)
    try:
        thread = threading.Thread(target=copy_context().run, args=(run,), daemon=True)
        thread.start()
    except RuntimeError as error:
        raise TooDeepError from error
    finally:
        threading.stack_size(before)
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
