"""Windows over images as small as themselves, where most of what they read is padding."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_text import in_onnxruntime, relative_error

import nn_opt
from bench.models import sample_inputs
from bench.models.layers import Writer

IMAGES = ((7, 7), (2, 5), (1, 7), (9, 1), (3, 14))


@pytest.mark.parametrize(("size", "stride"), [(3, 1), (3, 2), (5, 1)])
@pytest.mark.parametrize("image", IMAGES, ids=str)
def test_padding_adds_nothing(image: tuple[int, int], size: int, stride: int):
    writer = Writer("small")
    x = writer.relu(writer.conv(writer.input("x", (1, 16, *image)), 32, 1))
    y = writer.conv(x, 32, size, stride=stride, groups=32)
    model = writer.model(writer.conv(writer.relu(y), 16, 1))
    feeds = sample_inputs(model)
    (expected,) = in_onnxruntime(model, feeds)
    (got,) = nn_opt.compile(model, threads=1, cache=False).run(feeds).values()
    assert np.std(expected) > 1e-3
    assert relative_error(np.asarray(got), expected) < 1e-5
