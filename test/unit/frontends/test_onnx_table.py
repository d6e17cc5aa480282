"""The table of converters: every operator in it is tested here, and exists."""

from __future__ import annotations

import inspect
import re

import onnx
import pytest
import test_onnx_attention
import test_onnx_contrib
import test_onnx_elementwise
import test_onnx_functions
import test_onnx_movement
import test_onnx_quantize
import test_onnx_recurrent
import test_onnx_reduction
import test_onnx_shape
import test_onnx_windows

from nn_opt.frontends.onnx.converters import CONVERTERS
from nn_opt.frontends.onnx.reader import OF_ONNXRUNTIME

TESTS = [
    *(test_onnx_elementwise, test_onnx_functions, test_onnx_movement, test_onnx_quantize),
    *(test_onnx_reduction, test_onnx_shape, test_onnx_windows, test_onnx_attention),
    test_onnx_contrib,
]
ROWS = [*(row for module in TESTS for row in module.ROWS), *test_onnx_recurrent.rows()]
# Those that onnxruntime does not run are tested by functions of their own.
NAMED = {word for module in TESTS for word in re.findall(r"[A-Z]\w+", inspect.getsource(module))}
USED = {node.op_type for row in ROWS for node in row.model().graph.node} | NAMED


@pytest.mark.parametrize(("domain", "name"), sorted(CONVERTERS))
def test_operator_exists_and_is_tested(domain: str, name: str) -> None:
    foreign = domain == "com.microsoft" or name in OF_ONNXRUNTIME
    assert foreign or onnx.defs.has(name, domain)
    assert name in USED
