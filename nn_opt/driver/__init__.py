"""nn-opt: read a model or IR, run the passes named on the command line in order, print IR."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from nn_opt import __version__

COLLECT_AFTER = 200_000  # objects; IR is a web of cycles that stays, so look at it seldom


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; return its exit status: 0, or 1 after one message, or 130 after Ctrl-C."""
    gc.set_threshold(COLLECT_AFTER, 20, 50)
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        status = _run(arguments)
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]  # after >&-
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, say `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


def program() -> NoReturn:
    """Run the tool as a process: it ends at once, as taking all objects apart is a tenth of a run.

    It ends as usual if anybody asked to be called then, or if there are other threads.
    """
    status = main()
    threads = sys.modules.get("threading")
    asked = atexit._ncallbacks()  # pyright: ignore[reportPrivateUsage]  # nothing public says
    if asked or (threads is not None and threads.active_count() > 1):
        sys.exit(status)
    sys.stderr.flush()
    os._exit(status)


def _run(arguments: list[str]) -> int:
    if arguments == ["--version"]:  # no need to import a compiler
        sys.stdout.write(f"nn-opt {__version__}\n")
        return 0
    if arguments[:1] == ["doctor"]:
        from nn_opt.driver.doctor import report  # works even if a package is missing

        text, status = report()
        sys.stdout.write(text)
        return status
    gc.disable()
    try:
        from nn_opt.driver.tool import run_tool
    finally:
        gc.freeze()  # what was imported stays: it is old now
        gc.unfreeze()
        gc.enable()
    return run_tool(arguments)
