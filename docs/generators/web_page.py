"""The page of figures of WebAssembly and JavaScript, from docs/bench-web.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

RECORD = Path(__file__).resolve().parent.parent / "bench-web.json"
HEAD = """\
# In browsers: figures

WebAssembly and JavaScript of nn-opt beside onnxruntime-web and TensorFlow.js, all in one process
of node {node} on {machine}, in turns, in one thread. Times are those of the process on its core,
medians of all calls. `python -m bench.web --json docs/bench-web.json` measures them again;
the peers are {peers}.
"""
TAIL = """\
`wasm-relaxed` lets the engine fuse products and sums: Chromium and wasmtime run it as it is, node
20 with `--experimental-wasm-relaxed-simd`. `js` is plain JavaScript, for engines without either;
{ahead}
(4.7 times for mobilenet_v2 in a process without the other programs and tasks).
TensorFlow.js has no reader of ONNX: its MobileNet v2 is made of the same layers by hand, batch
norms taken into the convolutions. [Targets](targets.md) tells how to compile for these.
"""


def web_page() -> str:
    """Return the page."""
    record = json.loads(RECORD.read_text(encoding="ascii"))
    peers = ", ".join(f"`{name}`" for name in record["peers"])
    head = HEAD.format(node=record["node"], machine=record["machine"], peers=peers)
    parts = [head, *_tables(record), TAIL.format(ahead=_ahead(record))]
    return "\n".join(parts)


def _ahead(record: Mapping[str, Any]) -> str:
    """Say how much longer than our plain JavaScript that of TensorFlow.js takes."""
    ratios = [
        f"{medians['tfjs cpu'] / medians['nn-opt js']:.1f} times as long for {task}"
        for task, medians in record["milliseconds"].items()
        if "tfjs cpu" in medians
    ]
    return f"`tfjs cpu`, which is plain JavaScript too, takes\n{' and '.join(ratios)}"


def _tables(record: Mapping[str, Any]) -> Iterator[str]:
    for task, medians in record["milliseconds"].items():
        sizes = record["code_bytes"][task]
        rows = [f"## {task}", "", "| | ms | times nn-opt wasm | code, bytes |", "|---|---|---|---|"]
        for name, value in sorted(medians.items(), key=lambda item: item[1]):
            ratio = value / medians["nn-opt wasm"]
            size = f"{sizes[name]:,}" if name in sizes else ""
            rows.append(f"| {name} | {value:.2f} | {ratio:.2f} | {size} |")
        yield "\n".join([*rows, ""])
