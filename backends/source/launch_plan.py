"""What the host of a module of the gpu level does, as a plan that executors run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.backends.source.gpu_program import KernelSource
from nn_opt.backends.source.names import Names
from nn_opt.backends.source.places import Place as Found
from nn_opt.backends.source.places import kernels_of, launches_of, place_of, read_only, written
from nn_opt.backends.source.weights import Weights
from nn_opt.dialects import gpu, loop
from nn_opt.dialects.loop.buffers import byte_size
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.types import element_type, memory_space, numpy_dtype
from nn_opt.runtime.launch_plan import (
    Argument,
    Buffer,
    Copy,
    Kernel,
    Launch,
    LaunchPlan,
    Place,
    Repeat,
    Step,
)
from nn_opt.runtime.manifest import Manifest

ALIGNMENT = 256  # bytes: WebGPU's offsets in a buffer; OpenCL devices ask for as much or less
WEIGHTS = "weights"
WORK = (arith.ConstantOp, loop.ConstantOp, loop.ViewOp, loop.ArenaOp, loop.AllocOp, func.ReturnOp)


def plan_launches(
    module: ModuleOp, source: KernelSource, signature: Manifest
) -> tuple[LaunchPlan, Weights]:
    """Return what the host does, and the weights that it puts into the buffer of that name.

    signature: the inputs and outputs of @main.
    Raises: PassFailedException for what hosts do not do, or a module without @main.
    """
    mains = [op for op in module.ops if isinstance(op, func.FuncOp) and op.body.blocks]
    mains = [op for op in mains if op.sym_name.data == "main"]
    if not mains:
        problem = "has no func.func @main with a body"
        raise PassFailedException(complaint(module, problem, hint="run --lower-to-gpu first"))
    planner = _Planner(module, mains[0], source)
    planner.declare_arguments(signature)
    steps = planner.steps(mains[0].body.block, [])
    return planner.plan(steps), planner.weights


@dataclass
class _Planner:
    """A plan in the making."""

    module: ModuleOp
    main: func.FuncOp
    source: KernelSource

    def __post_init__(self) -> None:
        self.names = Names({WEIGHTS})
        self.buffers: dict[SSAValue, Buffer] = {}
        self.weights = Weights(ALIGNMENT)
        self.kernels = {kernel.sym_name.data: kernel for kernel in kernels_of(self.module)}

    def declare_arguments(self, signature: Manifest) -> None:
        """Name the inputs and outputs."""
        rows = [*(("input", info) for info in signature.inputs)]
        rows += [("output", info) for info in signature.outputs]
        for argument, (role, info) in zip(self.main.body.block.args, rows, strict=True):
            name, size = self.names.fresh(info.name, role), byte_size(argument)
            self.buffers[argument] = Buffer(name, role, size, info.dtype.name, info.sizes)

    def plan(self, steps: Sequence[Step]) -> LaunchPlan:
        """Return the plan, all buffers being known."""
        buffers = list(self.buffers.values())
        if self.weights.size:
            buffers.append(Buffer(WEIGHTS, "weights", self.weights.size))
        launched = {step.kernel for step in _all(steps) if isinstance(step, Launch)}
        kernels = [self._kernel(op) for name, op in self.kernels.items() if name in launched]
        target = self.module.attributes.get("nn.target")
        name = getattr(target, "data", self.source.language)
        return LaunchPlan(name, self.source.language, tuple(kernels), tuple(buffers), tuple(steps))

    def _kernel(self, op: gpu.FuncOp) -> Kernel:
        changed, name = written(op), op.sym_name.data
        only_read = read_only(op, launches_of(self.module))
        arguments = tuple(
            Argument(
                argument.name_hint or f"arg{k}",
                numpy_dtype(element_type(argument)).name,
                byte_size(argument),
                argument in changed,
                k in only_read,
            )
            for k, argument in enumerate(op.arguments)
        )
        assert op.block is not None, "the text has it"
        symbol = self.source.names[name]
        return Kernel(name, symbol, op.block, _shared_bytes(op), arguments, tuple(op.nodes))

    def steps(self, block: Block, loops: list[SSAValue]) -> list[Step]:
        """Return what the ops of a block do, inside loops with these indices."""
        return [step for op in block.ops for step in self._steps(op, loops)]

    def _steps(self, op: Operation, loops: list[SSAValue]) -> list[Step]:
        match op:
            case gpu.LaunchFuncOp():
                return [self._launch(op, loops)]
            case loop.CopyOp() if byte_size(op.source) == 0:
                return []
            case loop.CopyOp():
                return [Copy(self.place(op.source, loops), self.place(op.target, loops))]
            case loop.ForOp():
                inner = self.steps(op.body.block, [*loops, op.index])
                return [Repeat(op.trips, tuple(inner))] if inner and op.trips else []
            case _ if isinstance(op, WORK):
                return []
            case _:
                problem = "is not what the host of a GPU does"
                hint = "hosts launch kernels, copy and repeat; run --lower-to-gpu first"
                raise PassFailedException(complaint(op, problem, hint=hint))

    def _launch(self, op: gpu.LaunchFuncOp, loops: list[SSAValue]) -> Launch:
        grid = gpu.constant_sizes(op.grid)
        name = op.kernel.nested_references.data[-1].data
        if grid is None:
            problem = "launches a number of blocks that is not known before"
            raise PassFailedException(complaint(op, problem, hint="let it be arith.constant"))
        return Launch(name, grid, tuple(self.place(value, loops) for value in op.arguments))

    def place(self, value: SSAValue, loops: Sequence[SSAValue]) -> Place:
        """Return where a buffer is, in bytes."""
        found = place_of(value)
        steps = dict(found.steps)
        numbers = [steps.get(index, 0) for index in loops]
        while numbers and numbers[-1] == 0:
            numbers.pop()
        name, offset = self._root(found)
        return Place(name, offset, found.size, tuple(numbers))

    def _root(self, found: Found) -> tuple[str, int]:
        root = found.root
        if isinstance(root.owner, loop.ConstantOp):
            return WEIGHTS, self.weights.offset(root.owner) + found.offset
        if root not in self.buffers:
            self.buffers[root] = self._temporary(root)
        return self.buffers[root].name, found.offset

    def _temporary(self, root: SSAValue) -> Buffer:
        owner = root.owner
        wish = owner.buffer.data if isinstance(owner, loop.AllocOp) else "arena"
        return Buffer(self.names.fresh(wish, "arena"), "arena", byte_size(root))


def _shared_bytes(op: gpu.FuncOp) -> int:
    allocs = [inner.result for inner in op.walk() if isinstance(inner, loop.AllocOp)]
    shared = [buffer for buffer in allocs if memory_space(buffer) == "shared"]
    return sum(byte_size(buffer) for buffer in (*shared, *op.workgroup))


def _all(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        if isinstance(step, Repeat):
            yield from _all(step.steps)
