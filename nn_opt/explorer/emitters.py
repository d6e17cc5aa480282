"""What is generated from the last module: a table of texts, each split by function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from nn_opt.explorer.code import Piece


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


# Text of a further backend is a further row.
EMITTERS = (
    Emitter("llvm-ir", "LLVM IR", "llvm", _is_llvm, _llvm_ir),
    Emitter("assembly", "Assembly", "asm", _is_llvm, _assembly),
)
