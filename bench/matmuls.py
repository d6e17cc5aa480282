"""Matrix products of all sizes and forms: time against onnxruntime, and against the machine.

    python -m bench.matmuls                   all
    python -m bench.matmuls constant batch    those whose names begin so

"of limit" compares the kernel's time with what the core allows: the peak of its arithmetic, or
the bandwidth of the memory or cache that what it reads and writes fits in, whichever is slower.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path

import numpy as np
import onnx
from rich.console import Console
from rich.table import Table

import nn_opt
from bench.bandwidth import Bandwidth
from bench.feeds import Array, Feeds
from bench.models import sample_inputs
from bench.models.layers import Value, Writer
from bench.peak import Peak
from bench.subjects import Run, load_onnxruntime
from bench.timing import pin, take_turns

CONSTANT = "constant"  # the right side is weights
GEMM = "gemm"  # the same as Gemm writes it: weights transposed, a bias
BOTH = "both"  # neither side is constant
LEFT = "left^T"  # ... and the left side comes through a Transpose
RIGHT = "right^T"  # ... or the right side


@dataclass(frozen=True)
class Product:
    """y[.., m, n] = sum over k of a[.., m, k] * b[.., k, n]"""

    form: str
    m: int
    k: int
    n: int
    batch: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The form, then batch and sizes."""
        batch = "x".join(map(str, self.batch)) + " of " if self.batch else ""
        return f"{self.form} {batch}{self.m}x{self.k}x{self.n}"

    @property
    def flops(self) -> int:
        """Operations: 2 a multiply-add."""
        return 2 * prod(self.batch) * self.m * self.k * self.n

    @property
    def bytes(self) -> int:
        """What is read and written, each number once."""
        m, k, n = self.m, self.k, self.n
        weights = k * n * (1 if self.form in (CONSTANT, GEMM) else prod(self.batch))
        return 4 * (prod(self.batch) * (m * k + m * n) + weights)


ROWS = (1, 2, 3, 4, 7, 8, 13, 16, 31, 64, 128, 513, 1024)
EVERY_ROWS = ((768, 768), (333, 1000))  # inner size and columns that meet all of ROWS
SIZES = (17, 100, 333, 768, 1000, 3072, 4096)
SOME_ROWS = (1, 5, 64)
LARGE = ((1024, 1024, 1024), (128, 768, 3072), (128, 3072, 768), (513, 1000, 1001))
VECTOR = ((768, 3072), (4096, 4096), (3072, 768), (1000, 1000), (1024, 1001), (512, 17), (333, 100))
ATTENTION = (
    ((12,), (128, 64, 128)),
    ((12,), (128, 128, 64)),
    ((4,), (64, 32, 64)),
    ((2, 3), (50, 33, 77)),
)


def _products() -> list[Product]:
    large = [Product(CONSTANT, *sizes) for sizes in LARGE]
    rows = [Product(CONSTANT, m, k, n) for k, n in EVERY_ROWS for m in ROWS]
    vector = [Product(CONSTANT, 1, k, n) for k, n in VECTOR]
    columns = [Product(CONSTANT, m, 333, n) for m in SOME_ROWS for n in SIZES]
    inner = [Product(CONSTANT, m, k, 100) for m in SOME_ROWS for k in SIZES]
    gemm = [Product(GEMM, m, 512, n) for m in SOME_ROWS for n in (10, 1000)]
    both = [Product(BOTH, m, k, n) for k, n in ((768, 768), (333, 1000)) for m in ROWS]
    both += [Product(BOTH, 1024, 1024, 1024), Product(BOTH, 64, 4096, 17), Product(BOTH, 64, 64, 4)]
    sizes = ((1, 768, 768), (7, 333, 100), (128, 64, 128), (128, 768, 768), (512, 512, 512))
    turned = [Product(form, *size) for form in (LEFT, RIGHT) for size in sizes]
    batch = [Product(form, *size, b) for b, size in ATTENTION for form in (BOTH, RIGHT)]
    return [*large, *rows, *vector, *columns, *inner, *gemm, *both, *turned, *batch]


PRODUCTS = {product.name: product for product in _products()}


def model_of(p: Product) -> onnx.ModelProto:
    """Return the model of one product."""
    w = Writer(p.name)
    return w.model(_write(w, p))


def _write(w: Writer, p: Product) -> Value:
    left, right = (*p.batch, p.m, p.k), (*p.batch, p.k, p.n)
    result = (*p.batch, p.m, p.n)
    if p.form == GEMM:
        return w.gemm(w.input("a", left), p.n)
    if p.form == CONSTANT:
        return w.node("MatMul", w.input("a", left), w.normal((p.k, p.n), p.k**-0.5), shape=result)
    a = _operand(w, "a", left, turned=p.form == LEFT)
    b = _operand(w, "b", right, turned=p.form == RIGHT)
    return w.node("MatMul", a, b, shape=result)


def _operand(w: Writer, name: str, shape: tuple[int, ...], *, turned: bool) -> Value:
    if not turned:
        return w.input(name, shape)
    *batch, rows, columns = shape
    perm = [*range(len(batch)), len(batch) + 1, len(batch)]
    return w.node("Transpose", w.input(name, (*batch, columns, rows)), shape=shape, perm=perm)


@dataclass(frozen=True)
class Speed:
    """One product's figures; the limit is the time that the machine needs at least."""

    product: str
    ours_ms: float
    onnxruntime_ms: float
    kernels_us: float
    gflops: float
    limit_us: float
    relative_error: float


@dataclass(frozen=True)
class Case:
    """A product, compiled and ready to be timed."""

    product: Product
    model: nn_opt.Model
    peer: Run
    feeds: Feeds

    @classmethod
    def of(cls, product: Product) -> Case:
        """Compile a product, for timing too."""
        proto = model_of(product)
        feeds = sample_inputs(proto)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "product.onnx"
            path.write_bytes(proto.SerializeToString())
            peer = load_onnxruntime(path, 1)
        model = nn_opt.compile(proto, threads=1, cache=False)
        model.profile(feeds, repeat=1)
        return cls(product, model, peer, feeds)

    def measure(self, peak: Peak, bandwidth: Bandwidth, seconds: float) -> Speed:
        """Time the whole call in turns with onnxruntime's, then the kernels alone."""
        calls = {"ours": self._run, "peer": lambda: self.peer(self.feeds)}
        medians = take_turns(calls, seconds).medians
        kernels = sum(k.seconds for k in self.model.profile(self.feeds, repeat=20)) * 1e6
        p = self.product
        arithmetic = p.flops / peak.gflops() / 1e3
        memory = p.bytes / bandwidth.gigabytes(p.bytes) / 1e3
        return Speed(
            p.name,
            medians["ours"],
            medians["peer"],
            kernels,
            p.flops / max(kernels, 1e-3) / 1e3,
            max(arithmetic, memory),
            self._error(),
        )

    def _run(self) -> list[Array]:
        return list(self.model.run(self.feeds).values())

    def _error(self) -> float:
        """Return the largest difference from onnxruntime, as a part of the largest result."""
        (ours,), (exact,) = self._run(), self.peer(self.feeds)
        return float(np.abs(ours - exact).max() / np.abs(exact).max())


def table_of(rows: Sequence[Speed], peak: float) -> Table:
    """Return the table of all products."""
    table = Table(title=f"one core, f32, medians; peak {peak:.1f} GFLOP/s")
    table.add_column("product", no_wrap=True)
    for title in ("nn-opt us", "onnxruntime us", "ratio", "kernel us", "GFLOP/s", "of limit"):
        table.add_column(title, justify="right", overflow="fold")
    for row in rows:
        table.add_row(
            row.product,
            f"{row.ours_ms * 1e3:.1f}",
            f"{row.onnxruntime_ms * 1e3:.1f}",
            f"{row.onnxruntime_ms / row.ours_ms:.2f}",
            f"{row.kernels_us:.1f}",
            f"{row.gflops:.1f}",
            f"{row.limit_us / max(row.kernels_us, 1e-3):.0%}",
        )
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.matmuls")
    parser.add_argument("products", nargs="*", metavar="PREFIX", help="of names in the table")
    parser.add_argument("--seconds", type=float, default=0.3, help="of taking turns, a product")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args(arguments)
    prefixes = tuple(options.products) or ("",)
    chosen = [p for name, p in PRODUCTS.items() if name.startswith(prefixes)]
    if not chosen:
        parser.error(f"no product begins with {' or '.join(prefixes)}")
    pin(1)
    console, peak, bandwidth = Console(), Peak(), Bandwidth()
    rows: list[Speed] = []
    for product in chosen:
        with console.status(product.name):
            rows.append(Case.of(product).measure(peak, bandwidth, options.seconds))
    console.print(table_of(rows, peak.gflops()))
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
