"""Debug information: each address of a kernel leads to the model's node; the code is the same."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
import tools
from onnx_text import parse
from upstream import PACKAGES
from xdsl.dialects.builtin import ModuleOp

import nn_opt
from nn_opt.backends.llvm import print_module
from nn_opt.backends.llvm.object import emit_object
from nn_opt.frontends.onnx import import_model
from nn_opt.ir.parsing import make_context
from nn_opt.ir.target import set_target, target_named
from nn_opt.pipelines import expand, run_passes

TOOLS = PACKAGES / "llvm" / "bin"
# Nodes without a name are called by their type and place; the last two become one kernel.
TEXT = """g (float[1, 4, 8, 8] x, float[64, 20] a) => (float[1, 8, 8, 8] y, float[64, 9] p) {
  c = Conv(x, w)
  y = Relu(c)
  m = MatMul(a, v)
  p = Softmax(m)
}"""
NODES = {"Conv_0": 1, "Relu_1": 2, "MatMul_2": 3, "Softmax_3": 4}


def tool(name: str, *arguments: str) -> str:
    tools.need("llvm")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(PACKAGES / "llvm" / "lib")}
    command = [str(TOOLS / name), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, check=True
    ).stdout


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal((8, 4, 3, 3)), "v": rng.standard_normal((20, 9))}
    model = parse(TEXT, weights={k: v.astype(np.float32) for k, v in weights.items()})
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("pads", [1, 1, 1, 1]))
    path = tmp_path_factory.mktemp("debug") / 'the "net".onnx'
    onnx.save(model, path)
    return path


@pytest.fixture(scope="module")
def lowered(path: Path) -> ModuleOp:
    module = import_model(path)
    set_target(module, target_named("x86-64-v4").name)
    run_passes(make_context(), module, expand("compile"))
    return module


@pytest.fixture(scope="module")
def binary(lowered: ModuleOp, path: Path) -> Path:
    text = print_module(lowered, debug_info=True)
    output = path.with_suffix(".o")
    output.write_bytes(emit_object(text, target_named("x86-64-v4")))
    return output


def test_without_the_flag_there_is_nothing_more(lowered: ModuleOp):
    plain = print_module(lowered)
    assert "!DI" not in plain
    assert "!dbg" not in plain
    debug = print_module(lowered, debug_info=True)
    code = debug[: debug.index("\n!3 = ")]
    assert re.sub(r",? !dbg !\d+", "", code).strip() == plain.strip()


def test_the_machine_code_is_the_same(lowered: ModuleOp, binary: Path, tmp_path: Path):
    plain = tmp_path / "plain.o"
    plain.write_bytes(emit_object(print_module(lowered), target_named("x86-64-v4")))
    codes = [tool("llvm-objdump", "-d", "--no-show-raw-insn", str(p)) for p in (plain, binary)]
    listings = [code.partition("Disassembly of section")[2] for code in codes]
    assert listings[0] == listings[1]
    assert "vfmadd" in listings[0]


def test_llvm_finds_no_fault_in_it(binary: Path):
    assert "No errors." in tool("llvm-dwarfdump", "--verify", str(binary))


def test_each_address_of_a_kernel_leads_to_a_node(binary: Path, path: Path):
    starts = re.findall(r"([0-9a-f]+) ([0-9a-f]+) [tT] (\S+)", tool("llvm-nm", "-S", str(binary)))
    kernels = [(int(at, 16), int(size, 16), name) for at, size, name in starts if name != "nn_main"]
    assert any(name.startswith("conv_relu") for _, _, name in kernels)
    found: dict[str, int] = {}
    for start, size, name in kernels:
        addresses = [hex(at) for at in range(start, start + size, 3)]
        text = tool("llvm-symbolizer", "--functions=short", f"--obj={binary}", *addresses)
        for frames in filter(None, text.split("\n\n")):
            node, place, *outer = frames.strip().split("\n")
            line = int(place.rsplit(":", 2)[1])
            if node == name or line == 0:  # LLVM's own, such as what saves registers
                continue
            assert set(node.split("+")) <= set(NODES)
            if "+" not in node:  # as code is that serves several nodes
                assert found.setdefault(node, line) == line
            assert place.startswith(str(path))
            assert outer[-2] == name
    assert found == NODES


def test_lines_of_ir_are_those_of_its_file():
    module = nn_opt.parse("""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = graph.relu %x : tensor<4xf32>
      %z = graph.exp %y : tensor<4xf32> loc("a\\22b")
      func.return %z : tensor<4xf32>
    }""")
    run_passes(make_context(), module, expand("compile"))
    llvm_ir = print_module(module, debug_info=True)
    assert '!DIFile(filename: "<text>", directory: "")' in llvm_ir
    assert re.search(r"!DILocation\(line: 2, column: 12, scope: !\d+\)", llvm_ir)
    assert 'DISubprogram(name: "a\\22b"' in llvm_ir


def test_a_compiled_model_has_it_if_that_is_asked_for(path: Path, tmp_path: Path):
    inputs = np.ones((1, 4, 8, 8), np.float32), np.ones((64, 20), np.float32)
    plain = nn_opt.compile(path, cache=tmp_path)
    debug = nn_opt.compile(path, cache=tmp_path, debug_info=True)
    for a, b in zip(plain(*inputs), debug(*inputs), strict=True):
        np.testing.assert_array_equal(a, b)
    assert "!DISubprogram" not in plain.ir("llvm-ir")
    assert 'DISubprogram(name: "Conv_0"' in debug.ir("llvm-ir")
    assert re.search(r"\.loc\s+1 2 1", debug.ir("asm"))
    kept = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert sorted({b".debug_line" in data for data in kept if b".text" in data}) == [False, True]
