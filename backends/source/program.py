"""What a whole program consists of in every language: kernels, @main, weights, an arena."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.backends.source.language import ProgramLanguage
from nn_opt.backends.source.names import Names
from nn_opt.backends.source.printer import FunctionPrinter
from nn_opt.backends.source.weights import Weights
from nn_opt.dialects import loop
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.legality import require_one_block
from nn_opt.ir.types import element_type


@dataclass(frozen=True)
class SourceProgram:
    """The text of a program, and what it needs at run time."""

    text: str
    weights: Weights
    arena_bytes: int


class Program(ABC):
    """A module while it is printed."""

    def __init__(self, module: ModuleOp, language: ProgramLanguage, taken: set[str]) -> None:
        require_one_block(module, f"emit={language.flag}")
        self.module = module
        self.language = language
        self.names = Names(set(language.reserved) | taken)
        self.symbols: dict[str, str] = {}
        self.weights = Weights()
        self.tables: list[str] = []  # of the file: what functions need beside their arguments
        size = module.attributes.get("nn.arena_bytes")
        self.arena_bytes = size.value.data if isinstance(size, IntegerAttr) else 0
        functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
        self.kernels = [op for op in functions if op.sym_name.data != "main"]
        mains = [op for op in functions if op.sym_name.data == "main"]
        if not mains:
            problem = "has no func.func @main with a body"
            raise PassFailedException(complaint(module, problem, hint=language.first))
        (self.main,) = mains

    def print(self) -> SourceProgram:
        """Return the whole text."""
        parts = [self.print_kernel(op) for op in self.kernels]
        parts.append(self.print_main(self.main))
        tables = "".join(f"{table}\n" for table in self.tables)
        text = "\n".join([self.head(), *([tables] if tables else []), *parts])
        return SourceProgram(text, self.weights, self.arena_bytes)

    @abstractmethod
    def head(self) -> str:
        """Return what the file begins with; all else is known by then."""

    def print_kernel(self, op: FuncOp) -> str:
        """Return a kernel, with a comment that names its nodes."""
        p = self.printer()
        for argument in op.args:
            p.check_type(op, element_type(argument))
        parameters = ", ".join(self.parameter(p, argument) for argument in op.args)
        p.block(op.body.block)
        head = self.kernel_head(self.symbol(op.sym_name.data), parameters)
        lines = [f"/* {self.nodes(op)} */", f"{head} {{", *self.unread(p, op), *p.lines, "}\n"]
        return "\n".join(lines)

    @abstractmethod
    def parameter(self, p: FunctionPrinter, argument: SSAValue) -> str:
        """Name a buffer that a kernel is given; return how it is declared."""

    @abstractmethod
    def kernel_head(self, name: str, parameters: str) -> str:
        """Return what a kernel begins with, up to its brace."""

    def unread(self, p: FunctionPrinter, op: FuncOp) -> list[str]:
        """Return what a compiler wants said of arguments that nothing mentions."""
        return []

    @abstractmethod
    def print_main(self, op: FuncOp) -> str:
        """Return the function that calls the kernels."""

    @abstractmethod
    def table(self, op: loop.ConstantOp) -> str:
        """Return the name of a constant of a kernel, which is now a table of the file."""

    def local_buffer(self, p: FunctionPrinter, op: loop.AllocOp) -> None:
        """Say where a small buffer of a kernel is: in variables, if that can be."""
        if not p.make_variables(op):
            self.array(p, op)

    def array(self, p: FunctionPrinter, op: loop.AllocOp) -> None:
        """Say where a small buffer is that has places in memory."""
        word = p.name(op.result, op.buffer.data)
        p.say(self.language.local_buffer(word, element_type(op.result), p.elements(op.result)))

    def view(self, p: FunctionPrinter, op: loop.ViewOp) -> None:
        """Name a part of a buffer."""
        at = p.indices(op.indices).text(op.start)
        source, source_type = p.words[op.source], element_type(op.source)
        word = p.name(op.result, "view")
        type_, elements = element_type(op.result), p.elements(op.result)
        p.say(self.language.view(word, type_, elements, source, source_type, at))

    def copy(self, p: FunctionPrinter, op: loop.CopyOp) -> None:
        """Copy a whole buffer."""
        p.before_a_write()
        source, target = p.words[op.source], p.words[op.target]
        p.say(self.language.copy(source, target, element_type(op.target), p.elements(op.target)))

    def symbol(self, name: str) -> str:
        """Return the name of a function in the file."""
        if name not in self.symbols:
            self.symbols[name] = self.names.fresh(name, "kernel")
        return self.symbols[name]

    def printer(self) -> FunctionPrinter:
        """Return a printer for one function."""
        p = FunctionPrinter(self.language, Names(set(self.names.taken)), self.table, self.symbol)
        p.statements[loop.AllocOp] = self.local_buffer
        p.statements[loop.ViewOp] = self.view
        p.statements[loop.CopyOp] = self.copy
        return p

    def places(self, op: FuncOp) -> list[tuple[SSAValue, str, int]]:
        """Return the arguments of @main, each with `inputs` or `outputs` and its place there."""
        count = op.attributes.get("num_outputs")
        inputs = len(op.args) - (count.value.data if isinstance(count, IntegerAttr) else 0)
        return [
            (argument, "inputs", k) if k < inputs else (argument, "outputs", k - inputs)
            for k, argument in enumerate(op.args)
        ]

    def nodes(self, kernel: FuncOp) -> str:
        """Return the nodes that a kernel computes, once for each call."""
        name = kernel.sym_name.data
        texts = [_nodes(op) for op in self.module.walk() if _calls(op, name)]
        return plain("; ".join(dict.fromkeys(filter(None, texts))) or "a kernel")


def names_of(main: FuncOp, which: str, count: int) -> list[str]:
    """Return the names of the inputs or outputs of @main, which may state them."""
    kind = {"inputs": "arg", "outputs": "result"}[which]
    stated = _strings(main.attributes.get(f"{kind}_names"))
    return stated if len(stated) == count else [f"{kind}{k}" for k in range(count)]


def _strings(attribute: Attribute | None) -> list[str]:
    match attribute:
        case ArrayAttr(data=names):
            return [name.data for name in names if isinstance(name, StringAttr)]
        case _:
            return []


def plain(text: str) -> str:
    """Return a text that neither ends a comment nor begins one."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ")


def _calls(op: Operation, name: str) -> bool:
    return isinstance(op, CallOp) and op.callee.root_reference.data == name


def _nodes(call: Operation) -> str:
    return ", ".join(_strings(call.attributes.get("nn.nodes")))
