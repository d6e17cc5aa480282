"""Writes a model whose second input is the shape of its output."""

import sys

import onnx

TEXT = """<ir_version: 9, opset_import: ["": 20]>
g (float[2,4] x, int64[n] s) => (float y) { y = Reshape(x, s) }"""
model = onnx.parser.parse_model(TEXT)
del model.graph.output[0].type.tensor_type.shape.dim[:]
model.graph.output[0].type.tensor_type.ClearField("shape")
onnx.save(model, sys.argv[1])
