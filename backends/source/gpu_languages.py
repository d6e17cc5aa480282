"""The languages for kernels by name, each imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from nn_opt.backends.source.gpu_language import GpuLanguage
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.target import target_of

LANGUAGES = {
    "opencl": "nn_opt.backends.source.opencl:OpenCL",
    "cuda": "nn_opt.backends.source.cuda:Cuda",
    "metal": "nn_opt.backends.source.metal:Metal",
    "wgsl": "nn_opt.backends.source.wgsl:Wgsl",
}


def language_named(name: str) -> GpuLanguage:
    """Return the language of a name in LANGUAGES."""
    module, _, attribute = LANGUAGES[name].partition(":")
    return cast("type[GpuLanguage]", getattr(import_module(module), attribute))()


def language_of(module: ModuleOp) -> GpuLanguage:
    """Return the language of the module's target.

    Raises: PassFailedException if the target is no GPU.
    """
    gpu = target_of(module).gpu
    if gpu is None:
        problem = "is not for a GPU"
        raise PassFailedException(
            complaint(module, problem, hint="compile it with --target opencl")
        )
    return language_named(gpu.language)
