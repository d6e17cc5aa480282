"""nn-opt: read a model or IR, run the passes named on the command line in order, print IR."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

COLLECT_AFTER = 200_000  # objects; IR is a web of cycles that stays, so look at it seldom


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; return its exit status: 0, or 1 after one message, or 130 after Ctrl-C."""
    gc.set_threshold(COLLECT_AFTER, 20, 50)
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        status = _run(arguments)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, say `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["doctor"]:
        from nn_opt.driver.doctor import report  # works even if a package is missing

        text, status = report()
        sys.stdout.write(text)
        return status
    from nn_opt.driver.tool import run_tool

    return run_tool(arguments)
