"""Models made to exhaust a machine or to lead out of their folder: an answer at once, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper
from onnx_text import parse

import nn_opt
from nn_opt.ir.diagnostics import DiagnosticError

X = np.asarray([1, 2], np.float32)


def complaint(source: ModelProto | bytes | Path, **inputs: Any) -> str:
    with pytest.raises(DiagnosticError) as error:
        nn_opt.compile(source, cache=False).run(inputs or {"x": X})
    return str(error.value)


def graph_with(text: str, **weights: Any) -> ModelProto:
    return parse(f"g (float[2] x) => (float[] y) {{ {text} }}", 17, weights)


# external files -----------------------------------------------------------------------------------


def external(**entries: str) -> TensorProto:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def saved(model: ModelProto, folder: Path) -> Path:
    (folder / "w.bin").write_bytes(np.asarray([10, 20], np.float32).tobytes())
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return folder / "model.onnx"


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"location": "a\0b"}, "is not a path inside the model's folder"),
        ({"location": "..\\w.bin"}, "is not a path inside the model's folder"),
        ({"location": "a\\..\\..\\w.bin"}, "is not a path inside the model's folder"),
        ({"location": "\\\\host\\w.bin"}, "is not a path inside the model's folder"),
        ({"location": "a" * 5000}, "is missing, or not a file"),
        ({"location": "."}, "is missing, or not a file"),
        ({"location": "w.bin", "offset": "9" * 5000}, f"offset is '{'9' * 32}...', not a number"),
        ({"location": "w.bin", "offset": "٣"}, "offset is '٣', not a number"),
        ({"location": "w.bin", "offset": str(2**64 - 4)}, "of 'w.bin', which has 8"),
    ],
)
def test_external_entries(entries: dict[str, str], words: str, tmp_path: Path) -> None:
    model = graph_with("y = Add(x, w)")
    model.graph.initializer.append(external(**entries))
    assert words in complaint(saved(model, tmp_path))


def with_branch(location: str) -> ModelProto:
    model = graph_with(
        """y = If (yes) <
            then_branch = a () => (float[2] o) { o = Add(x, w) },
            else_branch = b () => (float[2] p) { p = Neg(x) }>""",
        yes=np.array(True),
        w=X,
    )
    (w,) = (tensor for tensor in model.graph.initializer if tensor.name == "w")
    model.graph.initializer.remove(w)
    branch = next(a.g for a in model.graph.node[0].attribute if a.name == "then_branch")
    branch.initializer.append(external(location=location))
    return model


def test_external_weights_of_a_branch(tmp_path: Path) -> None:
    (y,) = nn_opt.compile(saved(with_branch("w.bin"), tmp_path)).run({"x": X}).values()
    assert y.tolist() == [11, 22]
    message = complaint(saved(with_branch("../w.bin"), tmp_path))
    assert "tensor 'w': external file '../w.bin' is not a path inside the model's folder" in message


# sizes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dims", [[0, 2**62], [2**62, 0, 2**62]])
def test_absurd_sizes_beside_an_empty_one(dims: list[int]) -> None:
    model = graph_with("y = Add(x, w)")
    model.graph.initializer.append(TensorProto(name="w", data_type=1, dims=dims))
    assert "tensor 'w' has the absurd shape" in complaint(model)


def test_products_of_sizes_overflow_nothing() -> None:
    model = graph_with("y = Add(x, w)")
    model.graph.initializer.append(TensorProto(name="w", data_type=1, dims=[2**62, 4]))
    assert "its list of values has another length" in complaint(model)


def test_what_would_be_folded_is_too_large() -> None:
    text = "s = Expand(one, size)  y = Reshape(x, s)"
    message = complaint(graph_with(text, one=np.asarray([1]), size=np.asarray([2**33])))
    assert "Reshape: 8589934592 elements would be computed at compile time, more than" in message


def test_memory_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **keywords: Any) -> None:
        raise OSError

    from nn_opt.runtime import memory

    monkeypatch.setattr(memory.mmap, "mmap", refuse)
    with pytest.raises(MemoryError, match="12 bytes of memory cannot be had"):
        memory.Block(12)


def test_strings_by_the_billion() -> None:
    size = numpy_helper.from_array(np.asarray([2**36]), "n")
    text = numpy_helper.from_array(np.asarray(["a"], object), "s")
    for operator in ("Expand", "Tile"):
        model = graph_with(f"y = {operator}(s, n)")
        model.graph.output[0].type.tensor_type.elem_type = TensorProto.STRING
        model.graph.initializer.extend([size, text])
        assert "the result has 68719476736 strings, more than" in complaint(model)


def test_strings_that_are_fewer_than_their_shape_says() -> None:
    model = graph_with("y = Identity(s)")
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.STRING
    text = TensorProto(name="s", data_type=TensorProto.STRING, dims=[2**40], string_data=[b"a"])
    model.graph.initializer.append(text)
    assert "Identity: 's' of shape [1099511627776] has 1 strings" in complaint(model)


# calls and graphs in graphs -----------------------------------------------------------------------


def calls(names: list[tuple[str, list[str]]]) -> ModelProto:
    """Return a model that calls the first function; each calls others one after the other."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    model = graph_with("y = Relu(x)")
    model.opset_import.append(opsets[1])
    model.graph.node[0].CopyFrom(helper.make_node(names[0][0], ["x"], ["y"], domain="own"))
    for name, called in names:
        nodes = [
            helper.make_node(
                other, [f"v{k}"], [f"v{k + 1}"], domain="own" if other[0] == "f" else ""
            )
            for k, other in enumerate(called)
        ]
        last = f"v{len(called)}"
        model.functions.append(helper.make_function("own", name, ["v0"], [last], nodes, opsets))
    return model


def test_functions_that_call_each_other() -> None:
    assert "Cycle detected in model-local function" in complaint(
        calls([("f1", ["f2"]), ("f2", ["f1"])])
    )


def test_functions_that_double_again_and_again() -> None:
    doubling = [(f"f{k}", [f"f{k + 1}"] * 2) for k in range(29)] + [("f29", ["Relu"])]
    message = complaint(calls(doubling))
    assert "its functions expand to 536870912 nodes, more than 1048576" in message


def size_of(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, data: bytes) -> bytes:
    return size_of(number << 3 | 2) + size_of(len(data)) + data


def nested(levels: int) -> bytes:
    """Return an If in an If and so on, as bytes: the library would not write what is too deep."""
    info = helper.make_tensor_value_info
    leaf = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["o"])], "b", [], [info("o", 1, None)]
    )
    inner = whole = leaf.SerializeToString()
    end = field(2, b"b") + field(12, info("o", 1, None).SerializeToString())
    for _ in range(levels):
        parts = ((b"then_branch", whole), (b"else_branch", inner))
        branches = [field(5, field(1, n) + field(6, g) + size_of(160) + b"\5") for n, g in parts]
        node = field(1, b"c") + field(2, b"o") + field(4, b"If") + b"".join(branches)
        whole = field(1, node) + end
    inputs = GraphProto(input=[info("x", 1, [2]), info("c", TensorProto.BOOL, [])])
    opsets = ModelProto(ir_version=9, opset_import=[helper.make_opsetid("", 17)])
    return field(7, whole + inputs.SerializeToString()) + opsets.SerializeToString()


def test_graphs_deep_in_each_other() -> None:
    inputs = {"x": X, "c": np.array(True)}
    (y,) = nn_opt.compile(nested(30), cache=False).run(inputs).values()
    assert y.tolist() == [1, 2]
    for levels in (40, 1000):
        assert "with graphs at most 32 deep in each other" in complaint(nested(levels))


# names and versions -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a\0b", "../../x", "/etc/x", 'a"b\n}\\%', "n" * 9999])
def test_names_are_names_alone(name: str) -> None:
    node = helper.make_node("Relu", [name], ["y"], name=name)
    info = helper.make_tensor_value_info
    graph = helper.make_graph([node], "g", [info(name, 1, [2])], [info("y", 1, [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    assert nn_opt.compile(model).run({name: X})["y"].tolist() == [1, 2]


def test_nodes_of_one_name_are_two_nodes() -> None:
    model = graph_with("[n] a = Relu(x)  [n] y = Neg(a)")
    assert nn_opt.compile(model).run({"x": X})["y"].tolist() == [-1, -2]


def test_names_that_stand_for_nothing() -> None:
    model = graph_with("y = Relu(x)")
    model.graph.output.append(helper.make_tensor_value_info("", 1, [2]))
    assert "output '' is computed by no node" in complaint(model)
    model = graph_with("y = Relu(x)")
    model.graph.input.append(helper.make_tensor_value_info("", 1, [2]))
    assert "'name' of 'value_info' is required to be non-empty" in complaint(model)


@pytest.mark.parametrize(
    ("version", "words"),
    [(100, "ir_version 100 is higher than the checker's"), (0, "have an ir_version set properly")],
)
def test_versions_of_the_format(version: int, words: str) -> None:
    model = graph_with("y = Relu(x)")
    model.ir_version = version
    assert words in complaint(model)
