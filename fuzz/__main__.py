"""Fuzzes what reads files, by libFuzzer with coverage of the Python code (package `atheris`).

    python -m fuzz [TARGET ...] --seconds 600

The target `graphs` draws models, runs them and compares what they compute; see `fuzz/graphs`.

Inputs that raise what no reader may raise are saved in `fuzz/findings/`, one for each place in
the code. Hangs (20 s) and more than 3 GiB of memory end a target, and their input is kept, too.
Once mended, a finding moves to `fuzz/corpus/TARGET/`, where the tests run it again.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fuzz.graphs.processes import fuzz_graphs
from fuzz.targets import TARGETS, Target

GRAPHS = "graphs"
FINDINGS = Path(__file__).resolve().parent / "findings"
LIMITS = ("-timeout=20", "-rss_limit_mb=3072", "-print_final_stats=1")
EXECUTED = re.compile(r"stat::number_of_executed_units:\s+(\d+)")


def main() -> None:
    """Fuzz each target in a process of its own, in turns, and say what came of it."""
    names = [*TARGETS, GRAPHS]
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[[], *names], default=names)
    parser.add_argument("--seconds", type=int, default=60, help="for each target (60)")
    options = parser.parse_args()
    FINDINGS.mkdir(exist_ok=True)
    for name in options.targets:
        if name == GRAPHS:
            runs = fuzz_graphs(options.seconds, FINDINGS)
        else:
            runs = fuzz(name, TARGETS[name], options.seconds)
        found = sorted(FINDINGS.glob(f"{name}-*"))
        print(
            f"{name}: {runs} executions in {options.seconds} s, {len(found)} findings", flush=True
        )
        for file in found:
            print(f"  {file}")


def fuzz(name: str, target: Target, seconds: int) -> int:
    """Return how many inputs a target was given; after a hang it begins anew."""
    end, runs = time.monotonic() + seconds, 0
    with tempfile.TemporaryDirectory() as folder:
        for k, seed in enumerate(target.seeds()):
            if len(seed) <= target.most_bytes:
                (Path(folder) / f"seed{k}").write_bytes(seed)
        while (left := int(end - time.monotonic())) > 0:
            command = [sys.executable, "-m", "fuzz.child", name, folder, *LIMITS]
            command += [f"-max_total_time={left}", f"-max_len={target.most_bytes}"]
            command += [f"-artifact_prefix={FINDINGS}/{name}-"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            counts = EXECUTED.findall(done.stderr)
            runs += int(counts[-1]) if counts else 0
            if not counts:
                sys.exit(f"{name}: the fuzzer did not run:\n{done.stderr[-2000:]}")
    return runs


if __name__ == "__main__":
    main()
