"""Every file of converters: importing this one fills the table `CONVERTERS`."""

from nn_opt.frontends.onnx import (
    control,
    elementwise,
    linear,
    loops,
    movement,
    nn,
    normalization,
    pooling,
    quantize,
    recurrent,
    recurrent_int8,
    reduction,
    resize,
    shape,
)
from nn_opt.frontends.onnx.table import CONVERTERS

__all__ = [
    "CONVERTERS",
    "control",
    "elementwise",
    "linear",
    "loops",
    "movement",
    "nn",
    "normalization",
    "pooling",
    "quantize",
    "recurrent",
    "recurrent_int8",
    "reduction",
    "resize",
    "shape",
]
