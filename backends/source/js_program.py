"""A module of the loop level as one ES module."""

from __future__ import annotations

import json
import math
from urllib.parse import quote

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from nn_opt.backends.source.javascript import HELPERS, JavaScript
from nn_opt.backends.source.printer import FunctionPrinter
from nn_opt.backends.source.program import Program, SourceProgram, names_of, plain
from nn_opt.backends.source.weights import elements_of
from nn_opt.dialects import loop
from nn_opt.ir.types import element_type, shape_of

HEAD = """\
/* {title}
 *
 * run(inputs, outputs, weights) takes typed arrays in row-major order, in the order of the lists
 * below, and an ArrayBuffer with the bytes of the file of weights; load() reads it.
 */
export const arenaBytes = {arena}, weightBytes = {weights};
export const inputs = {inputs};
export const outputs = {outputs};

export async function load(url = new URL({file}, import.meta.url)) {{
  if (url.protocol != "file:") return await (await fetch(url)).arrayBuffer();
  const bytes = await (await import("node:fs/promises")).readFile(url);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
}}

"""


def print_js(
    module: ModuleOp, title: str = "A model, compiled by nn-opt", file: str = "model.weights"
) -> SourceProgram:
    """Return a planned module of the loop level as JavaScript.

    file: where its weights will be, beside the text.
    Raises: PassFailedException for an op or type that has no word there, or a missing @main.
    """
    return JsProgram(module, title, file).print()


class JsProgram(Program):
    """JavaScript: every buffer that a kernel needs is made once, when the module is loaded."""

    def __init__(self, module: ModuleOp, title: str, file: str) -> None:
        self.js = JavaScript()
        self.title, self.file = title, file
        taken = {
            "run",
            "load",
            "url",
            "inputs",
            "outputs",
            "weights",
            "arena",
            "arenaBytes",
            "weightBytes",
        }
        super().__init__(module, self.js, taken)

    def head(self) -> str:
        return (
            HEAD.format(
                title=plain(self.title),
                arena=self.arena_bytes,
                weights=self.weights.size,
                file=json.dumps(f"./{quote(self.file)}"),
                inputs=self._signature("inputs"),
                outputs=self._signature("outputs"),
            )
            + HELPERS
        )

    def _signature(self, which: str) -> str:
        arguments = [value for value, array, _ in self.places(self.main) if array == which]
        names = names_of(self.main, which, len(arguments))
        rows = [
            {
                "name": name,
                "array": self.js.type_word(element_type(value)),
                "shape": list(shape_of(value)),
            }
            for value, name in zip(arguments, names, strict=True)
        ]
        return json.dumps(rows)

    def parameter(self, p: FunctionPrinter, argument: SSAValue) -> str:
        return p.name(argument, "buffer")

    def kernel_head(self, name: str, parameters: str) -> str:
        return f"function {name}({parameters})"

    def print_main(self, op: FuncOp) -> str:
        p = self.printer()
        p.constant = self.weight
        p.statements[loop.ArenaOp] = _arena
        for argument, array, place in self.places(op):
            p.check_type(op, element_type(argument))
            p.say(f"const {p.name(argument, array[:-1])} = {array}[{place}];")
        p.block(op.body.block)
        head = "export function run(inputs, outputs, weights, arena = new ArrayBuffer(arenaBytes))"
        return "\n".join([f"{head} {{", *p.lines, "}\n"])

    def weight(self, op: loop.ConstantOp) -> str:
        """Return a constant of @main: a part of the weights."""
        word = self.js.type_word(element_type(op.result))
        count = math.prod(shape_of(op.result))
        return f"new {word}(weights, {self.weights.offset(op)}, {count})"

    def table(self, op: loop.ConstantOp) -> str:
        type_ = element_type(op.result)
        words = ", ".join(self.js.literal(value, type_).strip("()") for value in elements_of(op))
        return self._of_file(
            op.result.name_hint, "table", f"{self.js.type_word(type_)}.of({words})"
        )

    def array(self, p: FunctionPrinter, op: loop.AllocOp) -> None:
        word = f"new {self.js.type_word(element_type(op.result))}({p.elements(op.result)})"
        p.words[op.result] = self._of_file(op.result.name_hint, op.buffer.data, word)

    def _of_file(self, wish: str | None, otherwise: str, value: str) -> str:
        name = f"{self.names.fresh(wish, otherwise)}_"  # no name of a value ends so
        self.tables.append(f"const {name} = {value};")
        return name


def _arena(p: FunctionPrinter, op: loop.ArenaOp) -> None:
    p.words[op.result] = "bytes"
    p.say("const bytes = new Int8Array(arena);")
