"""The ONNX front-end: `import_model`, and `describe_inputs` without importing."""

from nn_opt.frontends.onnx.importer import import_model as import_model
from nn_opt.frontends.onnx.reader import Model as Model
from nn_opt.frontends.onnx.reader import Source as Source
from nn_opt.frontends.onnx.reader import read_model as read_model
from nn_opt.frontends.onnx.signature import InputSpec as InputSpec
from nn_opt.frontends.onnx.signature import describe_inputs as describe_inputs
from nn_opt.frontends.onnx.signature import describe_outputs as describe_outputs
