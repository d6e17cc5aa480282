"""Models at the gpu level, as tests of kernels want them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from nn_opt.frontends.onnx import import_model
from nn_opt.ir.parsing import make_context
from nn_opt.ir.target import set_target, target_named
from nn_opt.pipelines import expand, run_passes


def lowered(
    model: onnx.ModelProto | Path, target: str, feeds: Mapping[str, NDArray[Any]] | None = None
) -> ModuleOp:
    """Return a model as kernels and launches; inputs give it the shapes that it leaves open."""
    shapes = {name: array.shape for name, array in (feeds or {}).items()}
    module = import_model(model, shapes=shapes)
    set_target(module, target_named(target).name)
    for name in ("optimize-graph", "lower-to-loops", "lower-to-gpu"):
        run_passes(make_context(), module, expand(name))
    return module
