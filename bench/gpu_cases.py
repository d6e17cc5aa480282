"""What `bench.gpu` measures of kernels: graphs, what they cost, and the same in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Torch = Callable[..., Any]  # of torch and of tensors on its device

# The convolutions of ResNet-50 that differ: channels, filters, size of the input, taps, stride.
RESNET50 = (
    (3, 64, 224, 7, 2),
    (64, 64, 56, 1, 1),
    (64, 64, 56, 3, 1),
    (64, 256, 56, 1, 1),
    (256, 64, 56, 1, 1),
    (256, 128, 56, 1, 1),
    (128, 128, 56, 3, 2),
    (128, 512, 28, 1, 1),
    (512, 128, 28, 1, 1),
    (128, 128, 28, 3, 1),
    (512, 256, 28, 1, 1),
    (256, 256, 28, 3, 2),
    (256, 1024, 14, 1, 1),
    (1024, 256, 14, 1, 1),
    (256, 256, 14, 3, 1),
    (1024, 512, 14, 1, 1),
    (512, 512, 14, 3, 2),
    (512, 2048, 7, 1, 1),
    (2048, 512, 7, 1, 1),
    (512, 512, 7, 3, 1),
)
BYTES = {"f32": 4, "f16": 2}


@dataclass(frozen=True)
class Case:
    """A graph with inputs x0, x1, .., its operations, the bytes that it must move, and its twin."""

    name: str
    text: str
    flops: int
    bytes: int
    dtype: str
    torch: Torch


def _case(
    name: str, inputs: Sequence[str], line: str, result: str, costs: tuple[int, int], twin: Torch
) -> Case:
    arguments = ", ".join(f"%x{k}: tensor<{shape}>" for k, shape in enumerate(inputs))
    text = f"""
func.func @main({arguments}) -> tensor<{result}> {{
  %y = graph.{line}
  func.return %y : tensor<{result}>
}}"""
    return Case(name, text, *costs, result.rpartition("x")[2], twin)


def product(size: int, dtype: str) -> Case:
    """Return a product of two square matrices."""
    x = f"{size}x{size}x{dtype}"
    line = f"matmul %x0, %x1 : (tensor<{x}>, tensor<{x}>) -> tensor<{x}>"
    costs = 2 * size**3, 3 * size**2 * BYTES[dtype]
    name = f"matmul {size} {dtype}"
    return _case(name, [x, x], line, x, costs, lambda torch, a, b: torch.matmul(a, b))


def softmax(rows: int, columns: int) -> Case:
    """Return the softmax of each row."""
    x = f"{rows}x{columns}xf32"
    costs = 5 * rows * columns, 2 * 4 * rows * columns
    line = f"softmax %x0 axis 1 : tensor<{x}>"
    name = f"softmax {rows}x{columns}"
    return _case(name, [x], line, x, costs, lambda torch, a: torch.softmax(a, 1))


def addition(size: int) -> Case:
    """Return the sum of two vectors."""
    x = f"{size}xf32"
    line = f"add %x0, %x1 : (tensor<{x}>, tensor<{x}>) -> tensor<{x}>"
    return _case(f"add {size}", [x, x], line, x, (size, 12 * size), lambda torch, a, b: a + b)


def convolution(batch: int, shape: tuple[int, int, int, int, int]) -> Case:
    """Return a convolution, padded so that taps stay in the middle."""
    channels, filters, size, taps, stride = shape
    pad, out = taps // 2, -(-size // stride)
    x, w = f"{batch}x{channels}x{size}x{size}xf32", f"{filters}x{channels}x{taps}x{taps}xf32"
    y = f"{batch}x{filters}x{out}x{out}xf32"
    how = f"strides [{stride}, {stride}] pads [{pad}, {pad}, {pad}, {pad}] dilations [1, 1] group 1"
    line = f"conv %x0, %x1 {how} : (tensor<{x}>, tensor<{w}>) -> tensor<{y}>"
    moved = batch * (channels * size**2 + filters * out**2) + filters * channels * taps**2
    costs = 2 * batch * filters * channels * taps**2 * out**2, 4 * moved
    name = f"conv {channels}->{filters} {taps}x{taps}/{stride} at {size}, batch {batch}"

    def twin(torch: Any, a: Any, b: Any) -> Any:
        return torch.nn.functional.conv2d(a, b, stride=stride, padding=pad)

    return _case(name, [x, w], line, y, costs, twin)


def cases(small: bool) -> list[Case]:
    """Return all cases; small ones are for trying the script."""
    if small:
        shapes = [(c // 16 or 3, f // 16, max(s // 8, 4), k, d) for c, f, s, k, d in RESNET50[::7]]
        return [
            product(48, "f32"),
            product(32, "f16"),
            softmax(8, 100),
            addition(1000),
            *(convolution(1, shape) for shape in shapes),
        ]
    return [
        product(4096, "f32"),
        product(4096, "f16"),
        softmax(4096, 4096),
        softmax(65536, 256),
        addition(1 << 26),
        *(convolution(8, shape) for shape in RESNET50),
    ]
