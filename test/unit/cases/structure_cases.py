"""Cases about models as files: names, optional operands, size, external weights, refusals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import onnx
from casebook import Case, case, floats, int64s
from onnx import TensorProto, helper, numpy_helper
from onnx_text import parse


@case("microsoft/onnxruntime#729, microsoft/onnxruntime#11638, tracel-ai/burn#4119", whole=False)
def branches_read_outer_values() -> Case:
    text = """
    g (bool c, float[2] x) => (float[2] y) {
      t = Neg(x)
      y = If (c) <
        then_branch = then_graph () => (float[2] o) { o = Add(t, w) },
        else_branch = else_graph () => (float[2] p) { m = Mul(t, w)  p = Sub(m, x) }>
    }"""
    inputs = {"c": np.array(False), "x": floats(1, 2)}
    return Case(parse(text, 13, {"w": floats(10, 100)}), inputs, [floats(-11, -202)])


@case("apache/tvm#8481, tracel-ai/burn#2878, onnx/onnx#5784, onnx/tensorflow-onnx#169")
def names_are_any_text() -> Case:
    names = ["gpu_0/data.0", "gpu_0_data_0", "größe 1", "float", "%0", 'a"b', "return"]
    nodes = [
        helper.make_node("Add", [before, f"w/{power}.bias"], [after])
        for power, (before, after) in enumerate(pairwise(names), 1)
    ]
    nodes.append(helper.make_node("Identity", [names[-1]], ["out:0"]))
    weights = [numpy_helper.from_array(floats(10**k), f"w/{k}.bias") for k in range(1, len(names))]
    tensors = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in (names[0], "out:0")
    ]
    graph = helper.make_graph(nodes, "g", tensors[:1], tensors[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=10)
    return Case(model, {names[0]: floats(1)}, [floats(1111111)])


@case("microsoft/onnxscript#3014, NervanaSystems/ngraph#2434, sbryngelson/ANEForge#94")
def operands_results_inputs_and_nodes_may_be_left_out() -> Case:
    text = """
    g (float[3] x, float[1,1,2,2] image, int64[2] unused)
      => (float[3] y, float[1,1,1,1] p, float[3] d) {
      y = Clip(x, , high)
      p = MaxPool<kernel_shape = [2, 2]>(image)
      d = Dropout(x)
      dead = Exp(x)
    }"""
    x = floats(-3, 0.5, 9)
    image = floats(0, 1, 2, 3).reshape(1, 1, 2, 2)
    inputs = {"x": x, "image": image, "unused": int64s(0, 0)}
    want = [floats(-3, 0.5, 1), floats(3).reshape(1, 1, 1, 1), x]
    return Case(parse(text, 13, {"high": np.float32(1)}), inputs, want)


@case("xdslproject/xdsl#4713, iree-org/iree#9246, tensorflow/mlir#43")
def a_chain_of_4000_nodes_is_no_recursion() -> Case:
    steps = "".join(f" u{k} = Mul(v{k}, a)  v{k + 1} = Add(u{k}, b)" for k in range(2000))
    text = f"g (float[4] v0) => (float[4] v2000) {{{steps} }}"
    model = parse(text, 14, {"a": np.float32(0.5), "b": np.float32(1)})
    return Case(model, {"v0": floats(0, 1, 2, 3)}, [floats(2, 2, 2, 2)])


def _external(name: str, shape: list[int], **entries: str) -> onnx.TensorProto:
    tensor = onnx.TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


@case("microsoft/onnxruntime#8422, microsoft/onnxruntime#29788")
def external_weights_have_offset_and_length() -> Case:
    text = """
    g (float[2,2] x) => (float[2,3] y) {
      r = Reshape(w, shape)
      t = Transpose<perm = [1, 0]>(r)
      y = MatMul(x, t)
    }"""
    model = parse(text, 13, {"shape": int64s(3, 2)})
    entries = {"location": "weights.bin", "offset": "64", "length": "24"}
    model.graph.initializer.append(_external("w", [6], **entries))
    data = b"\xff" * 64 + floats(0, 1, 2, 3, 4, 5).tobytes() + b"\xff" * 8
    want = floats(0, 2, 4, 1, 3, 5).reshape(2, 3)
    identity = np.eye(2, dtype=np.float32)
    return Case(model, {"x": identity}, [want], files={"weights.bin": data})


@case("onnx/onnx#3991, microsoft/onnxruntime#26776, onnx/onnx#7686")
def external_weights_stay_inside_the_folder() -> Case:
    model = parse("g (float[2] x) => (float[2] y) { y = Add(x, w) }", 14)
    model.graph.initializer.append(_external("w", [2], location="../outside.bin"))
    return Case(model, {"x": floats(1, 2)}, refusal=["outside.bin"])


@case("onnx/onnx-mlir#1907, ONNC/onnc#131, llvm/torch-mlir#2328, iree-org/iree#6216")
def an_unknown_operator_is_named_with_domain_and_node() -> Case:
    text = "g (float[2] x) => (float[2] y) { [frob] y = acme.ops.Frobnicate(x) }"
    model = parse(text, 17, domains={"acme.ops": 1})
    return Case(model, {"x": floats(1, 2)}, refusal=["Frobnicate", "acme.ops", "frob"])
