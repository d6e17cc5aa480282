"""Models for engines: WebAssembly in wasmtime and node, JavaScript in node; what is refused."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
import tools
from numpy.typing import NDArray
from onnx import TensorProto, helper

import nn_opt
from nn_opt.backends.llvm import wasm as linking
from nn_opt.backends.llvm.wasm import find_linker, sections, wasm_module
from nn_opt.build import lower
from nn_opt.engines import WASM, build_for, engine_of
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.target import TARGETS
from nn_opt.runtime.artifact import Artifact
from nn_opt.runtime.loader import RuntimeFault, Unloadable
from nn_opt.runtime.manifest import Manifest, TensorInfo
from nn_opt.runtime.memory import Block
from nn_opt.runtime.node import NodeProgram, find_node
from nn_opt.runtime.wasm import WasmProgram

Array = NDArray[Any]
NEEDED = {"wasm": ("wasmtime", "wasm-ld"), "wasm-relaxed": ("wasmtime", "wasm-ld"), "js": ("node",)}

# Weights that are multiplied, sums, a function, numbers of 16 bits, a copy of bytes.
SMALL = """
func.func @main(%x: tensor<3x40xf32>, %h: tensor<5xf16>) -> (tensor<3x8xf32>, tensor<5xbf16>) {
  %w = graph.constant dense<0.25> : tensor<40x8xf32>
  %p = graph.matmul %x, %w : (tensor<3x40xf32>, tensor<40x8xf32>) -> tensor<3x8xf32>
  %s = graph.softmax %p axis 1 : tensor<3x8xf32>
  %f = graph.floor %p : tensor<3x8xf32>
  %y = graph.add %s, %f : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %d = graph.add %h, %h : (tensor<5xf16>, tensor<5xf16>) -> tensor<5xf16>
  %b = graph.cast %d : (tensor<5xf16>) -> tensor<5xbf16>
  func.return %y, %b : tensor<3x8xf32>, tensor<5xbf16>
}"""
X = np.random.default_rng(0).normal(size=(3, 40)).astype(np.float32)
H = np.array([1.5, -2.0, 6e-8, 65504.0, np.inf], np.float16)


def expected() -> list[Array]:
    product = X.astype(np.float64) @ np.full((40, 8), 0.25)
    top = np.exp(product - product.max(1, keepdims=True))
    with np.errstate(over="ignore"):
        twice = (H + H).astype(ml_dtypes.bfloat16)
    return [top / top.sum(1, keepdims=True) + np.floor(product), twice]


def need(target: str) -> None:
    for tool in NEEDED[target]:
        tools.need(tool)


@pytest.mark.parametrize("target", NEEDED)
def test_engines_compute_what_numpy_does(target: str):
    need(target)
    model = nn_opt.compile(nn_opt.parse(SMALL), target=target, cache=False)
    assert model.threads == 1
    first, second = model(X, H)
    again, _ = model(X, H)
    wanted = expected()
    np.testing.assert_allclose(first, wanted[0], rtol=1e-5)
    np.testing.assert_array_equal(again, first)
    np.testing.assert_array_equal(second.astype(np.float32), wanted[1].astype(np.float32))


@pytest.mark.parametrize("target", ["wasm", "js"])
def test_tensors_without_elements(target: str):
    need(target)
    text = """
    func.func @main(%x: tensor<0x8xf32>, %h: tensor<2xf32>) -> (tensor<0x8xf32>, tensor<2xf32>) {
      %y = graph.exp %x : tensor<0x8xf32>
      %z = graph.neg %h : tensor<2xf32>
      func.return %y, %z : tensor<0x8xf32>, tensor<2xf32>
    }"""
    model = nn_opt.compile(nn_opt.parse(text), target=target, cache=False)
    empty, negative = model(np.zeros((0, 8), np.float32), np.array([1, -2], np.float32))
    assert empty.shape == (0, 8)
    np.testing.assert_array_equal(negative, [-1, 2])


def small_wasm(target: str = "wasm") -> Artifact:
    tools.need("wasm-ld")
    return build_for(WASM, nn_opt.parse(SMALL), target, "")


@pytest.mark.parametrize("target", ["wasm", "wasm-relaxed"])
def test_webassembly_in_node(target: str):
    program = NodeProgram(small_wasm(target), "model.wasm", tools.relaxed_flags(find_node()))
    made = [np.empty((3, 8), np.float32), np.empty(5, ml_dtypes.bfloat16)]
    for _ in range(2):
        program.run([X, H], made, 1)
    np.testing.assert_allclose(made[0], expected()[0], rtol=1e-5)


FUNCTIONS = """
func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %e = graph.exp %x : tensor<4xf64>
  %l = graph.log %x : tensor<4xf64>
  %f = graph.erf %x : tensor<4xf64>
  %a = graph.add %e, %l : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %y = graph.add %a, %f : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  func.return %y : tensor<4xf64>
}"""


@pytest.mark.parametrize("target", ["wasm", "js"])
def test_functions_of_doubles_are_the_engine_s(target: str):
    need(target)
    model = nn_opt.compile(nn_opt.parse(FUNCTIONS), target=target, cache=False)
    x = np.array([0.5, 0.0, 800.0, 2.0])
    erf = np.array([0.5204998778130465, 0.0, 1.0, 0.9953222650189527])
    with np.errstate(divide="ignore", over="ignore"):
        wanted = np.exp(x) + np.log(x) + erf
    np.testing.assert_allclose(model(x), wanted, rtol=1e-14)


def test_functions_of_doubles_in_node_s_webassembly():
    tools.need("wasm-ld")
    tools.need("node")
    program = NodeProgram(build_for(WASM, nn_opt.parse(FUNCTIONS), "wasm", ""), "model.wasm")
    y = np.empty(4)
    program.run([np.array([0.5, 1.0, 0.25, 2.0])], [y], 1)
    assert abs(y[1] - (np.e + 0.8427007929497149)) < 1e-14


def test_a_module_describes_itself():
    kinds = [kind for kind, _ in sections(small_wasm().code)]
    own = [data for kind, data in sections(small_wasm().code) if kind == 0]
    content = own[-1]
    assert 2 not in kinds  # no imports
    lines = build_for(WASM, nn_opt.parse(SMALL), "wasm", "", debug_info=True).code
    assert b".debug_line" in lines
    assert b".debug_line" not in small_wasm().code
    assert b"softmax" in small_wasm().code  # names of functions, for profilers
    assert content[:7] == b"\6nn-opt"
    assert b'"export": "output1"' in content
    assert b'"weight_bytes": 1280' in content


@pytest.mark.parametrize(
    ("target", "engine"),
    [
        ("wasm", "wasm"),
        ("llvm -mtriple=wasm32 -mattr=+relaxed-simd", "wasm"),
        ("js", "js"),
        ("cpu", ""),
        ("llvm -mtriple=aarch64-linux-gnu", ""),
    ],
)
def test_who_runs_a_target(target: str, engine: str):
    assert engine_of(target) == engine


# What is refused.


def test_no_wasmtime(monkeypatch: pytest.MonkeyPatch):
    artifact = small_wasm()
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    with pytest.raises(
        RuntimeFault, match="error: WebAssembly runs through wasmtime, which is not installed"
    ):
        WasmProgram(artifact)


def test_no_node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("nn_opt.runtime.node.find_spec", lambda name: None)
    with pytest.raises(RuntimeFault, match="error: JavaScript runs through node, which is not"):
        nn_opt.compile(nn_opt.parse(SMALL), target="js", cache=False)


def test_no_linker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(linking, "_has_zig", lambda: False)
    with pytest.raises(DiagnosticError, match="error: there is no linker for WebAssembly here"):
        find_linker()


def test_zig_is_a_linker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(linking, "_has_zig", lambda: True)
    assert find_linker() == [sys.executable, "-m", "ziglang", "wasm-ld"]


def test_what_a_linker_says(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(linking, "find_linker", lambda: ["false"])
    with pytest.raises(DiagnosticError, match="error: false cannot link the module: "):
        linking.link(b"", ["run"])


def test_more_than_a_memory_holds():
    lowered = lower(nn_opt.parse(SMALL), "wasm")
    huge = TensorInfo("x", (1 << 30,), np.dtype(np.float32))
    manifest = Manifest((huge,), ())
    with pytest.raises(DiagnosticError, match="the model needs 4097 MiB, and WebAssembly has 4096"):
        wasm_module(lowered.text, manifest, lowered.machine)


def test_bytes_that_are_no_module():
    tools.need("wasmtime")
    with pytest.raises(Unloadable, match="error: wasmtime refuses the module: "):
        WasmProgram(Artifact(Manifest((), ()), b"no module", Block(0)))


def test_code_that_node_refuses():
    tools.need("node")
    with pytest.raises(RuntimeFault, match="error: node cannot run the code: "):
        NodeProgram(Artifact(Manifest((), ()), b"export const x = ;", Block(0)))


FAULT = b"""
export const inputs = [], outputs = [];
export function run() { throw new Error("no more"); }
"""


def test_a_fault_in_node_leaves_it_running():
    tools.need("node")
    program = NodeProgram(Artifact(Manifest((), ()), FAULT, Block(0)))
    for _ in range(2):
        with pytest.raises(RuntimeFault, match="error: node cannot run the code: no more"):
            program.run([], [], 1)


def test_node_that_has_ended():
    tools.need("node")
    code = FAULT.replace(b'throw new Error("no more")', b"process.exit(0)")
    program = NodeProgram(Artifact(Manifest((), ()), code, Block(0)))
    with pytest.raises(RuntimeFault, match="error: node has ended; it may have said why above"):
        program.run([], [], 1)


def test_node_that_ends_with_half_a_result():
    tools.need("node")
    code = b"""
import { writeSync } from "node:fs";
export const inputs = [], outputs = [];
export function run() { writeSync(1, new Uint8Array([0, 7])); process.exit(0); }
"""
    program = NodeProgram(Artifact(Manifest((), ()), code, Block(0)))
    with pytest.raises(RuntimeFault, match="error: node ended while it sent its results"):
        program.run([], [np.zeros(4, np.uint8)], 1)


def trapping() -> bytes:
    """Return a module whose `run` stops."""
    tools.need("wasm-ld")
    text = "declare void @llvm.trap()\ndefine void @nn_main(ptr %a, ptr %b, ptr %c, ptr %d) {\n"
    lowered = lower(nn_opt.parse(SMALL), "wasm")
    text += "  call void @llvm.trap()\n  ret void\n}\n"
    return wasm_module(text, Manifest((), ()), lowered.machine)


def test_code_that_stops():
    tools.need("wasmtime")
    program = WasmProgram(Artifact(Manifest((), ()), trapping(), Block(0)))
    with pytest.raises(RuntimeFault, match=r"error: the WebAssembly code stopped: .*unreachable"):
        program.run([], [], 1)


def test_a_module_that_needs_what_is_not_here():
    tools.need("wasmtime")
    code = bytes.fromhex("0061736d 01000000 01040160 0000020b 0103656e 7603666c 790000")
    with pytest.raises(Unloadable, match="the module needs 'fly', which is not here"):
        WasmProgram(Artifact(Manifest((), ()), code, Block(0)))


def test_no_profile_of_engines():
    need("wasm")
    model = nn_opt.compile(nn_opt.parse(SMALL), target="wasm", cache=False)
    with pytest.raises(RuntimeFault, match="error: kernels in wasm have no clock to be timed by"):
        model.profile({"arg0": X, "arg1": H})


@pytest.mark.parametrize("target", ["wasm", "js", "riscv64", "cortex-m4"])
def test_bits_that_may_differ(target: str):
    with pytest.raises(DiagnosticError, match=f"no deterministic code for target '{target}'"):
        lower(nn_opt.parse(SMALL), target, deterministic=True)


def test_an_onnx_model_in_the_cache(tmp_path: Path):
    need("wasm")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    for _ in range(2):
        made = nn_opt.compile(tmp_path / "m.onnx", target="wasm", cache=tmp_path / "cache")
        np.testing.assert_array_equal(made(np.float32([-1, 0, 2, -3])), [0, 0, 2, 0])


def test_a_processor_that_lacks_what_code_needs(monkeypatch: pytest.MonkeyPatch):
    old = replace(TARGETS["x86-64-v3"], features="+avx,+avx2,+fma", cpu="haswell")
    monkeypatch.setattr("nn_opt.ir.target.host", lambda: old)
    text = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver2"
    with pytest.raises(RuntimeFault, match=r"cannot run on this haswell, which lacks .*sse4a"):
        nn_opt.compile(nn_opt.parse(SMALL), target=text, cache=False)
