"""Runs a function in a forked child: a crash or an endless loop is a result like any other."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

Result = dict[str, Any]
Work = Callable[[str], Result]


@dataclass
class _Child:
    """A running child and what it has said so far."""

    name: str
    pid: int
    pipe: int
    deadline: float
    said: bytearray = field(default_factory=bytearray)


def run_all(
    names: Sequence[str], work: Work, jobs: int, limit: float
) -> Iterator[tuple[str, Result]]:
    """Yield each name with what `work` returns for it, in the order in which they end.

    Each runs in a child of its own for at most `limit` seconds, `jobs` of them at a time. The
    result of a child that dies is a status "crash" or "hang".
    """
    waiting = list(reversed(names))
    running: dict[int, _Child] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                child = _start(waiting.pop(), work, limit)
                running[child.pipe] = child
            for child in _ready(running):
                if not _read_on(child):
                    del running[child.pipe]
                    yield child.name, _end(child)
            for child in [c for c in running.values() if time.monotonic() > c.deadline]:
                del running[child.pipe]
                yield child.name, _stop(child, limit)
    finally:
        for child in running.values():
            _stop(child, limit)


def _start(name: str, work: Work, limit: float) -> _Child:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_child(name, work, writer)
    os.close(writer)
    return _Child(name, pid, reader, time.monotonic() + limit)


def _be_child(name: str, work: Work, writer: int) -> None:
    """Work, write the result, end: without what Python does at its end, which is the parent's."""
    os.setpgid(0, 0)  # helpers of the child are stopped with it
    status = 1
    try:
        data = json.dumps(work(name)).encode()
        with os.fdopen(writer, "wb") as file:
            file.write(data)
        status = 0
    finally:
        os._exit(status)


def _ready(running: dict[int, _Child]) -> list[_Child]:
    first = min(child.deadline for child in running.values())
    wait = max(0.0, first - time.monotonic()) + 0.01
    return [running[pipe] for pipe in select.select(list(running), [], [], wait)[0]]


def _read_on(child: _Child) -> bool:
    data = os.read(child.pipe, 1 << 16)
    child.said += data
    return bool(data)


def _end(child: _Child) -> Result:
    os.close(child.pipe)
    _, status = os.waitpid(child.pid, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
        return json.loads(child.said)
    what = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "the process ended"
    return {"status": "crash", "message": what}


def _stop(child: _Child, limit: float) -> Result:
    os.killpg(child.pid, signal.SIGKILL)
    os.close(child.pipe)
    os.waitpid(child.pid, 0)
    return {"status": "hang", "message": f"not done after {limit:g} s"}
