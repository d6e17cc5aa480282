"""Where in which buffer of @main a value begins: views resolved, offsets in bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects import gpu, loop
from nn_opt.dialects.loop.buffers import byte_size
from nn_opt.ir.affine import linear
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, numpy_dtype


@dataclass(frozen=True)
class Place:
    """Bytes of a buffer; `steps` are those that an iteration of a host loop moves on by."""

    root: SSAValue
    offset: int
    size: int
    steps: tuple[tuple[SSAValue, int], ...] = ()

    def overlaps(self, other: Place) -> bool:
        """Return whether two places may have a byte in common."""
        if self.root is not other.root:
            return False
        if self.steps != other.steps:
            return True
        return self.offset < other.offset + other.size and other.offset < self.offset + self.size


def place_of(value: SSAValue) -> Place:
    """Return where a buffer is.

    Raises: PassFailedException for a view whose offset is no sum of multiples of loop indices.
    """
    size, offset, steps = byte_size(value), 0, dict[SSAValue, int]()
    while isinstance(value.owner, loop.ViewOp):
        view = value.owner
        unit = numpy_dtype(element_type(view.source)).itemsize
        form = linear(view.start)
        offset += form.constant * unit
        for atom, factor in form.terms.items():
            if not isinstance(atom, AffineDimExpr) or not _is_loop(view.indices[atom.position]):
                problem = f"begins at {view.start}, which launches have no numbers for"
                hint = "let the host's loops be loop.for, and offsets sums of their indices"
                raise PassFailedException(complaint(view, problem, hint=hint))
            index = view.indices[atom.position]
            steps[index] = steps.get(index, 0) + factor * unit
        value = view.source
    moving = sorted(steps.items(), key=lambda item: id(item[0]))
    return Place(value, offset, size, tuple((i, step) for i, step in moving if step))


def _is_loop(index: SSAValue) -> bool:
    return isinstance(index, BlockArgument) and isinstance(index.owner.parent_op(), loop.ForOp)


def launches_of(module: ModuleOp) -> list[gpu.LaunchFuncOp]:
    """Return what the host launches, in the order of the text."""
    return [op for op in module.walk() if isinstance(op, gpu.LaunchFuncOp)]


def kernels_of(module: ModuleOp) -> list[gpu.FuncOp]:
    """Return the kernels of a module, in order."""
    modules = [op for op in module.ops if isinstance(op, gpu.ModuleOp)]
    return [kernel for one in modules for kernel in one.functions]


def written(kernel: gpu.FuncOp) -> set[SSAValue]:
    """Return the arguments that a kernel writes to."""
    found: set[SSAValue] = set()
    for op in kernel.walk():
        match op:
            case loop.StoreOp() | gpu.AtomicOp():
                found.add(_source(op.memref))
            case loop.CopyOp() | gpu.AsyncCopyOp():
                found.add(_source(op.target))
            case gpu.MmaStoreOp():
                found.add(_source(op.dstMemref))
            case _:
                pass
    return found & set(kernel.arguments)


def _source(buffer: SSAValue) -> SSAValue:
    while isinstance(buffer.owner, loop.ViewOp):
        buffer = buffer.owner.source
    return buffer


def shared_arguments(
    kernel: gpu.FuncOp, launches: Sequence[gpu.LaunchFuncOp]
) -> set[tuple[int, int]]:
    """Return the pairs of arguments that some launch puts in the same memory, one being written."""
    is_written = _are_written(kernel)
    pairs: set[tuple[int, int]] = set()
    for places in _places(kernel, launches):
        pairs |= {
            (k, n)
            for n in range(len(places))
            for k in range(n)
            if (is_written[k] or is_written[n]) and places[k].overlaps(places[n])
        }
    return pairs


def read_only(kernel: gpu.FuncOp, launches: Sequence[gpu.LaunchFuncOp]) -> set[int]:
    """Return the numbers of the arguments that no launch puts in a buffer which it writes to.

    WebGPU binds a buffer for reading only, or else for both, as long as a launch takes.
    """
    is_written = _are_written(kernel)
    found = {k for k, is_one in enumerate(is_written) if not is_one}
    for places in _places(kernel, launches):
        roots = {place.root for place, is_one in zip(places, is_written, strict=True) if is_one}
        found -= {k for k, place in enumerate(places) if place.root in roots}
    return found


def _are_written(kernel: gpu.FuncOp) -> list[bool]:
    changed = written(kernel)
    return [argument in changed for argument in kernel.arguments]


def _places(kernel: gpu.FuncOp, launches: Sequence[gpu.LaunchFuncOp]) -> Iterator[list[Place]]:
    for launch in launches:
        if launch.kernel.string_value().split(".")[-1] == kernel.sym_name.data:
            yield [place_of(value) for value in launch.arguments]
