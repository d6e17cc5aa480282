"""The four models, compiled and run by one call for each target that runs here.

For OpenCL see test_opencl_models.py.
"""

from __future__ import annotations

import pytest
import tools
from four_models import FOUR, case

import nn_opt

TARGETS = {
    "cpu": (),
    "webgpu": ("vulkan", "wgpu"),
    "wasm": ("wasmtime", "wasm-ld"),
    "js": ("node",),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FOUR)
def test_a_target_computes_the_same(name: str, target: str) -> None:
    for tool in TARGETS[target]:
        tools.need(tool)
    wanted = case(name)
    compiled = nn_opt.compile(wanted.model, target=target, cache=False, shapes=wanted.shapes)
    wanted.assert_computed(list(compiled.run(wanted.feeds).values()))
