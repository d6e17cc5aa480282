"""Operators that few models wait for: time against onnxruntime, on one core.

    python -m bench.rare_operators              all of them
    python -m bench.rare_operators topk gather  those whose names begin so

Both take turns in one process, so that what else the machine does meets both; "ratio" is
onnxruntime's median by ours: above 1 we are faster. Operators whose results have sizes that depend
on data run as several kernels with the host between them; that counts, too.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from rich.console import Console
from rich.table import Table

import nn_opt
from bench.subjects import load_onnxruntime
from bench.timing import pin, take_turns

OPSET = 20
MICROSOFT = "com.microsoft"

Array = NDArray[Any]


@dataclass(frozen=True)
class Operator:
    """A node, what it is fed, and what it knows."""

    kind: str
    feeds: dict[str, Array]
    weights: dict[str, Array]
    attributes: dict[str, Any]
    results: str = "f"  # a letter of NumPy for the elements of each
    domain: str = ""
    opset: int = OPSET

    def model(self) -> onnx.ModelProto:
        """Return the model that holds the node alone; its inputs are feeds, then weights."""
        results = [f"y{k}" for k in range(len(self.results))]
        names = [*self.feeds, *self.weights]
        node = helper.make_node(
            self.kind, names, results, "node", domain=self.domain, **self.attributes
        )
        inputs = [_declared(name, array.dtype, array.shape) for name, array in self.feeds.items()]
        known = [numpy_helper.from_array(array, name) for name, array in self.weights.items()]
        outputs = [
            _declared(name, np.dtype(letter), None)
            for name, letter in zip(results, self.results, strict=True)
        ]
        graph = helper.make_graph([node], self.kind, inputs, outputs, known)
        opsets = [helper.make_opsetid("", self.opset)]
        if self.domain:
            opsets.append(helper.make_opsetid(self.domain, 1))
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def _declared(name: str, kind: np.dtype[Any], shape: Sequence[int] | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(kind), shape)


def operator(
    kind: str,
    feeds: Sequence[Array],
    weights: Sequence[Any] = (),
    *,
    results: str = "f",
    domain: str = "",
    opset: int = OPSET,
    **attributes: Any,
) -> Operator:
    """Return an operator whose operands are some fed and then some known arrays."""
    fed = {f"x{k}": array for k, array in enumerate(feeds)}
    known = {f"w{k}": np.asarray(array) for k, array in enumerate(weights)}
    return Operator(kind, fed, known, attributes, results, domain, opset)


def normal(*shape: int) -> Array:
    """Return floats about 0."""
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def integers(high: int, *shape: int, kind: Any = np.int64) -> Array:
    """Return integers below a bound."""
    return np.random.default_rng(8).integers(0, high, shape).astype(kind)


def few_bits(rows: int, inner: int, columns: int, block: int = 32) -> Operator:
    """A matrix times weights of 4 bits, with zero points."""
    blocks = inner // block
    weights = integers(256, columns, blocks, block // 2, kind=np.uint8)
    scales = np.abs(normal(columns * blocks)) * np.float32(0.01)
    return operator(
        "MatMulNBits",
        [normal(rows, inner)],
        [weights, scales, integers(256, columns * ((blocks + 1) // 2), kind=np.uint8)],
        domain=MICROSOFT,
        K=inner,
        N=columns,
        bits=4,
        block_size=block,
    )


def sparse(count: int) -> Array:
    """Return floats of which half are 0."""
    return np.maximum(normal(count), 0)


def boxes(count: int) -> Array:
    """Return boxes of an image of 1000 pixels, as corners."""
    rng = np.random.default_rng(9)
    corner = rng.uniform(0, 900, (1, count, 2))
    return np.concatenate([corner, corner + rng.uniform(10, 100, (1, count, 2))], 2, dtype="f")


def positive(*shape: int) -> Array:
    """Return scores."""
    return np.random.default_rng(10).random(shape, np.float32)


OPERATORS: dict[str, Callable[[], Operator]] = {
    **{
        f"matmul4bits {m}x{k}x{n}": lambda m=m, k=k, n=n: few_bits(m, k, n)
        for m, k, n in ((1, 4096, 4096), (1, 1024, 1024), (8, 1024, 1024), (64, 1024, 1024))
    },
    "topk 1000 of 30000": lambda: operator(
        "TopK", [normal(1, 30000)], [np.array([1000])], results="fq", axis=1
    ),
    "topk 50 of 32000": lambda: operator(
        "TopK", [normal(1, 32000)], [np.array([50])], results="fq", axis=1
    ),
    "topk 5 of 1000x64": lambda: operator(
        "TopK", [normal(64, 1000)], [np.array([5])], results="fq", axis=1
    ),
    "topk 1000 of 10000 i64": lambda: operator(
        "TopK", [integers(1 << 40, 1, 10000)], [np.array([1000])], results="qq", axis=1
    ),
    "max_pool indices": lambda: operator(
        "MaxPool",
        [normal(1, 64, 112, 112)],
        results="fq",
        kernel_shape=[3, 3],
        strides=[2, 2],
        pads=[1, 1, 1, 1],
    ),
    "gather embedding": lambda: operator("Gather", [normal(30000, 768), integers(30000, 128)]),
    "gather columns": lambda: operator("Gather", [normal(1024, 1024), integers(1024, 512)], axis=1),
    "gather_elements": lambda: operator(
        "GatherElements", [normal(1024, 1024), integers(1024, 1024, 512)], axis=1
    ),
    "non_max_suppression": lambda: operator(
        "NonMaxSuppression",
        [boxes(1000), positive(1, 1, 1000)],
        [np.array([100]), np.array([0.5], "f"), np.array([0.1], "f")],
        results="q",
    ),
    "dft 16x1024": lambda: operator("DFT", [normal(16, 1024, 1)], opset=17, axis=1),
    "nonzero 100k": lambda: operator("NonZero", [sparse(100_000)], results="q"),
    "unique 10k": lambda: operator("Unique", [integers(5000, 10_000)], results="qqqq"),
    "deform_conv": lambda: operator(
        "DeformConv",
        [normal(1, 32, 28, 28), normal(32, 32, 3, 3), normal(1, 18, 28, 28)],
        kernel_shape=[3, 3],
        pads=[1, 1, 1, 1],
    ),
    "col2im": lambda: operator(
        "Col2Im", [normal(1, 16 * 9, 900)], [np.array([32, 32]), np.array([3, 3])]
    ),
    "grid_sample": lambda: operator(
        "GridSample", [normal(1, 16, 64, 64), positive(1, 64, 64, 2) * 2 - 1]
    ),
    "add i64": lambda: operator("Add", [integers(99, 1 << 16), integers(99, 1 << 16)], results="q"),
}


@dataclass(frozen=True)
class Row:
    """One operator's medians, in microseconds."""

    operator: str
    ours_us: float
    onnxruntime_us: float

    @property
    def ratio(self) -> float:
        """How many times as fast as onnxruntime we are."""
        return self.onnxruntime_us / self.ours_us


def measure(name: str, seconds: float) -> Row:
    """Compile one operator and time both in turns."""
    subject = OPERATORS[name]()
    proto = subject.model()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "operator.onnx"
        path.write_bytes(proto.SerializeToString())
        peer = load_onnxruntime(path, 1)
    model = nn_opt.compile(proto, threads=1, cache=False)
    calls = {"ours": lambda: model.run(subject.feeds), "peer": lambda: peer(subject.feeds)}
    medians = take_turns(calls, seconds).medians
    return Row(name, medians["ours"] * 1e3, medians["peer"] * 1e3)


def table_of(rows: Sequence[Row]) -> Table:
    """Return the table of all operators."""
    table = Table(title="one core, medians in turns")
    table.add_column("operator", no_wrap=True)
    for title in ("nn-opt us", "onnxruntime us", "ratio"):
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(
            row.operator, f"{row.ours_us:.0f}", f"{row.onnxruntime_us:.0f}", f"{row.ratio:.2f}"
        )
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.rare_operators")
    parser.add_argument("operators", nargs="*", metavar="PREFIX", help=", ".join(OPERATORS))
    parser.add_argument("--seconds", type=float, default=1.0, help="of taking turns, an operator")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args(arguments)
    prefixes = tuple(options.operators) or ("",)
    pin(1)
    rows = [measure(name, options.seconds) for name in OPERATORS if name.startswith(prefixes)]
    Console().print(table_of(rows))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
