"""Image networks: ResNet, MobileNet v1 and v2, SqueezeNet 1.1, VGG."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from bench.models.layers import Value, Writer

RESIDUAL_GAIN = 0.4  # a sum over many residual blocks stays near unit scale


def resnet(
    name: str,
    depths: Sequence[int],
    *,
    bottleneck: bool,
    width: int = 64,
    edge: int = 224,
    classes: int = 1000,
) -> onnx.ModelProto:
    """He et al. 2015; the stride sits on the 3x3 convolution, as torchvision has it."""
    net = Writer(name)
    image = net.input("image", (1, 3, edge, edge))
    x = net.conv_norm(image, width, 7, stride=2, activation=net.relu)
    x = net.max_pool(x, 3, 2, 1)
    for stage, depth in enumerate(depths):
        for index in range(depth):
            stride = 2 if stage and not index else 1
            x = _residual_block(net, x, width << stage, stride, bottleneck)
    return net.model(net.gemm(net.pooled(x), classes))


def _residual_block(net: Writer, x: Value, width: int, stride: int, bottleneck: bool) -> Value:
    if bottleneck:
        y = net.conv_norm(x, width, 1, activation=net.relu)
        y = net.conv_norm(y, width, 3, stride=stride, activation=net.relu)
        y = net.conv_norm(y, 4 * width, 1, gain=RESIDUAL_GAIN)
    else:
        y = net.conv_norm(x, width, 3, stride=stride, activation=net.relu)
        y = net.conv_norm(y, width, 3, gain=RESIDUAL_GAIN)
    if x.shape != y.shape:
        x = net.conv_norm(x, y.shape[1], 1, stride=stride)
    return net.relu(net.like("Add", y, x))


# filters and stride of each separable block
MOBILENET_V1 = (
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
    (512, 1), (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1),
)  # fmt: skip


def mobilenet_v1(
    name: str,
    plan: Sequence[tuple[int, int]] = MOBILENET_V1,
    *,
    stem: int = 32,
    edge: int = 224,
    classes: int = 1000,
) -> onnx.ModelProto:
    """Howard et al. 2017: depthwise 3x3 then 1x1, each with batch norm and ReLU."""
    net = Writer(name)
    image = net.input("image", (1, 3, edge, edge))
    x = net.conv_norm(image, stem, 3, stride=2, activation=net.relu)
    for filters, stride in plan:
        channels = x.shape[1]
        x = net.conv_norm(x, channels, 3, stride=stride, groups=channels, activation=net.relu)
        x = net.conv_norm(x, filters, 1, activation=net.relu)
    return net.model(net.gemm(net.pooled(x), classes))


# expansion, filters, repeats, first stride of each stage
MOBILENET_V2 = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
    (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip


def mobilenet_v2(
    name: str,
    plan: Sequence[tuple[int, int, int, int]] = MOBILENET_V2,
    *,
    stem: int = 32,
    head: int = 1280,
    edge: int = 224,
    classes: int = 1000,
) -> onnx.ModelProto:
    """Sandler et al. 2018: inverted residuals, ReLU6 as a Clip with bounds as operands."""
    net = Writer(name)
    image = net.input("image", (1, 3, edge, edge))
    x = net.conv_norm(image, stem, 3, stride=2, activation=net.relu6)
    for expansion, filters, repeats, first in plan:
        for index in range(repeats):
            x = _inverted_residual(net, x, expansion, filters, 1 if index else first)
    x = net.conv_norm(x, head, 1, activation=net.relu6)
    return net.model(net.gemm(net.pooled(x), classes))


def _inverted_residual(net: Writer, x: Value, expansion: int, filters: int, stride: int) -> Value:
    wide = x.shape[1] * expansion
    y = x if expansion == 1 else net.conv_norm(x, wide, 1, activation=net.relu6)
    y = net.conv_norm(y, wide, 3, stride=stride, groups=wide, activation=net.relu6)
    y = net.conv_norm(y, filters, 1)
    return net.like("Add", x, y) if x.shape == y.shape else y


# squeeze and expand filters of the fire modules; the first four stand between the pools
SQUEEZENET = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))


def squeezenet(
    name: str,
    plan: Sequence[tuple[int, int]] = SQUEEZENET,
    *,
    stem: int = 64,
    edge: int = 224,
    classes: int = 1000,
) -> onnx.ModelProto:
    """Iandola et al. 2016, version 1.1: convolutions with bias, pools that round up."""
    net = Writer(name)
    x = net.conv(net.input("image", (1, 3, edge, edge)), stem, 3, stride=2, pad=0, bias=True)
    x = net.relu(x)
    for index, (squeeze, expand) in enumerate(plan):
        if index in (0, 2, 4):
            x = net.max_pool(x, 3, 2, ceil=True)
        x = _fire(net, x, squeeze, expand)
    x = net.relu(net.conv(x, classes, 1, bias=True))
    return net.model(net.pooled(x))


def _fire(net: Writer, x: Value, squeeze: int, expand: int) -> Value:
    s = net.relu(net.conv(x, squeeze, 1, bias=True))
    small, large = (net.relu(net.conv(s, expand, size, bias=True)) for size in (1, 3))
    shape = (small.shape[0], 2 * expand, *small.shape[2:])
    return net.node("Concat", small, large, shape=shape, axis=1)


VGG16 = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))


def vgg(
    name: str,
    plan: Sequence[tuple[int, int]] = VGG16,
    *,
    hidden: int = 4096,
    edge: int = 224,
    classes: int = 1000,
) -> onnx.ModelProto:
    """Simonyan and Zisserman 2014: 3x3 convolutions, then two wide dense layers."""
    net = Writer(name)
    x = net.input("image", (1, 3, edge, edge))
    for filters, depth in plan:
        for _ in range(depth):
            x = net.relu(net.conv(x, filters, 3, bias=True))
        x = net.max_pool(x, 2, 2)
    x = net.flatten(x)
    for _ in range(2):
        x = net.relu(net.gemm(x, hidden))
    return net.model(net.gemm(x, classes))
