"""nn-opt: a neural-network compiler and an instrument for compiler researchers."""

from __future__ import annotations

import sys
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
    from xdsl.passes import ModulePass as ModulePass
    from xdsl.pattern_rewriter import PatternRewriter as PatternRewriter
    from xdsl.pattern_rewriter import RewritePattern as RewritePattern
    from xdsl.utils.exceptions import PassFailedException as PassFailedException
    from xdsl.utils.exceptions import VerifyException as VerifyException

    from nn_opt import passes as passes
    from nn_opt.check import Check as Check
    from nn_opt.compiler import compile as compile
    from nn_opt.explorer import explore as explore
    from nn_opt.frontends.onnx import import_model as import_model
    from nn_opt.instrument import Instrument as Instrument
    from nn_opt.instruments.counters import DebugCounter as DebugCounter
    from nn_opt.instruments.counters import DisablePass as DisablePass
    from nn_opt.instruments.locating import VerifyLocations as VerifyLocations
    from nn_opt.instruments.patterns import PatternStatistics as PatternStatistics
    from nn_opt.instruments.patterns import PrintPatterns as PrintPatterns
    from nn_opt.instruments.printing import PrintChanges as PrintChanges
    from nn_opt.instruments.printing import PrintIR as PrintIR
    from nn_opt.instruments.printing import PrintIRTree as PrintIRTree
    from nn_opt.instruments.remarks import Remarks as Remarks
    from nn_opt.instruments.reproducer import CrashReproducer as CrashReproducer
    from nn_opt.instruments.statistics import Statistics as Statistics
    from nn_opt.instruments.timing import Timing as Timing
    from nn_opt.instruments.verifying import VerifyEach as VerifyEach
    from nn_opt.ir.contexts import register_dialect as register_dialect
    from nn_opt.ir.diagnostics import DiagnosticError as DiagnosticError
    from nn_opt.ir.printing import print_module as print_module
    from nn_opt.ir.verify import verify as verify
    from nn_opt.origin import parse as parse
    from nn_opt.pattern_passes import register_pass as register_pass
    from nn_opt.pattern_passes import register_pipeline as register_pipeline
    from nn_opt.pattern_passes import rewrite as rewrite
    from nn_opt.patterns import pattern as pattern
    from nn_opt.pipeline import Pipeline as Pipeline
    from nn_opt.reference.meanings import meaning as meaning
    from nn_opt.runtime.model import Model as Model

# What users call, imported at its first use: `import nn_opt` alone is quick.
_PUBLIC = {
    "Check": "nn_opt.check",
    "CrashReproducer": "nn_opt.instruments.reproducer",
    "DebugCounter": "nn_opt.instruments.counters",
    "DiagnosticError": "nn_opt.ir.diagnostics",
    "DisablePass": "nn_opt.instruments.counters",
    "Instrument": "nn_opt.instrument",
    "Model": "nn_opt.runtime.model",
    "ModulePass": "xdsl.passes",
    "PassFailedException": "xdsl.utils.exceptions",
    "PatternRewriter": "xdsl.pattern_rewriter",
    "PatternStatistics": "nn_opt.instruments.patterns",
    "Pipeline": "nn_opt.pipeline",
    "PrintChanges": "nn_opt.instruments.printing",
    "PrintIR": "nn_opt.instruments.printing",
    "PrintIRTree": "nn_opt.instruments.printing",
    "PrintPatterns": "nn_opt.instruments.patterns",
    "Remarks": "nn_opt.instruments.remarks",
    "RewritePattern": "xdsl.pattern_rewriter",
    "Statistics": "nn_opt.instruments.statistics",
    "Timing": "nn_opt.instruments.timing",
    "VerifyEach": "nn_opt.instruments.verifying",
    "VerifyException": "xdsl.utils.exceptions",
    "VerifyLocations": "nn_opt.instruments.locating",
    "compile": "nn_opt.compiler",
    "explore": "nn_opt.explorer",
    "import_model": "nn_opt.frontends.onnx",
    "meaning": "nn_opt.reference.meanings",
    "parse": "nn_opt.origin",
    "pattern": "nn_opt.patterns",
    "print_module": "nn_opt.ir.printing",
    "register_dialect": "nn_opt.ir.contexts",
    "register_pass": "nn_opt.pattern_passes",
    "register_pipeline": "nn_opt.pattern_passes",
    "rewrite": "nn_opt.pattern_passes",
    "verify": "nn_opt.ir.verify",
}
__all__ = [
    "Check",
    "CrashReproducer",
    "DebugCounter",
    "DiagnosticError",
    "DisablePass",
    "Instrument",
    "Model",
    "ModulePass",
    "PassFailedException",
    "PatternRewriter",
    "PatternStatistics",
    "Pipeline",
    "PrintChanges",
    "PrintIR",
    "PrintIRTree",
    "PrintPatterns",
    "Remarks",
    "RewritePattern",
    "Statistics",
    "Timing",
    "VerifyEach",
    "VerifyException",
    "VerifyLocations",
    "__version__",
    "compile",
    "explore",
    "import_model",
    "meaning",
    "parse",
    "passes",
    "pattern",
    "print_module",
    "register_dialect",
    "register_pass",
    "register_pipeline",
    "rewrite",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name == "passes":
        return import_module("nn_opt.passes")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'nn_opt' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


if "IPython" in sys.modules:
    from nn_opt.notebook import register as _register

    _register()
