"""Single layers: time against onnxruntime, and speed as a part of the peak in the same run.

    python -m bench.operators              all layers
    python -m bench.operators conv matmul  those whose names begin so
    python -m bench.operators --sweep      layers of odd sizes, groups, dilations and dimensions

"kernel" is the layer's own kernel, timed inside the compiled model; what comes before and after
it, such as turning the model's NCHW image into blocks of channels, counts in "nn-opt ms" alone,
as onnxruntime's own reordering does in its time. "direct" layers are compiled with Winograd's
algorithm off. Layers with "net" stand between two 1x1 convolutions, as they do in models, so
that they read and write blocks of channels; only their own kernel is shown.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import onnx
from rich.console import Console
from rich.table import Table

import nn_opt
from bench.models import sample_inputs
from bench.models.layers import Value, Writer
from bench.peak import Peak
from bench.subjects import load_onnxruntime
from bench.sweep import SWEEP
from bench.timing import pin, take_turns
from nn_opt.runtime.profile import KernelTime

Layer = Callable[[Writer], Value]


def conv(edge: int, channels: int, filters: int, size: int, stride: int = 1) -> Layer:
    """A convolution of one square image, padded so that stride 1 keeps its size."""
    return lambda w: w.conv(w.input("x", (1, channels, edge, edge)), filters, size, stride=stride)


def depthwise(edge: int, channels: int, stride: int = 1) -> Layer:
    """A 3x3 convolution of each channel by itself."""

    def write(w: Writer) -> Value:
        x = w.input("x", (1, channels, edge, edge))
        return w.conv(x, channels, 3, stride=stride, groups=channels)

    return write


def inside(edge: int, channels: int, stride: int = 1) -> Layer:
    """The same between 1x1 convolutions; it is the second of three."""

    def write(w: Writer) -> Value:
        before = w.conv(w.input("x", (1, 16, edge, edge)), channels, 1)
        return w.conv(w.conv(before, channels, 3, stride=stride, groups=channels), 16, 1)

    return write


def between(edge: int, channels: int, filters: int) -> Layer:
    """A 1x1 convolution between two others; it is the second of three."""

    def write(w: Writer) -> Value:
        before = w.conv(w.input("x", (1, 16, edge, edge)), channels, 1)
        return w.conv(w.conv(before, filters, 1), 16, 1)

    return write


def matmul(rows: int, inner: int, columns: int) -> Layer:
    """A matrix times constant weights."""

    def write(w: Writer) -> Value:
        weights = w.normal((inner, columns), inner**-0.5)
        return w.node("MatMul", w.input("x", (rows, inner)), weights, shape=(rows, columns))

    return write


def pointwise(kind: str, *shape: int, **attributes: Any) -> Layer:
    """An operator that keeps the shape."""
    return lambda w: w.like(kind, w.input("x", shape), **attributes)


MIDDLE = "/conv_1"  # the node of the second convolution
DIRECT, INSIDE = "direct ", ", net"
DENSE = ((56, 64), (28, 128), (14, 256), (7, 512))  # ResNet-18's
DEPTHWISE_1 = ((112, 32), (56, 128), (28, 256), (14, 512), (7, 1024))  # MobileNet v1's
DEPTHWISE_2 = ((112, 64), (56, 128), (28, 256), (14, 512))
POINTWISE = (  # ResNet-50's, then MobileNet v1's: edge, channels, filters
    *((56, 64, 256), (56, 256, 64), (28, 512, 128), (14, 1024, 256), (7, 2048, 512)),
    *((112, 32, 64), (56, 128, 128), (28, 256, 256), (14, 512, 512), (7, 1024, 1024)),
)
MATMULS = ((1024, 1024, 1024), (128, 768, 3072), (128, 3072, 768))

CONTRACTIONS: dict[str, Layer] = {  # what a core's peak is the measure of
    **{f"conv3x3 {e}x{e}x{c}": conv(e, c, c, 3) for e, c in DENSE},
    **{f"{DIRECT}3x3 {e}x{e}x{c}": conv(e, c, c, 3) for e, c in DENSE},
    f"{DIRECT}5x5 28x28x64": conv(28, 64, 64, 5),
    **{f"conv1x1 {e}x{e}x{c}-{f}": conv(e, c, f, 1) for e, c, f in POINTWISE},
    **{f"conv1x1 {e}x{e}x{c}-{f}{INSIDE}": between(e, c, f) for e, c, f in POINTWISE},
    "stem 7x7 s2 3-64": conv(224, 3, 64, 7, stride=2),
    "stem 3x3 s2 3-32": conv(224, 3, 32, 3, stride=2),
    **{f"depthwise {e}x{e}x{c}": depthwise(e, c) for e, c in DEPTHWISE_1},
    **{f"depthwise {e}x{e}x{c}{INSIDE}": inside(e, c) for e, c in DEPTHWISE_1},
    **{f"depthwise s2 {e}x{e}x{c}": depthwise(e, c, stride=2) for e, c in DEPTHWISE_2},
    **{f"depthwise s2 {e}x{e}x{c}{INSIDE}": inside(e, c, 2) for e, c in DEPTHWISE_2},
    **{f"matmul {m}x{k}x{n}": matmul(m, k, n) for m, k, n in MATMULS},
}
ELEMENTWISE: dict[str, Layer] = {
    "softmax 1536x128": pointwise("Softmax", 1536, 128, axis=-1),
    **{f"{kind.lower()} 1Mi": pointwise(kind, 1024, 1024) for kind in ("Exp", "Tanh", "Erf")},
}
LAYERS = {**CONTRACTIONS, **ELEMENTWISE}
KNOWN = {**LAYERS, **SWEEP}


@dataclass(frozen=True)
class Speed:
    """One layer's figures."""

    layer: str
    ours_ms: float
    onnxruntime_ms: float
    kernel_us: float
    gflops: float  # of the kernel; an element's function counts as one
    peak_gflops: float  # of the core, about the same time


def measure(name: str, peak: Peak, seconds: float) -> Speed:
    """Compile one layer and time it; the peak is measured before and after its kernel."""
    proto = model_of(name)
    feeds = sample_inputs(proto)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "layer.onnx"
        path.write_bytes(proto.SerializeToString())
        peer = load_onnxruntime(path, 1)
    winograd = "off" if name.startswith(DIRECT) else "auto"
    model = nn_opt.compile(proto, threads=1, cache=False, winograd=winograd)
    calls = {"ours": lambda: model.run(feeds), "peer": lambda: peer(feeds)}
    medians = take_turns(calls, seconds).medians
    before = peak.gflops()
    kernel = kernel_of(name, model.profile(feeds, repeat=20))
    best = max(before, peak.gflops())
    kernel_us = kernel.seconds * 1e6
    return Speed(name, medians["ours"], medians["peer"], kernel_us, kernel.gflops, best)


def kernel_of(name: str, times: Sequence[KernelTime]) -> KernelTime:
    """Return the kernel of a layer: that of the second convolution, or what computes most."""
    own = [time for time in times if MIDDLE in time.kernel.nodes]
    chosen = own if name.endswith(INSIDE) and own else times
    return max(chosen, key=lambda time: (time.kernel.flops, time.seconds))


def model_of(name: str) -> onnx.ModelProto:
    """Return the model that holds one layer."""
    writer = Writer(name)
    return writer.model(KNOWN[name](writer))


def table_of(rows: Sequence[Speed]) -> Table:
    """Return the table of all layers; the peak is the highest that was seen meanwhile."""
    peak = max(row.peak_gflops for row in rows)
    table = Table(title=f"one core, f32, medians; peak {peak:.1f} GFLOP/s")
    table.add_column("layer", no_wrap=True)
    for title in ("nn-opt ms", "onnxruntime ms", "ratio", "kernel us", "GFLOP/s", "of peak"):
        table.add_column(title, justify="right", overflow="fold")
    for row in rows:
        whole = (
            f"{row.ours_ms:.3f}",
            f"{row.onnxruntime_ms:.3f}",
            f"{row.onnxruntime_ms / row.ours_ms:.2f}",
        )
        table.add_row(
            row.layer,
            *([""] * 3 if row.layer.endswith(INSIDE) else whole),
            f"{row.kernel_us:.1f}",
            f"{row.gflops:.1f}",
            f"{row.gflops / peak:.1%}" if row.layer not in ELEMENTWISE else "",
        )
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.operators")
    parser.add_argument("layers", nargs="*", metavar="PREFIX", help=", ".join(LAYERS))
    parser.add_argument("--sweep", action="store_true", help="layers of odd sizes, groups, ...")
    parser.add_argument("--seconds", type=float, default=1.0, help="of taking turns, a layer")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args(arguments)
    prefixes = tuple(options.layers) or ("",)
    layers = SWEEP if options.sweep else LAYERS
    names = [name for name in layers if name.startswith(prefixes)]
    if not names:
        parser.error(f"no layer begins with {' or '.join(prefixes)}")
    pin(1)
    console, peak = Console(), Peak()
    rows: list[Speed] = []
    for name in names:
        with console.status(name):
            rows.append(measure(name, peak, options.seconds))
    console.print(table_of(rows))
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
