"""Where the time of compiling a model goes, phase by phase, in CPU seconds of this process.

    python -m bench.compile_time resnet50

Also starts processes that run the model once: cold, with an empty cache, on all cores and on one,
and warm.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.cases import NAMES, Case, prepare
from bench.fresh import run_fresh
from bench.subjects import OURS


class Clock:
    """CPU seconds by phase; a phase lasts until the next one is named."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._phase = ""
        self._begin = time.process_time()

    def enter(self, phase: str, *_: object) -> None:
        """End a phase and begin another; passes that run again add to their first time."""
        now = time.process_time()
        if self._phase:
            before = self.seconds.get(self._phase, 0.0)
            self.seconds[self._phase] = before + now - self._begin
        self._phase, self._begin = phase, now


def profile(case: Case, cache: Path) -> dict[str, float]:
    """Compile as `nn_opt.compile` does with an empty cache; return CPU seconds by phase.

    There, other processes help, and machine code is made while weights are packed; here, one thing
    is done after the other.
    """
    clock = Clock()
    clock.enter("import the compiler")
    import_module("nn_opt.frontends.onnx")
    from nn_opt.backends.llvm.object import emit_object
    from nn_opt.build import lower
    from nn_opt.collector import quiet_collector
    from nn_opt.origin import origin_of
    from nn_opt.runtime.artifact import Artifact
    from nn_opt.runtime.cache import key_of, open_cache
    from nn_opt.runtime.program import Program
    from nn_opt.runtime.weights import Pack

    shapes = {name: list(array.shape) for name, array in case.feeds().items()}
    with quiet_collector():
        clock.enter("digest of the model")
        origin = origin_of(case.path)
        key = key_of(origin.content())
        clock.enter("read the model")
        origin.signature({}, {})
        clock.enter("convert the model to graph")
        module = origin.module({}, shapes)
        clock.enter("verify; import the passes")
        lowered = lower(module, "cpu", progress=clock.enter)
        clock.enter("machine code")
        code = emit_object(lowered.text, lowered.machine)
        clock.enter("pack the weights into the cache")

        def packed(pack: Pack) -> Artifact:
            weights = pack(lowered.arrays, lowered.offsets, lowered.manifest.weight_bytes)
            return Artifact(lowered.manifest, code, weights)

        artifact = open_cache(cache).fill(key, packed)
        clock.enter("load")
        Program(artifact)
        clock.enter("")
    return {name: seconds for name, seconds in clock.seconds.items() if name}


def table_of(name: str, seconds: dict[str, float]) -> Table:
    """Return the table of phases, in the order in which they began."""
    table = Table(title=f"compiling {name}: CPU seconds by phase")
    table.add_column("phase")
    table.add_column("s", justify="right")
    for phase, taken in seconds.items():
        table.add_row(phase, f"{taken:.3f}")
    table.add_row("all", f"{sum(seconds.values()):.3f}", style="bold")
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, profile, start the two processes."""
    parser = argparse.ArgumentParser(prog="python -m bench.compile_time")
    parser.add_argument("model", metavar="MODEL", choices=NAMES, help=", ".join(NAMES))
    name = parser.parse_args(arguments).model
    console = Console()
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        case = prepare(name, folder)
        console.print(table_of(name, profile(case, folder / "profiled")))
        for kind, cores in (("cold", ""), ("cold", "1"), ("warm", "")):
            settings = {"NN_OPT_CACHE": str(folder / f"cache{cores}")}
            if cores:
                settings["OMP_NUM_THREADS"] = cores  # which compiling heeds, too
            fresh = run_fresh(OURS, case, 1, settings)
            console.print(
                f"{kind} process{' without helpers' if cores else ''}: {fresh.seconds:.2f} s,"
                f" {fresh.cpu_seconds:.2f} s of CPU, {fresh.peak_mb:.0f} MB"
            )


if __name__ == "__main__":
    main()
