"""nn-run and nn-compile as a user meets them: what is printed, written and refused."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import onnx
import onnx.parser
import pytest
import tools
from onnx import TensorProto, helper, numpy_helper

from nn_opt.driver.compile import main as nn_compile
from nn_opt.driver.peers import make_peer, relative_error
from nn_opt.driver.run import main as nn_run
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.target import host

WEIGHT = np.random.default_rng(1).standard_normal((16, 8)).astype(np.float32)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NN_OPT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def model(tmp_path) -> str:
    """The path of y = relu(x @ WEIGHT), x of N rows."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], name="mix"),
        helper.make_node("Relu", ["m"], ["y"], name="clip"),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 8])],
        [numpy_helper.from_array(WEIGHT, "w")],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), tmp_path / "model.onnx")
    return str(tmp_path / "model.onnx")


def test_random_inputs_and_a_summary(model, capsys):
    assert nn_run([model, "--repeat", "2", "--threads", "1"]) == 0
    out, err = capsys.readouterr()
    assert err == "note: 'N' of 'x' is taken as 1; --dim N=8 sets it\n"
    assert "model.onnx: compiled, loaded and run once in" in out
    assert "1x8" in out
    assert "Time of 2 runs, 1 thread(s)" in out


def test_the_seed_decides(model, tmp_path, capsys):
    results: list[np.ndarray] = []
    for seed in ("1", "1", "2"):
        file = str(tmp_path / "y.npz")
        arguments = ["--dim", "N=3", "--repeat", "1", "--seed", seed, "--save-outputs", file]
        assert nn_run([model, *arguments]) == 0
        results.append(np.load(file)["y"])
    assert results[0].shape == (3, 8)
    np.testing.assert_array_equal(results[0], results[1])
    assert not np.array_equal(results[0], results[2])


def test_inputs_from_files(model, tmp_path, capsys):
    x = np.random.default_rng(5).standard_normal((6, 16)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    arguments = ["--input", f"x={tmp_path}/x.npy", "--save-outputs", str(tmp_path / "y.npz")]
    assert nn_run([model, *arguments, "--repeat", "1"]) == 0
    expected = np.maximum(x.astype(np.float64) @ WEIGHT, 0)
    np.testing.assert_allclose(np.load(tmp_path / "y.npz")["y"], expected, rtol=1e-5, atol=1e-5)


def test_comparison(model, capsys):
    assert nn_run([model, "--dim=N=4", "--repeat=2", "--compare=onnxruntime"]) == 0
    out = capsys.readouterr().out
    error = float(out.split("Largest relative error against onnxruntime:")[1].split()[0])
    assert error < 1e-6  # sums of 16 products in float32
    assert "of onnxruntime's time" in out


@pytest.mark.skipif(not host().has("avx512bf16"), reason="this processor lacks avx512bf16")
def test_another_precision_is_compared_with_f32(model, capsys):
    assert nn_run([model, "--precision", "bf16", "--dim", "N=3", "--repeat", "1"]) == 0
    out = capsys.readouterr().out
    assert "Largest relative error against f32: " in out
    assert "nn-opt f32" in out


def test_products_of_narrow_numbers_are_said(tmp_path, capsys):
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (uint8[4,32] x, float[4,16] a, float[16,16] b) => (int32[4,16] y, float[4,16] z)
    <int8[32,16] w = {WEIGHTS}> { y = MatMulInteger(x, w)  z = MatMul(a, b) }"""
    weights = ", ".join(str(k % 7 - 3) for k in range(512))
    onnx.save(onnx.parser.parse_model(text.replace("WEIGHTS", weights)), tmp_path / "narrow.onnx")
    assert nn_run([str(tmp_path / "narrow.onnx"), "--repeat", "1"]) == 0
    assert "Products: int8 in 1 kernel(s), float32 in 1 kernel(s)" in capsys.readouterr().out


@tools.needs("opencl")
def test_run_says_how_many_kernels_a_call_launches(model, capsys):
    nn_run([model, "--dim", "N=3", "--target", "opencl", "--repeat", "1"])
    assert "Launches: 1 kernels a call" in capsys.readouterr().out


def test_profile(model, capsys):
    assert nn_run([model, "--shape", "x=4x16", "--repeat=2", "--profile"]) == 0
    out = capsys.readouterr().out
    assert "GFLOP/s" in out
    assert "mix, clip" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "error: the following arguments are required: model"),
        (["{model}", "--what"], "error: unrecognized arguments: --what"),
        (["{folder}/none.onnx"], "{folder}/none.onnx: error: No such file or directory"),
        (["{model}", "--dim", "N"], "error: --dim is 'N', expected NAME=VALUE"),
        (["{model}", "--dim", "N=x"], "error: --dim is 'N=x', but 'x' is no size"),
        (["{model}", "--dim", "M=1"], "{model}: error: the model has no symbolic size 'M'"),
        (["{model}", "--shape", "x=1x-1"], "error: --shape is 'x=1x-1', but '-1' is no size"),
        (["{model}", "--input", "x"], "error: --input is 'x', expected NAME=FILE.npy"),
        (["{model}", "--input", "x={folder}/x.npy"], "{folder}/x.npy: error: No such file"),
        (["{model}", "--input", "x={model}"], "{model}: error: this is no .npy file"),
        (
            ["{model}", "--dim", f"N={2**30}"],
            "error: input x: float32[1073741824, 16] is too large for random values: [1073741824",
        ),
        (["{model}", "--threads", "0"], "error: threads is 0, expected 1 to 256"),
        (["{model}", "--repeat", "0"], "error: --repeat is 0, expected 1 or more"),
        (["{model}", "--target", "z80"], "error: unknown target 'z80'"),
        (
            ["{folder}/f.mlir", "--compare", "onnxruntime"],
            "error: --compare needs an ONNX model, got",
        ),
    ],
)
def test_mistakes_are_one_message(model, tmp_path, capsys, arguments, message):
    words = {"model": model, "folder": str(tmp_path)}
    assert nn_run([argument.format(**words) for argument in arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(message.format(**words)) or message.format(**words) in err.split("\n")[1]
    assert "Traceback" not in err


def test_an_input_of_several_arrays(model, tmp_path, capsys):
    np.savez(tmp_path / "x.npz", np.zeros(2), np.zeros(3))
    assert nn_run([model, "--input", f"x={tmp_path}/x.npz"]) == 1
    expected = f"{tmp_path}/x.npz: error: this holds several arrays\n"
    assert capsys.readouterr().err == f"{expected}  hint: save one with numpy.save\n"


def test_an_input_of_unknown_rank(tmp_path, capsys):
    text = (
        """<ir_version: 8, opset_import: ["": 17]> g (float[] x) => (float[] y) { y = Relu(x) }"""
    )
    onnx.save(onnx.parser.parse_model(text), tmp_path / "any.onnx")
    assert nn_run([str(tmp_path / "any.onnx")]) == 1
    expected = "error: the rank of input 'x' is unknown\n  hint: --shape x=1x3x8x8\n"
    assert capsys.readouterr().err == expected


def test_without_a_peer(model, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert nn_run([model, "--compare", "onnxruntime"]) == 1
    expected = "error: onnxruntime is not installed\n  hint: pip install onnxruntime\n"
    assert capsys.readouterr().err.endswith(expected)


def test_what_a_peer_cannot_load(model):
    with pytest.raises(DiagnosticError, match=f"onnxruntime cannot load {model}x: "):
        make_peer("onnxruntime", f"{model}x", {}, ["y"], 1)


def test_an_input_of_the_wrong_shape(model, tmp_path, capsys):
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float32))
    assert nn_run([model, "--input", f"x={tmp_path}/x.npy"]) == 1
    expected = "error: input 'x' has shape [2, 3], expected [N, 16]\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize(
    ("actual", "wanted", "error"),
    [
        ([1, 2], [1, 2], 0),
        ([3, 4], [0, 0], 5),
        ([3, 0], [3, 4], 0.8),
        ([np.inf, np.nan, 1], [np.inf, np.nan, 1], 0),
        ([np.inf], [-np.inf], np.inf),
        ([1, np.nan], [1, 2], np.inf),
        ([], [], 0),
        ([1], [1, 1], np.inf),
    ],
)
def test_relative_error(actual, wanted, error):
    assert relative_error(np.array(actual, float), np.array(wanted, float)) == pytest.approx(error)


@pytest.mark.parametrize(
    ("actual", "wanted", "error"),
    [
        (np.array(["a", "b"], object), np.array(["a", "b"], object), 0),
        (np.array(["a", "b"], object), np.array(["a", "c"], object), np.inf),
        ([np.ones(2), np.ones(1)], [np.ones(2), 2 * np.ones(1)], 0.5),
        ([np.ones(2)], [], np.inf),
        ([{"a": 1.0, "b": 2.0}], [{"a": 1.0, "b": 4.0}], 0.5),
        ({"a": 1.0}, {"b": 1.0}, np.inf),
        (None, None, 0),
        (np.ones(2), [np.ones(2)], np.inf),
    ],
)
def test_relative_error_of_what_is_no_array_of_numbers(actual, wanted, error):
    assert relative_error(actual, wanted) == pytest.approx(error)


@pytest.mark.parametrize(("suffix", "text"), [("ll", "define void @nn_main("), ("s", "nn_main:")])
def test_compile_to_text(model, tmp_path, suffix, text):
    file = tmp_path / f"out.{suffix}"
    assert nn_compile([model, "--dim", "N=2", "-o", str(file)]) == 0
    assert text in file.read_text()


def test_debug_info(model, tmp_path, capsys):
    file = tmp_path / "out.ll"
    assert nn_compile([model, "--dim", "N=2", "-o", str(file), "--debug-info"]) == 0
    assert 'DISubprogram(name: "mix"' in file.read_text()
    assert f'DIFile(filename: "model.onnx", directory: "{tmp_path}")' in file.read_text()
    for arguments in ([], ["--debug-info"]):
        assert nn_run([model, "--dim", "N=2", "--repeat=1", *arguments]) == 0
    kept = [path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    code = [b".debug_line" in data for data in kept if b".symtab" in data]
    assert sorted(code) == [False, True]


@tools.needs("cc")
def test_compile_to_a_library(model, tmp_path):
    assert nn_compile([model, "--dim", "N=2", "-o", str(tmp_path / "my-net.so")]) == 0
    header = (tmp_path / "my-net.h").read_text()
    assert "[0] x: float32[2, 16]" in header
    assert "int my_net_run(const void *const *inputs, void *const *outputs);" in header
    library = ctypes.CDLL(str(tmp_path / "my-net.so"))
    x = np.random.default_rng(5).standard_normal((2, 16)).astype(np.float32)
    y = np.empty((2, 8), np.float32)
    pointers = ctypes.c_void_p * 1
    assert library.my_net_run(pointers(x.ctypes.data), pointers(y.ctypes.data)) == 0
    np.testing.assert_allclose(y, np.maximum(x @ WEIGHT, 0), rtol=1e-5, atol=1e-5)


def test_compile_for_another_machine(model, tmp_path):
    file = tmp_path / "net.o"
    assert nn_compile([model, "--dim", "N=2", "-o", str(file), "--target", "neon"]) == 0
    assert file.read_bytes()[18:20] == (183).to_bytes(2, "little")  # EM_AARCH64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "x.exe"], "error: -o is x.exe\n  hint: its suffix says what to write: .ll (LLVM"),
        (["-o", "x.o"], "error: input x: float32[N, 16] has unknown sizes"),
        (["-o", "/no/such/x.o"], "error: there is no folder /no/such"),
        ([], "error: the following arguments are required: -o"),
        (["-o", "x.so", "--dim", "N=1", "--target", "neon"], "no C compiler here links for"),
    ],
)
def test_mistakes_of_compile(model, tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CC", "")
    monkeypatch.setenv("PATH", str(tmp_path))  # no compiler for other machines either
    assert nn_compile([model, *arguments]) == 1
    assert message in capsys.readouterr().err


def test_a_linker_that_fails(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("CC", "false")
    file = tmp_path / "net.so"
    assert nn_compile([model, "--dim", "N=1", "-o", str(file)]) == 1
    assert "false cannot link net.so:" in capsys.readouterr().err
    assert not file.exists()


def test_random_indices_are_in_range_and_given_ones_are_looked_at(tmp_path, capsys):
    node = helper.make_node("Gather", ["w", "places"], ["y"], name="embed")
    graph = helper.make_graph(
        [node],
        "lookup",
        [helper.make_tensor_value_info("places", TensorProto.INT64, ["N"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 8])],
        [numpy_helper.from_array(WEIGHT[:2], "w")],
    )
    opset = [helper.make_opsetid("", 17)]
    path = str(tmp_path / "lookup.onnx")
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    assert nn_run([path, "--dim", "N=40", "--repeat", "1"]) == 0
    np.save(tmp_path / "places.npy", np.int64([0, 1, 2]))
    assert nn_run([path, "--input", f"places={tmp_path}/places.npy"]) == 1
    said = "input 'places' holds 2 at [2], but node 'embed' takes indices from -2 to 1"
    assert said in capsys.readouterr().err
