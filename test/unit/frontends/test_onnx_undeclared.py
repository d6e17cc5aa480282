"""Outputs without a type: what tools write that only name values to be seen."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

import nn_opt
from nn_opt.ir.diagnostics import DiagnosticError

X = np.array([-1, 0.5, 2], np.float32)


def model(kind: str, nodes: list[onnx.NodeProto], *outputs: ValueInfoProto) -> ModelProto:
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])
    weight = helper.make_tensor("w", TensorProto.FLOAT, [1], [0.5])
    graph = helper.make_graph(nodes, kind, [info], [*outputs], [weight])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


NODES = [
    helper.make_node("Greater", ["x", "w"], ["above"]),
    helper.make_node("Cast", ["above"], ["bits"], to=TensorProto.INT64),
    helper.make_node("SequenceConstruct", ["bits", "bits"], ["both"]),
]


def test_types_are_inferred() -> None:
    """Source: what onnxruntime gives; a type without elements counts as none."""
    outputs = [ValueInfoProto(name="above"), helper.make_tensor_value_info("bits", 0, None)]
    proto = model("seen", NODES, *outputs)
    before = proto.SerializeToString()
    compiled = nn_opt.compile(proto, cache=False, threads=1)
    above, bits = compiled(X)
    assert (above.dtype, above.tolist()) == (np.bool_, [False, False, True])
    assert (bits.dtype, bits.tolist()) == (np.int64, [0, 0, 1])
    assert proto.SerializeToString() == before


def test_lists_and_inputs_may_be_undeclared_outputs() -> None:
    proto = model("seen", NODES, ValueInfoProto(name="both"), ValueInfoProto(name="x"))
    results = nn_opt.compile(proto, cache=False, threads=1).run({"x": X})
    assert [part.tolist() for part in results["both"]] == [[0, 0, 1]] * 2
    assert (results["x"] == X).all()


def test_what_onnx_knows_nothing_of_stays_undeclared() -> None:
    node = helper.make_node("QuickGelu", ["x"], ["y"], domain="com.microsoft")
    with pytest.raises(DiagnosticError) as caught:
        nn_opt.compile(model("odd", [node], ValueInfoProto(name="y")), cache=False)
    assert str(caught.value) == (
        "odd: error: 'y' declares no type of elements, and ONNX infers none\n"
        "  hint: write its type into the model, as onnx.checker asks for"
    )
