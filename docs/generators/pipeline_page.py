"""The page that shows one convolution after every stage."""

from __future__ import annotations

import inspect

from xdsl.dialects.builtin import ModuleOp

from nn_opt.backends.llvm import print_module
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.target import set_target
from nn_opt.pipelines import LOWER_TO_LLVM, LOWER_TO_LOOPS, OPTIMIZE_GRAPH
from nn_opt.registry import load_pass

TARGET = "x86-64-v3"
CONV_RELU = """
func.func @main(%x: tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32> {
  %w = graph.constant dense<0.5> : tensor<8x8x3x3xf32>
  %b = graph.constant dense<0.25> : tensor<8xf32>
  %y = graph.conv %x, %w, %b strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 1
    : (tensor<1x8x4x4xf32>, tensor<8x8x3x3xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  %z = graph.relu %y : tensor<1x8x4x4xf32>
  func.return %z : tensor<1x8x4x4xf32>
}
"""
INTRODUCTION = f"""# One convolution, all the way down

A 3x3 convolution with bias and ReLU (8 channels, 4x4 image) on its way to machine code for
`{TARGET}` (AVX2: 16 registers of 8 lanes). Below is the module after each pass that changes it;
every block can be fed back to `nn-opt`. This page is written by `docs/generate.py` and checked by
a test.
"""


def pipeline_page() -> str:
    """Return the text of docs/pipeline.md."""
    ctx = make_context()
    module = parse_module(ctx, CONV_RELU, "conv.mlir")
    set_target(module, TARGET)
    parts = [INTRODUCTION, _shown("The model", "as an importer leaves it", str(module))]
    before = str(module)
    for name in (*OPTIMIZE_GRAPH, *LOWER_TO_LOOPS, *LOWER_TO_LLVM):
        load_pass(name)().apply(ctx, module)
        after = str(module)
        if after != before:
            parts.append(_shown(f"`--{name}`", _purpose(name), after))
        before = after
    parts.append(_shown("LLVM IR", "what `backends/llvm` prints", _text(module), language="llvm"))
    return "\n".join(parts)


def _text(module: ModuleOp) -> str:
    return print_module(module).strip()


def _shown(title: str, purpose: str, text: str, language: str = "mlir") -> str:
    return f"## {title}\n\n{purpose}\n\n```{language}\n{text.strip()}\n```\n"


def _purpose(name: str) -> str:
    return inspect.cleandoc(load_pass(name).__doc__ or "").split("\n\n")[0]
