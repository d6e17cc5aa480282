"""Broken, unsupported and hostile models: one clear diagnostic each, never a traceback."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto
from onnx_text import parse

from bench import models
from nn_opt.frontends.onnx import import_model
from nn_opt.frontends.onnx.reader import Model
from nn_opt.frontends.onnx.weights import array_of_tensor
from nn_opt.ir.diagnostics import DiagnosticError

ADD = "g (float[2] x) => (float[2] y) { y = Add(x, w) }"
PAIR = np.float32([1, 2])


def complaint(source: ModelProto | bytes | Path, **bindings) -> str:
    """Return the text of the error that importing raises."""
    with pytest.raises(DiagnosticError) as error:
        import_model(source, **bindings)
    return str(error.value)


def external(folder: Path, size: int = 2, **entries: str) -> Path:
    """Write a model whose only weight is external."""
    model = parse(ADD)
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[size])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    model.graph.initializer.append(tensor)
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


# files ------------------------------------------------------------------------------------------


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "absent.onnx"
    assert complaint(path) == f"{path}: error: cannot read the model: No such file or directory"


def test_no_graph() -> None:
    assert complaint(b"\x08\x07") == "<bytes>: error: not an ONNX model: it holds no graph"


def test_other_files_and_truncated_ones() -> None:
    assert "not an ONNX model, or a truncated one (9 bytes)" in complaint(b"\x89QNG\r\n\x1a\n\xff")
    assert "truncated" in complaint(models.build_small("mlp").SerializeToString()[:-5])


def test_damaged_files_never_show_a_traceback() -> None:
    """Single bytes changed at seeded places of every small model."""
    chance = random.Random(0)
    for name in models.SMALL:
        whole = models.build_small(name).SerializeToString()
        for _ in range(12):
            damaged = bytearray(whole)
            damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
            try:
                import_model(bytes(damaged))
            except DiagnosticError as error:
                assert str(error).startswith("<bytes>: error: ")  # noqa: PT017


# structure ----------------------------------------------------------------------------------------

STRUCTURE = {
    "g (float[2] x) => (float[2] y) { y = Add(x, z) }": (
        "node 'Add_0' reads 'z', which is no input, initializer or node output"
    ),
    "g (float[2] x) => (float[2] y) { [a] y = Add(x, z) z = Relu(y) }": (
        "node 'a' reads 'z' before it is computed: there is a cycle"
    ),
    "g (float[2] x) => (float[2] y) { y = Relu(x) y = Neg(x) }": (
        "node 'Neg_1' defines 'y' a second time"
    ),
    "g (float[2] x) => (float[2] y) { x = Relu(x) }": "defines 'x' a second time",
    "g (float[2] x) => (float[2] y) { z = Relu(x) }": "output 'y' is computed by no node",
    "g (float[2] x, float[3] x) => (float[2] y) { y = Relu(x) }": "two inputs are called 'x'",
    "g (float[2] x) => (float[2] y, float[2] y) { y = Relu(x) }": "an output is listed twice: y, y",
    "g (seq(float[2]) x, float[2] z) => (float[2] y) { y = Relu(z) }": (
        "'x' is a sequence, not a tensor"
    ),
    "g (float[2] x) => () { y = Relu(x) }": "the graph has no outputs",
}


def test_nodes_in_any_order() -> None:
    """Converters to half floats write their casts at the end; onnxruntime sorts nodes, too."""
    text = """g (float[2] x) => (float[2] y) { y = Add(b, a) b = Relu(a) [n] a = Neg(x) }"""
    proto = parse(text)
    module = str(import_model(proto))
    assert module.index("graph.neg") < module.index("graph.relu") < module.index("graph.add")
    assert proto.graph.node[0].op_type == "Add"  # the caller's own stays as it is


@pytest.mark.parametrize("text", STRUCTURE)
def test_structure(text: str) -> None:
    assert STRUCTURE[text] in complaint(parse(text))


@pytest.mark.parametrize(
    ("opset", "word"), [(0, "opset 0 is not supported, expected 1 to "), (999, "opset 999 is not")]
)
def test_opsets_out_of_range(opset: int, word: str) -> None:
    assert word in complaint(parse("g (float[2] x) => (float[2] y) { y = Relu(x) }", opset))


def test_a_model_without_operator_sets() -> None:
    model = parse("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    del model.opset_import[:]
    assert "the model imports no operator set of the main domain" in complaint(model)


def test_names_that_are_no_text() -> None:
    data = parse("g (float[2] x) => (float[2] y) { [node] y = Relu(x) }").SerializeToString()
    message = complaint(data.replace(b"node", b"no\xff\xfe"))
    assert "not an ONNX model, or a damaged one: a name in it is not UTF-8 text" in message


def test_the_checker_has_its_say_in_one_line() -> None:
    text = "g (float[2] x) => (float[2] y) { y = Relu<alpha = 1.0>(x) }"
    message = complaint(parse(text))
    words = "the ONNX checker refuses node 'Relu_0': Relu: Unrecognized attribute: alpha"
    assert words in message
    assert "\n" not in message


NODES = {
    "y = MatMul(x, x)": "node 'MatMul_0': MatMul: inner sizes are 3 and 2, expected equal ones",
    "y = Add(x, one)": "node 'Add_0': Add: operand has element type i64, expected f32",
    "y = Concat<axis = 7>(x, x)": "axis 7 is out of range for rank 2",
    "y = Reshape(x, k)": "cannot reshape [2, 3] to [4, 4]",
    "y = Squeeze<axes = [0]>(x)": "are not all of size 1",
    "y = Transpose<perm = [0, 0]>(x)": "name one axis twice",
    "y = Expand(x, k)": "cannot broadcast [2, 3] with [4, 4]",
    "y = Tile(x, huge)": "output 'y' has the absurd shape [2199023255552, 3298534883328]",
    "y, more = Relu(x)": "Relu",
    "d = Dropout(x) y = DepthToSpace<blocksize = 0>(images)": "DepthToSpace_1",
    "y = LpNormalization<p = 3>(x)": "p is 3, expected 1 or 2",
    'y = Resize<mode = "nearest">(x, none, none, k4)': "sizes [4, 4, 4, 4] do not fit axes [0, 1]",
    "u = Unsqueeze<axes = [0]>(x) y = MaxPool<kernel_shape = [9]>(u)": "kernel 9",
    "u = Unsqueeze<axes = [0]>(x)"
    " y = MaxPool<kernel_shape = [4294967296], pads = [4294967295, 0]>(u)": (
        "kernel 4294967296 (dilation 1), pads (4294967295, 0) are absurd"
    ),
    "y = Resize(x, none, none, minus)": "Resize: sizes [-1, 2], expected none of them negative",
    "y = ConstantOfShape(minus)": "ConstantOfShape: sizes [-1, 2], expected none of them negative",
    "y = Resize(nothing, none, none, k)": "sizes [4, 4] cannot be made of no elements, [0, 3]",
    "y = Resize(x, none, scales)": "scales [1.0, -1.0], expected positive numbers",
}


@pytest.mark.parametrize("nodes", NODES)
def test_impossible_nodes(nodes: str) -> None:
    known = {"k": [4, 4], "k4": [4] * 4, "one": [1], "minus": [-1, 2], "huge": [2**40, 2**40]}
    weights = {name: np.asarray(value, np.int64) for name, value in known.items()}
    weights |= {"none": np.float32([]), "images": np.zeros((1, 4, 2, 2), np.float32)}
    weights |= {"scales": np.float32([1, -1]), "nothing": np.zeros((0, 3), np.float32)}
    model = parse(f"g (float[2,3] x) => (float[] y) {{ {nodes} }}", 11, weights)
    assert NODES[nodes] in complaint(model)


def test_shape_operands_must_be_known_at_compile_time() -> None:
    text = "g (float[4] x, int64[2] s) => (float[] y) { [r] y = Reshape(x, s) }"
    message = complaint(parse(text))
    assert (
        "node 'r': Reshape: operand 1 ('s') must be known at compile time,"
        " but it depends on the model's inputs"
    ) in message


def test_a_gather_of_shapes_beyond_the_end() -> None:
    text = """
    g (float[4,2] x) => (float[] y) { s = Shape(x) d = Gather(s, k) [r] y = Reshape(x, d) }"""
    assert "node 'r': Reshape" in complaint(parse(text, weights={"k": np.int64([5])}))


# unsupported --------------------------------------------------------------------------------------


def test_all_unsupported_nodes_are_listed_before_any_work() -> None:
    text = """
    g (float[1,2,4,4] x) => (float[] y, float[] p) {
      [wide] a = com.acme.Wobble(x)
      b = com.acme.Wobble(a)
      [pool] p = MaxPool<kernel_shape = [2, 2], auto_pad = "SAME">(x)
      y = Cast<to = 8>(b)
      dead = com.acme.Ignored(x)
    }"""
    message = complaint(parse(text, domains={"com.acme": 3}))
    lines = [line.strip() for line in message.splitlines()]
    assert lines[0] == "g: error: 4 unsupported node(s):"
    assert lines[1] == "node 'wide': com.acme.Wobble (opset 3): operator is not supported"
    assert lines[2] == "node 'Wobble_1': com.acme.Wobble (opset 3): operator is not supported"
    assert lines[3] == "node 'pool': ai.onnx.MaxPool (opset 17): auto_pad = SAME"
    assert lines[4] == "node 'Cast_3': ai.onnx.Cast (opset 17): cast to string"


def test_unsupported_nodes_inside_functions_are_named_by_their_call() -> None:
    text = """
    g (float[2] x) => (float[2] y) { [call] y = local.twice(x) }
    <domain: "local", opset_import: ["" : 17, "com.acme" : 1]>
    twice (a) => (b) { [inner] b = com.acme.Wobble(a) }"""
    assert "node 'call/inner'" in complaint(parse(text, domains={"local": 1, "com.acme": 1}))


@pytest.mark.parametrize("kind", ["string", "complex64"])
def test_element_types_without_a_counterpart(kind: str) -> None:
    model = parse(f"g ({kind}[2] x) => ({kind}[2] y) {{ y = Identity(x) }}", 21)
    assert f"'x' has elements of {kind}, which is not supported" in complaint(model)


# sizes --------------------------------------------------------------------------------------------

OPEN = "g (float[N,3,?] a, float[N] b, float[] c) => (float[] y) { y = Relu(a) }"


def test_unknown_sizes_are_listed_with_the_way_to_give_them() -> None:
    message = complaint(parse(OPEN), dims={"N": 2})
    assert "the sizes of 2 input(s) are unknown: 'a' [N, 3, ?], 'c' of unknown rank" in message
    assert "give them by shapes={'a': [1, 3, 1], 'c': [1, 1]}" in message
    named = parse("g (float[N,3,M] a, float[N] b) => (float[] y) { y = Relu(a) }")
    hint = "give them by dims={'M': 1}, on a command line by --dim M=1"
    assert hint in complaint(named, dims={"N": 2})


@pytest.mark.parametrize(
    ("bindings", "word"),
    [
        ({"dims": {"M": 1}}, "no symbolic size 'M'; it has 'N'"),
        ({"shapes": {"z": [1]}}, "no input 'z'; it has 'a', 'b', 'c'"),
        ({"shapes": {"a": [1, 4, 1]}}, "input 'a' has shape [N, 3, ?], given [1, 4, 1]"),
        ({"shapes": {"a": [1, 3]}}, "given [1, 3]"),
        (
            {"shapes": {"a": [1, 3, 1], "b": [1], "c": [2**50]}},
            "input 'c' has the absurd shape [1125899906842624]",
        ),
    ],
)
def test_bindings_that_do_not_fit(bindings: dict[str, dict[str, object]], word: str) -> None:
    assert word in complaint(parse(OPEN), **bindings)


# weights ------------------------------------------------------------------------------------------


def test_weights_of_the_wrong_size() -> None:
    model = parse(ADD, weights={"w": PAIR})
    model.graph.initializer[0].dims[0] = 3
    assert "tensor 'w' of shape [3]: it holds 8 bytes, expected 12" in complaint(model)
    model.graph.initializer[0].dims[0] = -3
    assert "tensor 'w' has a negative size: [-3]" in complaint(model)


def test_weights_whose_values_are_too_few() -> None:
    model = parse(ADD)
    model.graph.initializer.append(TensorProto(name="w", data_type=1, dims=[2], float_data=[1]))
    assert "tensor 'w' of shape [2]: its list of values has another length" in complaint(model)


def test_weights_that_are_no_numbers() -> None:
    model = parse(ADD)
    text = TensorProto(name="w", data_type=TensorProto.STRING, dims=[1], string_data=[b"a"])
    model.graph.initializer.append(text)
    assert "initializer 'w': elements of string" in complaint(model)
    with pytest.raises(DiagnosticError, match="tensor 'w' has elements of string"):
        array_of_tensor(text, Model(model, "g", None))


@pytest.mark.parametrize("location", ["../w.bin", "/etc/passwd", "", "a/../../w.bin", "C:\\w.bin"])
def test_external_paths_that_lead_out(location: str, tmp_path: Path) -> None:
    message = complaint(external(tmp_path, location=location))
    assert f"external file '{location}' is not a path inside the model's folder" in message


def test_external_links_that_lead_out(tmp_path: Path) -> None:
    outside, folder = tmp_path / "w.bin", tmp_path / "model"
    outside.write_bytes(PAIR.tobytes())
    folder.mkdir()
    os.symlink(outside, folder / "w.bin")
    message = complaint(external(folder, location="w.bin"))
    assert "tensor 'w': external file 'w.bin' leads out of the model's folder, to '" in message


@pytest.mark.parametrize(
    ("entries", "word"),
    [
        ({"offset": "8"}, "it ends at byte 16 of 'w.bin', which has 8"),
        ({"length": "4"}, "its length is 4 bytes, expected 8"),
        ({"offset": "-4"}, "external offset is '-4', not a number"),
        ({"location": "absent.bin"}, "is missing, or not a file"),
    ],
)
def test_external_ranges(entries: dict[str, str], word: str, tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(PAIR.tobytes())
    assert word in complaint(external(tmp_path, **{"location": "w.bin", **entries}))


def test_external_weights_need_a_folder(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(PAIR.tobytes())
    path = external(tmp_path, location="w.bin")
    import_model(path)
    message = complaint(path.read_bytes())
    assert "external file 'w.bin' cannot be found: the model came without a folder" in message
    assert "pass the model's path instead of its bytes" in message
