"""How kernels bind buffers in WGSL: for reading alone where nothing in the buffer is written."""

from __future__ import annotations

import re

import numpy as np
import tools
from opencl import run_webgpu
from xdsl.dialects.builtin import ModuleOp

import nn_opt
from nn_opt.backends.source.gpu_languages import language_named
from nn_opt.backends.source.gpu_program import print_kernels
from nn_opt.backends.source.launch_plan import plan_launches
from nn_opt.build import signature_of
from nn_opt.ir.target import set_target

# The second launch of the first kernel reads and writes the buffer in which all temporaries lie.
CHAIN = """
func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = graph.matmul %w, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = graph.matmul %b, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %c : tensor<4x4xf32>
}"""
BINDING = re.compile(r"binding\(\d\) var<storage, (\w+)> ")


def lowered() -> ModuleOp:
    module = nn_opt.parse(CHAIN)
    set_target(module, "webgpu")
    return nn_opt.Pipeline("optimize-graph,lower-to-loops,lower-to-gpu").run(module)


def test_what_a_launch_writes_beside_is_not_for_reading_alone():
    module = lowered()
    source = print_kernels(module, language_named("wgsl"))
    kernels = source.text.split("@compute")[:-1]
    modes = [BINDING.findall(kernel) for kernel in kernels]
    plan, _ = plan_launches(module, source, signature_of(module))
    said = {
        k.symbol: ["read" if a.read_only else "read_write" for a in k.arguments]
        for k in plan.kernels
    }
    assert modes == [*said.values()]
    assert modes == [["read", "read_write", "read_write"], ["read", "read_write"]]


@tools.needs("wgpu", "vulkan")
def test_a_device_takes_both():
    rng = np.random.default_rng(3)
    x, w = (rng.uniform(-1, 1, (4, 4)).astype(np.float32) for _ in range(2))
    b = w @ (x @ w)
    (got,) = run_webgpu(lowered(), [x, w])
    np.testing.assert_allclose(got, b @ b, rtol=1e-5, atol=1e-6)
