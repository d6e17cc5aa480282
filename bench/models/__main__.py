"""Writes the benchmark models into a folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.models import MODELS, build


def main() -> None:
    """Parse the command line and write the models."""
    parser = argparse.ArgumentParser(prog="python -m bench.models")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*MODELS, []])
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or MODELS:
        path = options.folder / f"{name}.onnx"
        path.write_bytes(build(name).SerializeToString())
        print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
