"""What `nn-opt doctor` says of devices: each kind is asked for in a process that may end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

SECONDS = 20  # a driver may take to answer


def _opencl() -> list[str]:
    from nn_opt.runtime.opencl import devices

    return [f"{device.name.strip()} ({device.platform.name.strip()})" for device in devices()]


def _cuda() -> list[str]:
    from nn_opt.runtime.cuda import first_device

    name, machine, _ = first_device()
    return [f"{name} (sm_{machine})"]


def _webgpu() -> list[str]:
    from nn_opt.runtime.webgpu import adapters

    infos: list[Any] = [adapter.info for adapter in adapters()]
    return [f"{info['device']} ({info['backend_type']})" for info in infos]


KINDS: dict[str, Callable[[], list[str]]] = {"opencl": _opencl, "cuda": _cuda, "webgpu": _webgpu}


def devices() -> Iterator[tuple[str, str, str]]:
    """Yield for each kind its name, its devices or what is wrong, and what helps against that."""
    asked = {kind: _ask(kind) for kind in KINDS}  # all at once
    for kind, process in asked.items():
        yield (kind, *_answer(process))


def _ask(kind: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", __name__, kind],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _answer(process: subprocess.Popen[str]) -> tuple[str, str]:
    remedy = "look at the driver's installation"
    try:
        said, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"its driver does not answer within {SECONDS} seconds", remedy
    for line in reversed(said.splitlines()):  # drivers print, too
        with suppress(ValueError):
            detail, remedy = json.loads(line)
            return detail, remedy
    return f"its driver ended the process, status {process.returncode}", remedy


def main(kind: str) -> None:
    """Print what is said of the devices of a kind, as JSON in one line."""
    from nn_opt.runtime.loader import RuntimeFault

    try:
        answer = ("; ".join(KINDS[kind]()), "")
    except RuntimeFault as error:
        problem, _, hint = str(error).partition("\n  hint: ")
        answer = (problem.removeprefix("error: "), hint.removeprefix("run ") or "see above")
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1])
