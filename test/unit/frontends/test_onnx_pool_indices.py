"""Where the maximum of a window comes from: of equal elements the first, of NaN the first such."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_rows import Row
from onnx_text import parse

import nn_opt

equal = np.random.default_rng(0).integers(-2, 2, (2, 3, 7, 9)).astype(np.float32)
equal[1] = -np.inf  # as padding is
WINDOW = "kernel_shape = [3, 2], strides = [2, 1], pads = [1, 1, 1, 0]"


@pytest.mark.parametrize("order", [0, 1])
def test_first_of_equal_elements(order: int):
    text = f"y, i = MaxPool<{WINDOW}, storage_order = {order}>(x)"
    Row(text, {"x": equal}, results="float[] y, int64[] i").check()


def test_not_a_number_is_the_largest():
    x = np.zeros((1, 1, 3, 3), np.float32)
    x[0, 0, 1, 1] = np.nan
    node = "y, i = MaxPool<kernel_shape = [2, 2]>(x)"
    text = f"g (float[1,1,3,3] x) => (float[] y, int64[] i) {{ {node} }}"
    y, places = nn_opt.compile(parse(text, 20, {}), threads=1).run({"x": x}).values()
    assert np.isnan(y).all()
    assert (places == 4).all()
