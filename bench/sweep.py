"""Layers of odd sizes: channels and images that no vector divides, groups, dilation, dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench.models.layers import Value, Writer

Layer = Callable[[Writer], Value]


def convolution(
    shape: Sequence[int],
    filters: int,
    kernel: Sequence[int],
    *,
    stride: int = 1,
    dilation: int = 1,
    groups: int = 1,
) -> Layer:
    """A convolution of any rank, padded so that stride 1 keeps the size."""

    def write(w: Writer) -> Value:
        n, channels, *image = shape
        inputs = channels // groups
        taps = 1
        for size in kernel:
            taps *= size
        weights = w.normal((filters, inputs, *kernel), (2.0 / (inputs * taps)) ** 0.5)
        pads = [dilation * (size - 1) // 2 for size in kernel]
        spans = [
            edge + 2 * pad - dilation * (size - 1) - 1
            for edge, pad, size in zip(image, pads, kernel, strict=True)
        ]
        return w.node(
            "Conv",
            w.input("x", shape),
            weights,
            shape=(n, filters, *(span // stride + 1 for span in spans)),
            kernel_shape=list(kernel),
            strides=[stride] * len(image),
            dilations=[dilation] * len(image),
            pads=pads * 2,
            group=groups,
        )

    return write


def transposed(shape: Sequence[int], filters: int, size: int, stride: int) -> Layer:
    """A transposed convolution of a square image, padded by half of what it adds."""

    def write(w: Writer) -> Value:
        n, channels, *image = shape
        weights = w.normal((channels, filters, size, size), channels**-0.5)
        pad = (size - stride) // 2
        return w.node(
            "ConvTranspose",
            w.input("x", shape),
            weights,
            shape=(n, filters, *(stride * (edge - 1) + size - 2 * pad for edge in image)),
            strides=[stride] * 2,
            pads=[pad] * 4,
            kernel_shape=[size] * 2,
        )

    return write


def pool(kind: str, shape: Sequence[int], size: int, stride: int) -> Layer:
    """A pooling of a square image without padding."""

    def write(w: Writer) -> Value:
        n, channels, *image = shape
        return w.node(
            kind,
            w.input("x", shape),
            shape=(n, channels, *((edge - size) // stride + 1 for edge in image)),
            kernel_shape=[size] * 2,
            strides=[stride] * 2,
        )

    return write


# batch, channels, edge, filters, kernel edge
DENSE = (
    *((1, 3, 299, 32, 3), (1, 7, 149, 13, 3), (1, 13, 149, 7, 3), (1, 17, 75, 40, 3)),
    *((1, 24, 75, 24, 3), (1, 40, 13, 17, 3), (4, 24, 13, 40, 3), (32, 40, 7, 24, 3)),
    *((1, 24, 75, 40, 1), (4, 13, 75, 24, 1), (1, 40, 13, 17, 1), (32, 40, 7, 40, 1)),
    *((1, 17, 75, 24, 5), (4, 40, 13, 40, 5), (1, 7, 149, 17, 7)),
)
DEPTHWISE = (
    *((1, 7, 149, 3), (1, 24, 75, 3), (1, 17, 75, 3), (4, 40, 13, 3), (32, 40, 7, 3)),
    *((1, 144, 56, 5), (1, 480, 14, 5)),
)


def dense() -> dict[str, Layer]:
    """Return convolutions of all channels, of stride 1, 2 and 3."""
    layers: dict[str, Layer] = {}
    for n, c, e, f, k in DENSE:
        for stride in (1, 2, 3):
            if stride < 3 or k > 1:
                name = f"conv{k}x{k} s{stride} {n}x{e}x{e}x{c}-{f}"
                layers[name] = convolution((n, c, e, e), f, (k, k), stride=stride)
    return layers


def depthwise() -> dict[str, Layer]:
    """Return convolutions of each channel by itself."""
    return {
        f"depthwise{k}x{k} s{stride} {n}x{e}x{e}x{c}": convolution(
            (n, c, e, e), c, (k, k), stride=stride, groups=c
        )
        for n, c, e, k in DEPTHWISE
        for stride in (1, 2)
    }


SWEEP: dict[str, Layer] = {
    **dense(),
    **depthwise(),
    "groups 2 28x28x128": convolution((1, 128, 28, 28), 128, (3, 3), groups=2),
    "groups 8 28x28x128": convolution((1, 128, 28, 28), 128, (3, 3), groups=8),
    "groups 32 14x14x256": convolution((1, 256, 14, 14), 256, (3, 3), groups=32),
    "groups 2 1x1 28x28x34": convolution((1, 34, 28, 28), 34, (1, 1), groups=2),
    "dilation 2 28x28x64": convolution((1, 64, 28, 28), 64, (3, 3), dilation=2),
    "dilation 4 28x28x64": convolution((1, 64, 28, 28), 64, (3, 3), dilation=4),
    "dilation 2 75x75x17": convolution((1, 17, 75, 75), 24, (3, 3), dilation=2),
    "kernel 1x7 17x17x128": convolution((1, 128, 17, 17), 128, (1, 7)),
    "kernel 7x1 17x17x128": convolution((1, 128, 17, 17), 128, (7, 1)),
    "kernel 1x3 8x8x384": convolution((1, 384, 8, 8), 384, (1, 3)),
    "1-D 3 1024x64": convolution((1, 64, 1024), 64, (3,)),
    "1-D 7 4000x13-40": convolution((1, 13, 4000), 40, (7,)),
    "1-D 5 s2 1024x40": convolution((4, 40, 1024), 40, (5,), stride=2),
    "3-D 3 16x28x28x16": convolution((1, 16, 16, 28, 28), 16, (3, 3, 3)),
    "3-D 3 8x13x13x24-40": convolution((1, 24, 8, 13, 13), 40, (3, 3, 3)),
    "transposed 2x2 s2 28x28x64-32": transposed((1, 64, 28, 28), 32, 2, 2),
    "transposed 4x4 s2 14x14x128-64": transposed((1, 128, 14, 14), 64, 4, 2),
    "transposed 3x3 s1 13x13x40-24": transposed((1, 40, 13, 13), 24, 3, 1),
    "max pool 3x3 s2 112x112x64": pool("MaxPool", (1, 64, 112, 112), 3, 2),
    "max pool 2x2 s2 75x75x17": pool("MaxPool", (1, 17, 75, 75), 2, 2),
    "average pool 3x3 s1 28x28x192": pool("AveragePool", (1, 192, 28, 28), 3, 1),
    "average pool 7x7 s7 32x7x7x512": pool("AveragePool", (32, 512, 7, 7), 7, 7),
}
