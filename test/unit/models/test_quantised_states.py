"""Why models of DynamicQuantizeLSTM differ from onnxruntime: by one flip, not by a node.

A state is rounded to 8 bits in each step. Where float32 errors of 1e-7 meet a tie, a number flips
by 1/255 of the range, and all that follows differs. Given the same operands, a node does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import tools
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

import nn_opt
from bench import real_models

Array = NDArray[Any]
BATCH, LENGTH = 12, 12


def session(model: ModelProto) -> Any:
    """One thread: with more, onnxruntime quantises parts of the batch by ranges of their own."""
    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def test_each_node_agrees_on_the_operands_of_onnxruntime() -> None:
    path = real_models.find("diacritics")
    if path is None:
        tools.lacking("needs diacritics: run `python -m bench.real_models`")
    model = onnx.load_model(path)
    letters = np.random.default_rng(0).integers(1, 15, (BATCH, LENGTH))
    nodes = [n for n in model.graph.node if n.op_type == "DynamicQuantizeLSTM"]
    values = operands(model, nodes, {model.graph.input[0].name: letters})
    assert len(nodes) == 2
    for node in nodes:
        alone = model_of(node, values, model)
        inputs = {node.input[0]: values[node.input[0]]}
        wanted = session(alone).run(None, inputs)[0]
        got = next(iter(nn_opt.compile(alone, cache=False, threads=1).run(inputs).values()))
        near = np.abs(got - wanted) < 1e-6
        assert near.mean() > 0.99, "more than a flip late in a sequence"


def operands(
    model: ModelProto, nodes: list[NodeProto], inputs: dict[str, Array]
) -> dict[str, Array]:
    """Return the values that nodes read, as onnxruntime computes them."""
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    shown = onnx.ModelProto.FromString(model.SerializeToString())
    del shown.graph.output[:]
    names = {name for node in nodes for name in node.input if name and name not in values}
    shown.graph.output.extend(helper.make_empty_tensor_value_info(n) for n in sorted(names))
    found = session(shown)
    results = found.run(None, inputs)
    return values | dict(zip((out.name for out in found.get_outputs()), results, strict=True))


def model_of(node: NodeProto, values: dict[str, Array], model: ModelProto) -> ModelProto:
    """Return a model of one node whose operands but the first are constants."""
    x, *rest = (name for name in node.input if name)
    graph = helper.make_graph(
        [node],
        "node",
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, values[x].shape)],
        [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None)],
        [numpy_helper.from_array(values[name], name) for name in rest],
    )
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=8)
