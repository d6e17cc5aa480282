"""Matrix products on GPUs: right in the interpreter's threads, without races, and on a device."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tools
from opencl import run_opencl
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from nn_opt.backends.source.gpu_languages import language_named
from nn_opt.backends.source.gpu_program import print_kernels
from nn_opt.dialects import gpu
from nn_opt.dialects.loop import ForOp
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.resources import Array
from nn_opt.ir.target import GPUS, set_target, target_named
from nn_opt.ir.types import element_type, numpy_dtype, shape_of
from nn_opt.pipelines import expand
from nn_opt.reference import run
from nn_opt.schedule.defaults.gpu import direct, product
from nn_opt.schedule.defaults.gpu.product_tiles import (
    TILES,
    ProductTile,
    Sizes,
    choose_tile,
    fitted,
)


def matmul(x: str, w: str, y: str, dtype: str = "f32", after: str = "") -> str:
    a, b, c = (f"tensor<{shape}x{dtype}>" for shape in (x, w, y))
    return f"""
func.func @main(%x: {a}, %w: {b}, %r: {c}) -> {c} {{
  %a = graph.matmul %x, %w : ({a}, {b}) -> {c}
  {after or f"%y = graph.add %a, %r : ({c}, {c}) -> {c}"}
  func.return %y : {c}
}}
"""


def conv(x: str, w: str, y: str, filters: int, how: str) -> str:
    a, b, c = (f"tensor<{shape}xf32>" for shape in (x, w, y))
    types = f"({a}, {b}, tensor<{filters}xf32>) -> {c}"
    return f"""
func.func @main(%x: {a}, %w: {b}, %b: tensor<{filters}xf32>) -> {c} {{
  %a = graph.conv %x, %w, %b {how} : {types}
  %y = graph.relu %a : {c}
  func.return %y : {c}
}}
"""


def window(stride: int, pad: int, dilation: int, group: int = 1) -> str:
    pads = ", ".join([str(pad)] * 4)
    both = f"strides [{stride}, {stride}] pads [{pads}] dilations [{dilation}, {dilation}]"
    return f"{both} group {group}"


TRANSPOSED = """
func.func @main(%x: tensor<9x12xf32>, %w: tensor<10x12xf32>) -> tensor<9x10xf32> {
  %t = graph.transpose %w perm [1, 0] : (tensor<10x12xf32>) -> tensor<12x10xf32>
  %y = graph.matmul %x, %t : (tensor<9x12xf32>, tensor<12x10xf32>) -> tensor<9x10xf32>
  func.return %y : tensor<9x10xf32>
}
"""
KERNELS = {
    "odd sizes": matmul("7x13", "13x11", "7x11"),
    "whole vectors": matmul("8x16", "16x36", "8x36"),
    "batches": matmul("2x3x9x5", "2x1x5x6", "2x3x9x6"),
    "rows of batches": matmul("2x3x5", "5x8", "2x3x8"),
    "transposed": TRANSPOSED,
    "f64": matmul("5x6", "6x8", "5x8", "f64"),
    "conv 3x3": conv("1x3x6x7", "5x3x3x3", "1x5x6x7", 5, window(1, 1, 1)),
    "conv stride 2": conv("2x4x7x7", "6x4x3x3", "2x6x4x4", 6, window(2, 1, 1)),
    "conv dilated": conv("1x3x8x8", "4x3x3x3", "1x4x8x8", 4, window(1, 2, 2)),
    "conv 1x1": conv("1x8x4x4", "12x8x1x1", "1x12x4x4", 12, window(1, 0, 1)),
    "depthwise": conv("1x4x8x6", "4x1x3x3", "1x4x8x6", 4, window(1, 1, 1, 4)),
    "groups": conv("2x4x6x6", "6x2x3x3", "2x6x3x3", 6, window(2, 1, 1, 2)),
    "vector": matmul("1x70", "70x40", "1x40"),
    "vectors": matmul("3x1x70", "3x70x20", "3x1x20"),
    "transposed vector": matmul("3x33", "33", "3"),
}


@pytest.fixture(scope="module", autouse=True)
def small_is_large() -> Iterator[None]:
    """Let tiny convolutions have the schedules of those that keep a GPU busy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(direct, "RESULTS", 1)
        patch.setattr(direct, "FEW_ELEMENTS", 1)
        yield


def inputs_of(text: str) -> list[Array]:
    main = parse_module(make_context(), text, "product.mlir").body.block.first_op
    assert isinstance(main, FuncOp)
    rng = np.random.default_rng(3)
    return [
        rng.standard_normal(shape_of(type_)).astype(numpy_dtype(element_type(type_)))
        for type_ in main.function_type.inputs
    ]


def lowered(text: str, pipeline: str, target: str = "opencl") -> ModuleOp:
    ctx = make_context()
    module = parse_module(ctx, text, "product.mlir")
    set_target(module, target)
    for name in ("fuse-ops", *pipeline.split()):
        for step in expand(name):
            step.apply(ctx, module)
    module.verify()
    return module


def expected(text: str) -> Array:
    """Return what the graph means, from inputs in double precision."""
    text = text.replace("xf32", "xf64")
    module = parse_module(make_context(), text, "product.mlir")
    (result,) = run(module, [array.astype(np.float64) for array in _as_stored(text)])
    return result


def _as_stored(text: str) -> list[Array]:
    return inputs_of(text.replace("xf64", "xf32"))


def assert_close(result: Array, text: str) -> None:
    np.testing.assert_allclose(result, expected(text), rtol=2e-5, atol=2e-5)


@pytest.fixture(scope="module")
def kernels() -> dict[str, ModuleOp]:
    return {name: lowered(text, "lower-to-loops lower-to-gpu") for name, text in KERNELS.items()}


@pytest.mark.parametrize("name", ["odd sizes", "batches", "conv stride 2"])
def test_scheduled_loops_keep_the_result(name: str):
    module = lowered(KERNELS[name], "lower-to-loops")
    assert any(isinstance(op, ForOp) and op.how.is_thread for op in module.walk())
    assert_close(run(module, _as_stored(KERNELS[name]))[0], KERNELS[name])


@pytest.mark.parametrize("name", ["odd sizes", "conv 3x3"])
def test_threads_of_a_block_do_not_race(name: str, kernels: dict[str, ModuleOp]):
    assert_close(run(kernels[name], _as_stored(KERNELS[name]))[0], KERNELS[name])


@tools.needs("opencl")
@pytest.mark.parametrize("name", KERNELS)
def test_a_device_computes_it(name: str, kernels: dict[str, ModuleOp]):
    arrays = inputs_of(KERNELS[name])
    assert_close(run_opencl(kernels[name], arrays)[0], KERNELS[name])


@tools.needs("opencl")
def test_a_grid_that_is_too_small_is_fused(monkeypatch: pytest.MonkeyPatch):
    target = target_named("opencl")
    assert target.gpu is not None
    small = replace(target, gpu=replace(target.gpu, grid=(2, 65535, 1)))
    monkeypatch.setitem(GPUS, "opencl", small)
    text = KERNELS["batches"]
    module = lowered(text, "lower-to-loops lower-to-gpu")
    assert_close(run_opencl(module, inputs_of(text))[0], text)


@tools.needs("opencl")
@pytest.mark.parametrize("dtype", ["i8", "i32", "f16", "bf16"])
def test_other_numbers(dtype: str):
    text = matmul("12x20", "20x24", "12x24", dtype)
    module = parse_module(make_context(), text, "product.mlir")
    rng = np.random.default_rng(5)
    arrays = [rng.integers(-2, 3, array.shape).astype(array.dtype) for array in inputs_of(text)]
    x, w, r = (array.astype(np.int64) for array in arrays)
    kernel = lowered(text, "lower-to-loops lower-to-gpu")
    (result,) = run_opencl(kernel, arrays)
    np.testing.assert_array_equal(result.astype(np.int64), x @ w + r)  # exact in all of them
    assert result.dtype == run(module, arrays)[0].dtype


@tools.needs("opencl")
@pytest.mark.parametrize("name", ["odd sizes", "batches", "conv stride 2"])
def test_parts_of_long_sums_are_added(name: str, monkeypatch: pytest.MonkeyPatch):
    tile = ProductTile(2, 4, 4, 2)
    monkeypatch.setattr(product, "choose_tile", lambda *_: (tile, 2))
    module = lowered(KERNELS[name], "lower-to-loops lower-to-gpu")
    assert sum(isinstance(op, gpu.LaunchFuncOp) for op in module.walk()) == 2
    assert_close(run(module, _as_stored(KERNELS[name]))[0], KERNELS[name])
    assert_close(run_opencl(module, inputs_of(KERNELS[name]))[0], KERNELS[name])


@tools.needs("opencl")
@pytest.mark.parametrize("tile", TILES[::3], ids=str)
def test_every_tile_is_right(tile: ProductTile, monkeypatch: pytest.MonkeyPatch):
    limits = target_named("opencl").gpu
    assert limits is not None
    usable = fitted(tile, 4, limits)
    monkeypatch.setattr(product, "choose_tile", lambda *_: (usable, 1))
    text = matmul("70x37", "37x92", "70x92")
    module = lowered(text, "lower-to-loops lower-to-gpu")
    assert_close(run_opencl(module, inputs_of(text))[0], text)


def test_whole_vectors_are_loaded_or_none(kernels: dict[str, ModuleOp]):
    text = print_kernels(kernels["whole vectors"], language_named("opencl")).text
    assert re.search(r"< 36 \? \*\(__global const float4 \*\).*: \(float4\)\(0\.0f\)", text)


def test_tiles_suit_the_product_and_the_device():
    webgpu, cuda = (target_named(name).gpu for name in ("webgpu", "cuda"))
    assert webgpu is not None
    assert cuda is not None
    large, few = Sizes(1, 4096, 4096, 4096), Sizes(1, 512, 49, 4608)
    tile, parts = choose_tile(large, 4, cuda)
    assert (tile.height, tile.width, tile.double, parts) == (128, 128, True, 1)
    tile, parts = choose_tile(large, 4, webgpu)
    assert tile.shared_bytes(4) <= webgpu.shared_bytes
    assert choose_tile(few, 4, cuda)[1] > 1


def test_scripts_repeat_what_is_done():
    text = KERNELS["conv stride 2"]
    scripts = lowered(text, "outline-kernels convert-graph-to-tensor convert-tensor-to-loop")
    for name in ("default-schedules", "apply-schedule"):
        for step in expand(name):
            step.apply(make_context(), scripts)
    at_once = lowered(text, "outline-kernels convert-graph-to-tensor convert-tensor-to-loop")
    for step in expand("default-schedules", "apply-now=true"):
        step.apply(make_context(), at_once)
    assert str(scripts) == str(at_once)


# Runs all kernels under a simulator that sees each access; what it has to say is on its stderr.
SIMULATED = """
import numpy, pyopencl
import test_gpu_products as products

products.direct.RESULTS = products.direct.FEW_ELEMENTS = 1
print(pyopencl.get_platforms()[0].name)
for text in products.KERNELS.values():
    module = products.lowered(text, "lower-to-loops lower-to-gpu")
    (result,) = products.run_opencl(module, products.inputs_of(text))
    products.assert_close(result, text)
print("all right")
"""


@tools.needs("oclgrind", "pyopencl")
def test_a_simulator_finds_no_race_and_nothing_out_of_bounds():
    command = [tools.need("oclgrind"), "--data-races", sys.executable, "-c", SIMULATED]
    paths = os.pathsep.join(sys.path)
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    assert done.stdout.split("\n")[:2] == ["Oclgrind", "all right"], done.stderr
    assert done.stderr == ""


@tools.needs("opencl")
@pytest.mark.parametrize("method", ["loops", "cbs"])
def test_other_ways_to_run_work_groups_give_the_same(method: str):
    code = SIMULATED.replace("products.KERNELS.values()", "[products.KERNELS['conv 3x3']]")
    paths = os.pathsep.join(sys.path)
    env = {**os.environ, "PYTHONPATH": paths, "POCL_WORK_GROUP_METHOD": method}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert "all right" in done.stdout, done.stderr


LARGE = {
    "matmul": matmul("4096x4096", "4096x4096", "4096x4096"),
    "matmul f16": matmul("512x512", "512x512", "512x512", "f16"),
    "conv 7x7": conv("8x3x224x224", "64x3x7x7", "8x64x112x112", 64, window(2, 3, 1)),
    "conv 1x1": conv("8x256x14x14", "1024x256x1x1", "8x1024x14x14", 1024, window(1, 0, 1)),
}


@tools.needs("nvcc")
def test_registers_hold_every_tile(tmp_path: Path):
    for number, text in enumerate(LARGE.values()):
        module = lowered(text, "lower-to-loops lower-to-gpu", "cuda")
        source = print_kernels(module, language_named("cuda"))
        (tmp_path / f"kernel{number}.cu").write_text(source.text)
    files = [f"kernel{number}.cu" for number in range(len(LARGE))]
    command = [tools.need("nvcc"), "-arch=sm_90", "-cubin", "-Xptxas", "-v", *files]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", done.stderr)
    registers = [int(number) for number in re.findall(r"Used (\d+) registers", done.stderr)]
    assert len(spills) >= len(LARGE)
    assert set(spills) == {("0", "0")}
    assert max(registers) <= 128
