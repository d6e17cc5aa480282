"""The kernels of a module as one text of a language for GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.backends.source import kernel_atomics, kernel_subgroups, kernel_vectors
from nn_opt.backends.source.gpu_language import Buffer, GpuLanguage, KernelHead, Space
from nn_opt.backends.source.kernel_printer import KernelPrinter
from nn_opt.backends.source.kernel_statements import STATEMENTS, exchanged
from nn_opt.backends.source.names import Names
from nn_opt.backends.source.places import (
    kernels_of,
    launches_of,
    read_only,
    shared_arguments,
    written,
)
from nn_opt.backends.source.program import plain
from nn_opt.backends.source.weights import elements_of
from nn_opt.dialects import gpu, loop
from nn_opt.dialects.loop.buffers import byte_size
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type

COMMON = {**STATEMENTS, **kernel_subgroups.STATEMENTS, **kernel_atomics.STATEMENTS}
MOST_BLOCKS = (1 << 31, 1 << 16, 1 << 16)  # where a kernel does not say
ALIGNED_BYTES = 16  # of every buffer that a kernel is given


class Known(NamedTuple):
    """What launches tell of a kernel's argument, see `Buffer`."""

    constant: bool
    read_only: bool
    alone: bool


@dataclass(frozen=True)
class KernelSource:
    """The text of all kernels, and under which name each of the module's is in it."""

    language: str
    text: str
    names: dict[str, str]


def print_kernels(
    module: ModuleOp, language: GpuLanguage, title: str = "A model, compiled by nn-opt"
) -> KernelSource:
    """Return the kernels of a module of the gpu level in a language.

    Raises: PassFailedException for what the language cannot say, or a module without kernels.
    """
    return GpuProgram(module, language, title).print()


class GpuProgram:
    """A module's kernels while they are printed."""

    def __init__(self, module: ModuleOp, language: GpuLanguage, title: str) -> None:
        self.language, self.title = language, title
        self.names = Names(set(language.reserved))
        self.tables: list[str] = []
        self.kernels = kernels_of(module)
        self.launches = launches_of(module)
        self.symbols: dict[str, str] = {}
        # A model that only copies has been lowered, too.
        if not self.kernels and gpu.CONTAINER not in module.attributes:
            problem = "has no gpu.module with kernels"
            raise PassFailedException(complaint(module, problem, hint=language.first))

    def print(self) -> KernelSource:
        """Return the whole text."""
        for kernel in self.kernels:
            name = kernel.sym_name.data
            self.symbols[name] = self.names.fresh(name, "kernel")
        kernels = [self.print_kernel(kernel) for kernel in self.kernels]
        tables = "".join(f"{table}\n" for table in self.tables)
        text = "\n".join([*([tables] if tables else []), *kernels])
        head = self.language.head(plain(self.title), text).rstrip("\n")
        return KernelSource(self.language.flag, f"{head}\n\n{text}", self.symbols)

    def print_kernel(self, kernel: gpu.FuncOp) -> str:
        """Return one kernel, with a comment that names its nodes."""
        p = self.printer(kernel)
        arguments = self.arguments(p, kernel)
        for argument in kernel.workgroup:
            self._declare_own(p, kernel, argument, Space.SHARED)
        for argument in kernel.private:
            self._declare_own(p, kernel, argument, Space.PRIVATE)
        p.block(kernel.body.block)
        name = self.symbols[kernel.sym_name.data]
        nodes = plain(", ".join(kernel.nodes) or "a kernel")
        body = "\n".join([*p.shared, *p.lines])
        head, first = self.language.kernel(KernelHead(name, nodes, arguments, p.block_size, body))
        comment = self.language.comment.format(nodes)
        if self.language.shared_in_kernel:
            top = [f"  {line}" for line in (*first, *p.shared)]
            return "\n".join([comment, f"{head} {{", *top, *p.lines, "}\n"])
        self.names.taken |= {buffer.name for buffer in p.buffers.values()}
        return "\n".join([comment, *p.shared, f"{head} {{", *p.lines, "}\n"])

    def arguments(self, p: KernelPrinter, kernel: gpu.FuncOp) -> list[Buffer]:
        """Declare the buffers that a kernel is given; return them."""
        changed = written(kernel)
        in_common = {k for pair in shared_arguments(kernel, self.launches) for k in pair}
        only_read = read_only(kernel, self.launches)
        return [
            self._argument(
                p,
                kernel,
                argument,
                Known(argument not in changed, k in only_read, k not in in_common),
            )
            for k, argument in enumerate(kernel.arguments)
        ]

    def _argument(
        self, p: KernelPrinter, kernel: gpu.FuncOp, value: SSAValue, known: Known
    ) -> Buffer:
        p.check_type(kernel, element_type(value))
        elements = p.elements(value)
        unit = max(byte_size(value) // max(elements, 1), 1)
        buffer = Buffer(
            p.names.fresh(value.name_hint, "buffer"),
            element_type(value),
            elements,
            Space.GLOBAL,
            constant=known.constant,
            read_only=known.read_only,
            alone=known.alone,
            atomic=any(isinstance(use.operation, gpu.AtomicOp) for use in value.uses),
            aligned=(aligned := max(ALIGNED_BYTES // unit, 1)),
            lanes=kernel_vectors.grouped(self.language, value, aligned),
        )
        p.declare(kernel, value, buffer)
        return buffer

    def _declare_own(
        self, p: KernelPrinter, kernel: gpu.FuncOp, value: SSAValue, space: Space
    ) -> None:
        name = p.names.fresh(value.name_hint, "buffer")
        elements = p.elements(value)
        buffer = Buffer(name, element_type(value), elements, space, aligned=4)
        p.declare(kernel, value, buffer)
        p.shared.append(self.language.array(buffer))

    def printer(self, kernel: gpu.FuncOp) -> KernelPrinter:
        """Return a printer for one kernel.

        Raises: PassFailedException if the kernel's numbers of threads are not known.
        """
        if kernel.block is None:
            problem = "does not say how many threads a block has"
            raise PassFailedException(complaint(kernel, problem, hint="set known_block_size"))
        return KernelPrinter(
            self.language,
            Names(set(self.names.taken)),
            self.table,
            self.symbols.__getitem__,
            {**COMMON, **self.language.statements},
            gpu=self.language,
            block_size=kernel.block,
            grid_size=kernel.grid or MOST_BLOCKS,
            on_vectors=kernel_vectors.value,
            grouped=kernel_vectors.grouped,
            exchanges_global=bool(exchanged(kernel)),
            subgroup=_subgroup(kernel),
        )

    def table(self, op: loop.ConstantOp) -> str:
        """Return the name of a constant of a kernel, which is now a table of the file."""
        name = self.names.fresh(op.result.name_hint, "table")
        element = element_type(op.result)
        values = [self.language.literal(value, element) for value in elements_of(op)]
        buffer = Buffer(name, element, len(values), Space.TABLE, constant=True)
        self.tables.append(self.language.table(buffer, values))
        return name


def _subgroup(kernel: gpu.FuncOp) -> int:
    parent = kernel.parent_op()
    limits = parent.limits if isinstance(parent, gpu.ModuleOp) else None
    return 0 if limits is None else limits.subgroup
