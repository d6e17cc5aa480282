"""Tell a file's type from its bytes: a real trained network, compiled, checked and timed.

    python examples/what_is_this_file.py README.md setup.cfg photo.png

The network is Magika's (Apache-2.0), which ships inside the Python package of that name; it reads
the first and the last 1,024 bytes of a file. The answers are compared with onnxruntime's.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

import nn_opt

Array = NDArray[Any]
REPEATS = 31


def model_folder() -> Path:
    """Return the folder with the network and its settings, without importing the package."""
    spec = find_spec("magika")
    if spec is None or spec.origin is None:
        sys.exit("error: the package magika is not installed\n  hint: pip install 'nn-opt[models]'")
    return next((Path(spec.origin).parent / "models").glob("standard_*"))


def features(content: bytes, settings: dict[str, Any]) -> Array:
    """Return int32 [1, 2048]: the bytes at both ends, without blanks, padded in the middle."""
    block, padding = settings["block_size"], settings["padding_token"]
    first = content[:block].lstrip()[: settings["beg_size"]]
    last = content[-block:].rstrip()[-settings["end_size"] :]
    row = np.full(settings["beg_size"] + settings["end_size"], padding, np.int32)
    row[: len(first)] = np.frombuffer(first, np.uint8)
    if last:
        row[-len(last) :] = np.frombuffer(last, np.uint8)
    return row[None]


def interleaved_medians(*calls: Callable[[], object]) -> list[float]:
    """Return the median seconds of each call; the calls take turns, so that a drift hits all."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(REPEATS):
        for call, taken in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def peer_session(path: Path) -> onnxruntime.InferenceSession:
    """Return onnxruntime on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def main() -> None:
    files = [Path(name) for name in sys.argv[1:]] or [Path(__file__)]
    folder = model_folder()
    settings = json.loads((folder / "config.min.json").read_text())
    labels = settings["target_labels_space"]

    start = time.perf_counter()
    model = nn_opt.compile(folder / "model.onnx", threads=1)
    rows = [features(file.read_bytes(), settings) for file in files]
    scores = [model(row) for row in rows]
    ready = time.perf_counter() - start

    session = peer_session(folder / "model.onnx")
    (input_name,) = (value.name for value in session.get_inputs())
    expected = [session.run(None, {input_name: row})[0] for row in rows]
    for file, score in zip(files, scores, strict=True):
        best = int(np.argmax(score))
        print(f"{file}: {labels[best]} ({score[0, best]:.1%} sure)")

    got, want = np.concatenate(scores), np.concatenate(expected)
    error = np.linalg.norm(got - want) / np.linalg.norm(want)
    ours, theirs = interleaved_medians(
        lambda: model(rows[0]), lambda: session.run(None, {input_name: rows[0]})
    )
    print(f"compiled (or found in the cache) and run first in {ready:.2f} s")
    print(f"relative difference from onnxruntime: {error:.1e}")
    print(f"nn-opt {ours * 1e3:.2f} ms, onnxruntime {theirs * 1e3:.2f} ms, one thread each")
    if not error < 1e-4:
        sys.exit("error: the results differ")


if __name__ == "__main__":
    main()
