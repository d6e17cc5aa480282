"""Write what is made from the code: pages of docs/, and the type stub of `nn_opt.passes`.

python docs/generate.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "generators"), str(HERE.parent)]

from backends_page import backends_page  # noqa: E402 (found by the line before)
from command_pages import command_page  # noqa: E402
from dialect_pages import DIALECTS, dialect_page, index_page  # noqa: E402
from dtypes_page import dtypes_page  # noqa: E402
from onnx_page import onnx_page  # noqa: E402
from pass_pages import passes_page  # noqa: E402
from pass_stub import pass_stub  # noqa: E402
from pipeline_page import pipeline_page  # noqa: E402
from web_page import web_page  # noqa: E402

from conformance.page import page as conformance_page  # noqa: E402

PAGES: dict[str, Callable[[], str]] = {
    "pipeline.md": pipeline_page,
    "passes.md": passes_page,
    "dialects.md": index_page,
    "command-line.md": command_page,
    "onnx.md": onnx_page,
    "backends.md": backends_page,
    "dtypes.md": dtypes_page,
    "conformance.md": conformance_page,
    "web-benchmarks.md": web_page,
    "../passes/__init__.pyi": pass_stub,
    **{f"dialects/{d.name}.md": partial(dialect_page, d) for d in DIALECTS},
}


def main() -> None:
    for name, page in PAGES.items():
        path = HERE / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(page())


if __name__ == "__main__":
    main()
