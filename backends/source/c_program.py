"""A module of the loop level as one C99 file."""

from __future__ import annotations

import re
import struct
from collections import Counter
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from nn_opt.backends.source.c99 import C99, HELPERS, helpers_of
from nn_opt.backends.source.printer import FunctionPrinter
from nn_opt.backends.source.program import Program, SourceProgram, plain
from nn_opt.backends.source.weights import elements_of
from nn_opt.dialects import loop
from nn_opt.ir.types import element_type

ARGUMENTS = ("inputs", "outputs", "weights", "arena")
HEAD = """\
/* {title}
 *
 * Arrays are row-major. `arena` holds {arena} bytes of temporaries, `weights` {weights} bytes: they
 * are {place}. Both are aligned to 64 bytes. Link with -lm.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

"""
EMBEDDED = """\
/* The array is of unions so that it is aligned for every type. */
typedef union {{ uint64_t word; double number; }} {name}_block;
const {name}_block {name}_weights[] = {{
{rows}
}};

"""
DECLARATION = (
    "void {name}_run(const void *const *inputs, void *const *outputs,"
    " const void *weights, void *arena)"
)
WORDS_A_LINE = 4


def print_c(
    module: ModuleOp,
    title: str = "A model, compiled by nn-opt",
    name: str = "model",
    *,
    embed_bytes: int = 0,
) -> SourceProgram:
    """Return a planned module of the loop level as C99, which defines NAME_run.

    embed_bytes: weights of up to so many bytes are in the text, as NAME_weights.
    Raises: PassFailedException for an op or type that C99 has no word for, or a missing @main.
    """
    return CProgram(module, title, name, embed_bytes).print()


class CProgram(Program):
    """C99: temporaries of kernels are on the stack, those of the program in the caller's arena."""

    def __init__(self, module: ModuleOp, title: str, name: str, embed_bytes: int) -> None:
        self.c = C99()
        self.title, self.name, self.embed_bytes = title, name, embed_bytes
        taken = {f"{name}_run", f"{name}_weights", f"{name}_block", *ARGUMENTS}
        super().__init__(module, self.c, taken)

    def print(self) -> SourceProgram:
        """Return the whole text; compilers need not hear of functions that nothing calls."""
        program = super().print()
        before, after = program.text.split(HELPERS, 1)
        return replace(program, text=f"{before}{helpers_of(after)}{after}")

    def head(self) -> str:
        embed = 0 < self.embed_bytes >= self.weights.size
        place = f"{self.name}_weights" if embed else "in a file of their own"
        sizes = {"arena": self.arena_bytes, "weights": self.weights.size}
        head = HEAD.format(title=plain(self.title), place=place, **sizes)
        return head + (self._embedded() if embed else "") + HELPERS

    def _embedded(self) -> str:
        """Return the weights as words of this machine's byte order, which C has no word for."""
        content = self.weights.content() or bytes(8)
        words = [f"{{0x{word:x}u}}" for (word,) in struct.iter_unpack("<Q", content)]
        lines = [words[k : k + WORDS_A_LINE] for k in range(0, len(words), WORDS_A_LINE)]
        rows = ",\n".join("  " + ", ".join(line) for line in lines)
        return EMBEDDED.format(name=self.name, rows=rows)

    def pointer(self, value: SSAValue) -> str:
        """Return the type of the address of a buffer's first element."""
        return f"{self.c.stored_word(element_type(value))} *"

    def parameter(self, p: FunctionPrinter, argument: SSAValue) -> str:
        return f"{self.pointer(argument)}{p.name(argument, 'buffer')}"

    def kernel_head(self, name: str, parameters: str) -> str:
        return f"static void {name}({parameters})"

    def unread(self, p: FunctionPrinter, op: FuncOp) -> list[str]:
        return _unused(p, op)

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
        head = DECLARATION.format(name=self.name)
        return "\n".join([f"{head} {{", unused, *p.lines, "}\n"])

    def weight(self, op: loop.ConstantOp) -> str:
        """Return a constant of @main: its place in the weights."""
        pointer = self.pointer(op.result)
        return f"(({pointer})(void *)((char *)weights + {self.weights.offset(op)}))"

    def table(self, op: loop.ConstantOp) -> str:
        name = self.names.fresh(op.result.name_hint, "table")
        type_ = element_type(op.result)
        words = (self.c.literal(value, type_).strip("()") for value in elements_of(op))
        word = f"static const {self.c.stored_word(type_)}"  # const stays in a small machine's flash
        self.tables.append(f"{word} {name}[] = {{{', '.join(words)}}};")
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
