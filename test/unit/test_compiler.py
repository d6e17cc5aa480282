"""`nn_opt.compile`: sources, sizes, the cache, and what a warm start spares."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import nn_opt
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.runtime.loader import RuntimeFault

WEIGHT = np.random.default_rng(1).standard_normal((16, 8)).astype(np.float32)
BIAS = np.random.default_rng(2).standard_normal(8).astype(np.float32)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NN_OPT_CACHE", str(tmp_path / "cache"))


def make_model(rows: int | str | None = 4) -> onnx.ModelProto:
    """Return y = relu(x @ WEIGHT + BIAS)."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], name="mix"),
        helper.make_node("Add", ["m", "b"], ["a"], name="shift"),
        helper.make_node("Relu", ["a"], ["y"], name="clip"),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, 8])],
        [numpy_helper.from_array(WEIGHT, "w"), numpy_helper.from_array(BIAS, "b")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def x_of(rows: int) -> np.ndarray:
    return np.random.default_rng(rows).standard_normal((rows, 16)).astype(np.float32)


def expected(x: np.ndarray, weight: np.ndarray = WEIGHT) -> np.ndarray:
    return np.maximum(x.astype(np.float64) @ weight.astype(np.float64) + BIAS, 0)


def check(model: nn_opt.Model, rows: int = 4, weight: np.ndarray = WEIGHT) -> None:
    x = x_of(rows)
    # sums of 16 products of N(0, 1), in float32
    np.testing.assert_allclose(model(x), expected(x, weight), rtol=1e-5, atol=1e-5)


def entries(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").glob("*.nnopt"))


@pytest.fixture
def path(tmp_path) -> Path:
    onnx.save(make_model(), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def test_sources(path):
    check(nn_opt.compile(path))
    check(nn_opt.compile(str(path)))
    check(nn_opt.compile(path.read_bytes()))
    check(nn_opt.compile(make_model()))


def test_a_module_as_source_stays_as_it_is(path, tmp_path):
    module = nn_opt.import_model(path)
    before = str(module)
    model = nn_opt.compile(module, threads=1)
    assert str(module) == before
    assert [str(i) for i in model.inputs] == ["x: float32[4, 16]"]
    check(model)


def test_text_as_source(tmp_path):
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = graph.relu %x : tensor<4xf32>
      func.return %y : tensor<4xf32>
    }
    """
    (tmp_path / "f.mlir").write_text(text)
    x = np.float32([-1, 0, 1, 2])
    for source in (tmp_path / "f.mlir", nn_opt.parse(text), nn_opt.parse(tmp_path / "f.mlir")):
        model = nn_opt.compile(source)
        assert [i.name for i in (*model.inputs, *model.outputs)] == ["arg0", "result0"]
        np.testing.assert_array_equal(model(x), [0, 0, 1, 2])


UNKNOWN = """
func.func @main(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %y = graph.relu %x : tensor<?x3xf32>
  func.return %y : tensor<?x3xf32>
}
"""


def test_unknown_sizes_in_ir():
    model = nn_opt.compile(nn_opt.parse(UNKNOWN))
    assert str(model.inputs[0]) == "arg0: float32[arg0.0, 3]"
    for rows in (2, 5):
        x = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
        np.testing.assert_array_equal(model(x), np.maximum(x, 0))
    known = nn_opt.compile(nn_opt.parse(UNKNOWN), shapes={"arg0": (4, 3)})
    assert (known.inputs[0].shape, known.outputs[0].shape) == ((4, 3), (4, 3))
    for shapes, text in (
        ({"arg0": (4, 4)}, r"input arg0: float32\[arg0.0, 3\] of @main cannot be \[4, 4\]"),
        ({"arg0": (4,)}, r"cannot be \[4\]"),
        ({"z": (4,)}, "no input 'z'; it has 'arg0'"),
    ):
        with pytest.raises(DiagnosticError, match=text):
            nn_opt.compile(nn_opt.parse(UNKNOWN), shapes=shapes)
    with pytest.raises(DiagnosticError, match="IR has no size named 'N'"):
        nn_opt.compile(nn_opt.parse(UNKNOWN), dims={"N": 1})


@pytest.mark.parametrize("source", [3, None, ["a"], np.zeros(3)])
def test_what_is_no_model(source):
    with pytest.raises(TypeError, match=r"expected a path, bytes, an onnx\.ModelProto or a module"):
        nn_opt.compile(source)


def test_errors_name_the_file(tmp_path):
    with pytest.raises(DiagnosticError, match=r"none\.onnx: error: No such file"):
        nn_opt.compile(tmp_path / "none.onnx")
    with pytest.raises(DiagnosticError, match=r"none\.mlir: error: No such file"):
        nn_opt.compile(tmp_path / "none.mlir")
    (tmp_path / "bad.onnx").write_bytes(b"\xff" * 100)
    with pytest.raises(DiagnosticError, match=r"bad\.onnx: error: "):
        nn_opt.compile(tmp_path / "bad.onnx")


def test_targets(path):
    with pytest.raises(DiagnosticError, match="unknown target 'z80'"):
        nn_opt.compile(path, target="z80")
    with pytest.raises(TypeError, match="target is None, expected a name such as 'cpu'"):
        nn_opt.compile(path, target=None)  # type: ignore[arg-type]
    other = "neon" if "x86" in nn_opt.compiler.machine_stamp("cpu") else "x86-64-v2"
    with pytest.raises(RuntimeFault, match=f"code for '{other}' cannot run"):
        nn_opt.compile(path, target=other)
    check(nn_opt.compile(path, target="x86-64-v2" if other == "neon" else "neon"))


def test_unknown_sizes_are_those_of_each_call():
    model = nn_opt.compile(make_model("rows"))
    assert [str(i) for i in (*model.inputs, *model.outputs)] == [
        "x: float32[rows, 16]",
        "y: float32[rows, 8]",
    ]
    for rows in (1, 5, 0, 5):
        check(model, rows)


def test_sizes_by_name_and_by_shape():
    for rows in ("rows", None):
        model = nn_opt.compile(make_model(rows), shapes={"x": [3, 16]})
        assert (model.inputs[0].shape, model.outputs[0].shape) == ((3, 16), (3, 8))
        check(model, 3)
    assert nn_opt.compile(make_model("rows"), dims={"rows": 2}).outputs[0].shape == (2, 8)
    with pytest.raises(DiagnosticError, match="no symbolic size 'row'; it has 'rows'"):
        nn_opt.compile(make_model("rows"), dims={"row": 2})
    with pytest.raises(DiagnosticError, match="no input 'z'; it has 'x'"):
        nn_opt.compile(make_model("rows"), shapes={"z": [2]})


def test_the_cache_is_used(path, tmp_path, monkeypatch):
    check(nn_opt.compile(path))
    assert len(entries(tmp_path)) == 2  # the signature, and the program for one set of shapes
    monkeypatch.setattr(nn_opt.compiler.Builder, "artifact", None)  # compiling now would fail
    check(nn_opt.compile(path))


def test_without_cache(path, tmp_path):
    check(nn_opt.compile(path, cache=False))
    assert not (tmp_path / "cache").exists()


def test_a_changed_model_is_compiled_anew(path):
    check(nn_opt.compile(path))
    changed = make_model()
    changed.graph.initializer[0].CopyFrom(numpy_helper.from_array(2 * WEIGHT, "w"))
    onnx.save(changed, path)
    check(nn_opt.compile(path), weight=2 * WEIGHT)


def test_a_damaged_entry_is_compiled_anew(path, tmp_path):
    check(nn_opt.compile(path))
    for entry in entries(tmp_path):
        data = bytearray(entry.read_bytes())
        data[len(data) // 2] ^= 1
        entry.write_bytes(data)
    check(nn_opt.compile(path))


def test_weights_beside_the_model_are_part_of_it(tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(make_model(), path, save_as_external_data=True, location="w.bin", size_threshold=0)
    check(nn_opt.compile(path))
    data = bytearray((tmp_path / "w.bin").read_bytes())
    assert data[: WEIGHT.nbytes] == WEIGHT.tobytes()
    data[: WEIGHT.nbytes] = (3 * WEIGHT).tobytes()
    (tmp_path / "w.bin").write_bytes(data)
    check(nn_opt.compile(path), weight=3 * WEIGHT)


def test_a_warm_start_imports_no_compiler(path):
    script = (
        "import sys, numpy as np, nn_opt, nn_opt.compiler\n"
        "nn_opt.compiler.sources_stamp = lambda: 'an edit between the processes voids nothing'\n"
        "model = nn_opt.compile(sys.argv[1])\n"
        "model(np.zeros((4, 16), np.float32))\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'xdsl', 'onnx', 'rich'}))\n"
    )
    for loaded in ("['onnx', 'xdsl']\n", "[]\n"):
        done = subprocess.run(
            [sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=120
        )
        assert done.stdout == loaded, done.stderr


@pytest.mark.parametrize(
    ("level", "text"),
    [
        ("source", "graph.matmul"),
        ("graph", "graph.fused"),
        ("kernels", "func.call @"),
        ("tensor", "tensor.compute"),
        ("loop", "loop.for"),
        ("llvm", "llvm.func @nn_main"),
        ("llvm-ir", "define void @nn_main("),
        ("asm", "nn_main:"),
        ("infer-shapes", "graph.relu"),
    ],
)
def test_text_at_each_level(level, text):
    assert text in nn_opt.compile(make_model()).ir(level)


def test_unknown_level():
    with pytest.raises(DiagnosticError, match="no level 'hlo'"):
        nn_opt.compile(make_model()).ir("hlo")


def test_profile_names_the_nodes():
    model = nn_opt.compile(make_model(), threads=1)
    rows = model.profile({"x": x_of(4)})
    assert {node for row in rows for node in row.kernel.nodes} == {"mix", "shift", "clip"}
    # 2 * 4 * 8 * 16 for the product, 4 * 8 each for sum and maximum
    assert sum(row.kernel.flops for row in rows) == 1024 + 64
    assert all(row.seconds >= 0 for row in rows)


def test_progress_is_reported():
    seen: list[tuple[str, int, int]] = []
    nn_opt.compile(make_model(), progress=lambda *step: seen.append(step))
    assert [number for _, number, _ in seen] == list(range(len(seen)))
    assert {total for _, _, total in seen} == {len(seen)}
    assert seen[-1][0] == "emit-object"


def test_memory():
    memory = nn_opt.compile(make_model()).memory
    assert memory.weight_bytes >= WEIGHT.nbytes  # the small bias may be in the code
    assert memory.peak_bytes == memory.arena_bytes + memory.weight_bytes


def test_public_names():
    assert {"compile", "parse", "import_model", "Model"} <= set(nn_opt.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = nn_opt.nothing
