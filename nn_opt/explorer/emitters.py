"""What is generated from the last module: a table of texts, each split by function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from nn_opt.explorer.code import NOBODY, Piece

if TYPE_CHECKING:
    from nn_opt.backends.source import SourceProgram

ARENA_BYTES = "nn.arena_bytes"  # in a module after --plan-memory


@dataclass(frozen=True)
class Emitter:
    """A language that a module can be written in.

    language: how the page colours the text.
    accepts: whether the module is in the form that `emit` takes.
    emit: returns the text; the ops are those of the module, by whose numbers lines say whence
      they come.
    """

    name: str
    title: str
    language: str
    accepts: Callable[[ModuleOp], bool]
    emit: Callable[[ModuleOp, Sequence[Operation]], list[Piece]]


def emitted(
    module: ModuleOp, ops: Sequence[Operation]
) -> Iterator[tuple[Emitter, Sequence[Piece]]]:
    """Yield the text of a module in each language that it is ready for."""
    for emitter in EMITTERS:
        if emitter.accepts(module):
            yield emitter, emitter.emit(module, ops)


def _is_llvm(module: ModuleOp) -> bool:
    return any(isinstance(op, llvm.FuncOp) and op.body.blocks for op in module.ops) and all(
        isinstance(op, llvm.FuncOp | llvm.GlobalOp) for op in module.ops
    )


def _llvm_ir(module: ModuleOp, ops: Sequence[Operation]) -> list[Piece]:
    from nn_opt.backends.llvm import print_module
    from nn_opt.explorer.code import llvm_pieces, numbered

    text = print_module(module)
    with numbered(module, ops):
        return llvm_pieces(text, print_module(module, debug_info=True))


def _assembly(module: ModuleOp, ops: Sequence[Operation]) -> list[Piece]:
    from nn_opt.backends.llvm import print_module
    from nn_opt.backends.llvm.object import emit_assembly
    from nn_opt.explorer.code import assembly_pieces, numbered
    from nn_opt.ir.target import target_of

    with numbered(module, ops):
        text = print_module(module, debug_info=True)
    return assembly_pieces(emit_assembly(text, target_of(module), comments=True))


def _is_planned(module: ModuleOp) -> bool:
    functions = [op for op in module.ops if isinstance(op, func.FuncOp) and op.body.blocks]
    names = {function.sym_name.data for function in functions}
    planned = "main" in names and ARENA_BYTES in module.attributes
    return planned and not _has_kernels(module)


def _c(module: ModuleOp, ops: Sequence[Operation]) -> list[Piece]:
    from nn_opt.backends.source import print_c

    return _source(module, print_c, "model_run")


def _javascript(module: ModuleOp, ops: Sequence[Operation]) -> list[Piece]:
    from nn_opt.backends.source import print_js

    return _source(module, print_js, "run")


def _has_kernels(module: ModuleOp) -> bool:
    from nn_opt.dialects import gpu

    return any(isinstance(op, gpu.ModuleOp) for op in module.ops)


def _kernels(language: str) -> Callable[[ModuleOp, Sequence[Operation]], list[Piece]]:
    """Return what shows the kernels of a module in a language."""

    def emit(module: ModuleOp, ops: Sequence[Operation]) -> list[Piece]:
        from nn_opt.backends.source.gpu_languages import language_named
        from nn_opt.backends.source.gpu_program import print_kernels
        from nn_opt.explorer.code import kernel_pieces

        try:
            source = print_kernels(module, language_named(language))
        except PassFailedException as error:
            return _none(error)
        return kernel_pieces(source.text, set(source.names.values()))

    return emit


def _none(error: PassFailedException) -> list[Piece]:
    """Return why there is no text: what a language cannot say is worth knowing."""
    text = f"/* There is no such text of this module:\n{error}\n*/"
    return [Piece("", text, (NOBODY,) * len(text.split("\n")))]


def _source(module: ModuleOp, show: Callable[[ModuleOp], SourceProgram], entry: str) -> list[Piece]:
    from nn_opt.explorer.code import source_pieces

    try:
        text = show(module).text
    except PassFailedException as error:
        return _none(error)
    functions = {op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp)}
    return source_pieces(text, {*functions, entry})


# Text of a further backend is a further row.
EMITTERS = (
    Emitter("llvm-ir", "LLVM IR", "llvm", _is_llvm, _llvm_ir),
    Emitter("assembly", "Assembly", "asm", _is_llvm, _assembly),
    Emitter("c", "C99", "c", _is_planned, _c),
    Emitter("js", "JavaScript", "c", _is_planned, _javascript),
    Emitter("opencl", "OpenCL C", "c", _has_kernels, _kernels("opencl")),
    Emitter("cuda", "CUDA C++", "c", _has_kernels, _kernels("cuda")),
    Emitter("metal", "Metal", "c", _has_kernels, _kernels("metal")),
    Emitter("wgsl", "WGSL", "c", _has_kernels, _kernels("wgsl")),
)
