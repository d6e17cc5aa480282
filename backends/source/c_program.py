"""A module of the loop level as one C99 file."""

from __future__ import annotations

import re
from collections import Counter

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from nn_opt.backends.source.c99 import C99, HELPERS
from nn_opt.backends.source.printer import FunctionPrinter
from nn_opt.backends.source.program import Program, SourceProgram, plain
from nn_opt.backends.source.weights import elements_of
from nn_opt.dialects import loop
from nn_opt.ir.types import element_type

ENTRY = "model_run"
ARGUMENTS = ("inputs", "outputs", "weights", "arena")
HEAD = """\
/* {title}
 *
 * Arrays are row-major. `arena` holds {arena} bytes of temporaries, `weights` the {weights} bytes
 * of the file of weights; both are aligned to 64 bytes. Link with -lm.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

"""
DECLARATION = (
    f"void {ENTRY}(const void *const *inputs, void *const *outputs,"
    " const void *weights, void *arena)"
)


def print_c(module: ModuleOp, title: str = "A model, compiled by nn-opt") -> SourceProgram:
    """Return a planned module of the loop level as C99.

    Raises: PassFailedException for an op or type that C99 has no word for, or a missing @main.
    """
    return CProgram(module, title).print()


class CProgram(Program):
    """C99: temporaries of kernels are on the stack, those of the program in the caller's arena."""

    def __init__(self, module: ModuleOp, title: str) -> None:
        self.c = C99()
        self.title = title
        super().__init__(module, self.c, {ENTRY, *ARGUMENTS})

    def head(self) -> str:
        title = plain(self.title)
        sizes = {"arena": self.arena_bytes, "weights": self.weights.size}
        return HEAD.format(title=title, **sizes) + HELPERS

    def pointer(self, value: SSAValue) -> str:
        """Return the type of the address of a buffer's first element."""
        return f"{self.c.stored_word(element_type(value))} *"

    def print_kernel(self, op: FuncOp) -> str:
        p = self.printer()
        for argument in op.args:
            p.check_type(op, element_type(argument))
        arguments = [f"{self.pointer(arg)}{p.name(arg, 'buffer')}" for arg in op.args]
        p.block(op.body.block)
        p.lines[:0] = _unused(p, op)
        comment = f"/* {self.nodes(op)} */"
        head = f"static void {self.symbol(op.sym_name.data)}({', '.join(arguments)})"
        return "\n".join([comment, f"{head} {{", *p.lines, "}\n"])

    def print_main(self, op: FuncOp) -> str:
        p = self.printer()
        p.constant = self.weight
        p.statements[loop.ArenaOp] = _arena
        for argument, array, place in self.places(op):
            p.check_type(op, element_type(argument))
            pointer = self.pointer(argument)
            p.say(f"{pointer}const {p.name(argument, array[:-1])} = ({pointer}){array}[{place}];")
        p.block(op.body.block)
        p.lines += _unused(p, op, mentions=1)
        unused = "  (void)inputs, (void)outputs, (void)weights, (void)arena;"
        return "\n".join([f"{DECLARATION} {{", unused, *p.lines, "}\n"])

    def weight(self, op: loop.ConstantOp) -> str:
        """Return a constant of @main: its place in the weights."""
        pointer = self.pointer(op.result)
        return f"(({pointer})(void *)((char *)weights + {self.weights.offset(op)}))"

    def table(self, op: loop.ConstantOp) -> str:
        name = self.names.fresh(op.result.name_hint, "table")
        type_ = element_type(op.result)
        words = (self.c.literal(value, type_).strip("()") for value in elements_of(op))
        self.tables.append(f"static {self.c.stored_word(type_)} {name}[] = {{{', '.join(words)}}};")
        return name


def _arena(p: FunctionPrinter, op: loop.ArenaOp) -> None:
    p.words[op.result] = "((int8_t *)arena)"


def _unused(p: FunctionPrinter, op: FuncOp, mentions: int = 0) -> list[str]:
    """Return statements for arguments that the text does not mention, or compilers complain.

    mentions: how often it does where it defines them.
    """
    words = Counter(re.findall(r"\w+", " ".join(p.lines)))
    names = [p.words[argument] for argument in op.args]
    return [f"  (void){name};" for name in names if words[name] == mentions]
