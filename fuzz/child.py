"""The process that fuzzes one target: `python -m fuzz.child TARGET CORPUS [libFuzzer's flags]`."""

from __future__ import annotations

import hashlib
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

FINDINGS = Path(__file__).resolve().parent / "findings"
INSTRUMENTED = ["nn_opt.ir", "nn_opt.frontends", "nn_opt.runtime", "nn_opt.pipeline_text"]


def main() -> None:
    """Fuzz until libFuzzer's limits say stop."""
    try:
        atheris: Any = import_module("atheris")
    except ImportError:
        sys.exit("error: the package 'atheris' is not installed\n  hint: pip install '.[fuzz]'")
    with atheris.instrument_imports(include=INSTRUMENTED):
        from fuzz.targets import TARGETS
    name, *flags = sys.argv[1:]
    target = TARGETS[name]

    def one(data: bytes) -> None:
        try:
            target.run(data)
        except Exception as error:  # any: it is what is looked for
            save(name, data, error)

    atheris.Setup([sys.argv[0], *flags], one)
    atheris.Fuzz()


def save(name: str, data: bytes, error: Exception) -> None:
    """Keep the shortest input for each kind of error and place in nn-opt's code."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "fuzz" not in f.filename]
    ours = [f for f in frames if "nn_opt" in f.filename or "/main/" in f.filename] or frames
    place = f"{type(error).__name__}:{ours[-1].name}:{ours[-1].lineno}" if ours else "?"
    file = (
        FINDINGS / f"{name}-{type(error).__name__}-{hashlib.sha1(place.encode()).hexdigest()[:8]}"
    )
    if file.exists() and file.stat().st_size <= len(data):
        return
    file.write_bytes(data)
    file.with_suffix(".txt").write_text("".join(traceback.format_exception(error)))


if __name__ == "__main__":
    main()
