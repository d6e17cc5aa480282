"""nn-opt: a neural-network compiler and an instrument for compiler researchers."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

# A checkout keeps `dialects/`, `passes/`, ... beside this folder; where symbolic links are
# missing, find them there.
_checkout = Path(__file__).resolve().parent.parent
if (_checkout / "pyproject.toml").is_file():
    __path__.append(str(_checkout))

__version__ = "0.1.0"

if TYPE_CHECKING:
    from nn_opt.compiler import compile as compile
    from nn_opt.frontends.onnx import import_model as import_model
    from nn_opt.origin import parse as parse
    from nn_opt.runtime.model import Model as Model

# What users call, imported at its first use: `import nn_opt` alone is quick.
_PUBLIC = {
    "compile": "nn_opt.compiler",
    "import_model": "nn_opt.frontends.onnx",
    "parse": "nn_opt.origin",
    "Model": "nn_opt.runtime.model",
}
__all__ = ["Model", "__version__", "compile", "import_model", "parse"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'nn_opt' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
