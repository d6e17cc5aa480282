"""`--emit=LANGUAGE`: a module as source text, its weights as one block of bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp

from nn_opt.driver.arguments import Options

Result: TypeAlias = tuple[str, Callable[[], bytes]]  # a text, and what makes its weights

HOSTED = ("c", "js")  # languages of whole programs
KERNELS = ("opencl", "cuda", "metal", "wgsl")  # languages of kernels alone
DEVICES = ("ptx", "spirv")  # what LLVM makes of kernels, as assembly
PLAN = "launch-plan"  # what the host of kernels does, as JSON
LANGUAGES = (*HOSTED, *KERNELS, *DEVICES, PLAN)


def emit_source(module: ModuleOp, options: Options) -> str:
    """Return the text of a planned module; write the bytes that it reads where asked.

    Raises: PassFailedException for what the language cannot say.
    """
    from nn_opt.ir.files import write_bytes

    title = f"{Path(options.input).name}, compiled by nn-opt"
    if options.emit in DEVICES:
        from nn_opt.device_code import device_code

        text, weights = device_code(module, options.emit), bytes
    elif options.emit in HOSTED:
        text, weights = _program(module, options, title)
    else:
        text, weights = _kernels(module, options, title)
    if options.emit_weights is not None:
        write_bytes(options.emit_weights, weights())
    return text


def _program(module: ModuleOp, options: Options, title: str) -> Result:
    from nn_opt.backends.source import print_c, print_js

    if options.emit == "c":
        program = print_c(module, title)
    else:
        program = print_js(module, title, Path(options.emit_weights or "model.weights").name)
    return program.text, program.weights.content


def _kernels(module: ModuleOp, options: Options, title: str) -> Result:
    from nn_opt.backends.source.gpu_languages import language_named, language_of
    from nn_opt.backends.source.gpu_program import print_kernels
    from nn_opt.backends.source.launch_plan import plan_launches
    from nn_opt.build import signature_of

    only_plan = options.emit == PLAN
    language = language_of(module) if only_plan else language_named(options.emit)
    source = print_kernels(module, language, title)
    if not only_plan and options.emit_weights is None:
        return source.text, bytes
    plan, weights = plan_launches(module, source, signature_of(module))
    return plan.to_json() if only_plan else source.text, weights.content
