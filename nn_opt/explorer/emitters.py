"""What is generated from the last module: a table of texts, each split by function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp

Pieces = list[tuple[str, str]]  # function names and texts, in order


@dataclass(frozen=True)
class Emitter:
    """A language that a module can be written in.

    language: how the page colours the text.
    accepts: whether the module is in the form that `emit` takes.
    """

    name: str
    title: str
    language: str
    accepts: Callable[[ModuleOp], bool]
    emit: Callable[[ModuleOp], Pieces]


def emitted(module: ModuleOp) -> Iterator[tuple[Emitter, Pieces]]:
    """Yield the text of a module in each language that it is ready for."""
    for emitter in EMITTERS:
        if emitter.accepts(module):
            yield emitter, emitter.emit(module)


def _is_llvm(module: ModuleOp) -> bool:
    return any(isinstance(op, llvm.FuncOp) and op.body.blocks for op in module.ops) and all(
        isinstance(op, llvm.FuncOp | llvm.GlobalOp) for op in module.ops
    )


def _llvm_ir(module: ModuleOp) -> Pieces:
    from nn_opt.backends.llvm import print_module

    return split_llvm(print_module(module))


def _assembly(module: ModuleOp) -> Pieces:
    from nn_opt.backends.llvm import print_module
    from nn_opt.backends.llvm.object import emit_assembly
    from nn_opt.ir.target import target_of

    return split_assembly(emit_assembly(print_module(module), target_of(module), comments=True))


_DEFINE = re.compile(r'^define [^@\n]*@("[^"\n]*"|[^\s(]+)\(', re.MULTILINE)
_FUNCTION_TYPE = re.compile(r'^\s*\.type\s+("[^"\n]*"|[^,\s]+),\s*[@%]function', re.MULTILINE)


def split_llvm(text: str) -> Pieces:
    """Split LLVM IR where functions end; what is outside of them has no name."""
    pieces: Pieces = []
    rest: list[str] = []
    for stretch in re.split(r"(?<=^}\n)", text, flags=re.MULTILINE):
        match = _DEFINE.search(stretch)
        if match is None:
            rest.append(stretch)
            continue
        rest.append(stretch[: match.start()])
        pieces.append((match[1].strip('"'), stretch[match.start() :].rstrip("\n")))
    outside = "\n".join(filter(None, (part.strip("\n") for part in rest)))
    return [*pieces, ("", outside)] if outside else pieces


def split_assembly(text: str) -> Pieces:
    """Split assembly before each function's type; what comes before the first has no name."""
    starts = [(match.start(), match[1].strip('"')) for match in _FUNCTION_TYPE.finditer(text)]
    pieces: Pieces = [("", text[: starts[0][0] if starts else len(text)].rstrip("\n"))]
    ends = [*(start for start, _ in starts[1:]), len(text)]
    for (start, name), end in zip(starts, ends, strict=True):
        pieces.append((name, text[start:end].strip("\n")))
    return [piece for piece in pieces if piece[1]]


# Text of a further backend is a further row.
EMITTERS = (
    Emitter("llvm-ir", "LLVM IR", "llvm", _is_llvm, _llvm_ir),
    Emitter("assembly", "Assembly", "asm", _is_llvm, _assembly),
)
