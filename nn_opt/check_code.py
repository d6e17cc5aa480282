"""The last comparison of `--check`: machine code against the interpreter of the levels above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.traits import SymbolTable

from nn_opt.ir.resources import Array
from nn_opt.ir.target import ATTRIBUTE, host
from nn_opt.runtime.manifest import Manifest
from nn_opt.runtime.program import ENTRY, Program


def is_lowered(module: ModuleOp) -> bool:
    """Return whether a module is what convert-loop-to-llvm leaves of a model."""
    entry = SymbolTable.lookup_symbol(module, ENTRY)
    return entry is not None and entry.name == "llvm.func"


def cannot_run(module: ModuleOp) -> str:
    """Return why this machine cannot run a lowered module, or nothing."""
    from nn_opt.compiler import require_runnable
    from nn_opt.runtime.loader import RuntimeFault

    target = module.attributes.get(ATTRIBUTE)
    try:
        require_runnable(getattr(target, "data", "host"))
    except RuntimeFault as fault:
        return str(fault).split("\n")[0].removeprefix("error: ")
    return ""


def run_code(module: ModuleOp, manifest: Manifest, inputs: Sequence[Array]) -> list[Array]:
    """Compile a lowered module for this machine and run it; the module stays as it is.

    manifest: the inputs and outputs of the program that was lowered.
    """
    from nn_opt.backends.llvm import print_module
    from nn_opt.backends.llvm.object import emit_object
    from nn_opt.build import weights_of
    from nn_opt.runtime.arguments import new_outputs
    from nn_opt.runtime.artifact import Artifact
    from nn_opt.runtime.weights import pack_weights

    lowered = module.clone()
    code = emit_object(print_module(lowered), host())
    arena = lowered.attributes.get("nn.arena_bytes")
    arrays, offsets, size = weights_of(lowered)
    manifest = replace(
        manifest,
        arena_bytes=arena.value.data if isinstance(arena, IntegerAttr) else 0,
        weight_bytes=size,
        object_sizes=(len(code),),
    )
    program = Program(Artifact(manifest, code, pack_weights(arrays, offsets, size)))
    outputs = new_outputs(manifest.outputs)
    typed = [a.astype(info.dtype) for a, info in zip(inputs, manifest.inputs, strict=True)]
    program.run(typed, outputs, threads=1)
    return outputs
