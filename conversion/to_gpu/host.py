"""The host's part: functions in which each nest of loops is a launch of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.to_gpu.buffers import give_each_its_own
from nn_opt.conversion.to_gpu.captures import move_into, take_views
from nn_opt.conversion.to_gpu.device import fill_kernel
from nn_opt.conversion.to_gpu.kernels import Kernels
from nn_opt.dialects import gpu, loop
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.locations import located, node_names

OF_HOST = (loop.AllocOp, loop.ArenaOp, loop.ConstantOp, loop.ViewOp, func.ReturnOp)


@dataclass
class Host:
    """Converts one function of the host."""

    kernels: Kernels
    function: func.FuncOp
    single_thread: bool = False
    launches: int = 0
    numbers: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])

    @property
    def name(self) -> str:
        """The function's name, which its kernels get."""
        return self.function.sym_name.data

    def convert(self, block: Block) -> None:
        """Put launches in the place of what computes."""
        scalars: list[Operation] = []
        for op in list(block.ops):
            if not isinstance(op, loop.ForOp | loop.IfOp | loop.CopyOp | func.CallOp):
                if not isinstance(op, OF_HOST):
                    scalars.append(op)
                continue
            self.launch_scalars(scalars)
            scalars = []
            if isinstance(op, loop.ForOp) and runs_on_host(op):
                self.convert(op.body.block)
            elif isinstance(op, loop.ForOp | loop.IfOp):
                self.launch_nest(op)
        self.launch_scalars(scalars)

    def drop_unused(self) -> None:
        """Remove constants and views that only kernels used, which have them now."""
        for op in reversed(list(self.function.body.walk())):
            if op.results and is_side_effect_free(op) and not any(r.uses for r in op.results):
                op.detach()
                op.erase()

    def launch_scalars(self, ops: Sequence[Operation]) -> None:
        """One thread runs statements that are in no loop."""
        if any(isinstance(op, loop.StoreOp) for op in ops):
            first = next(k for k, op in enumerate(ops) if not is_side_effect_free(op))
            self.launch(ops[first:])

    def launch_nest(self, nest: Operation) -> None:
        """A nest of loops becomes a kernel of its own."""
        loops = [op for op in nest.walk() if isinstance(op, loop.ForOp)]
        if not any(op.how.is_bound for op in loops) and not self.single_thread:
            problem = f"no loop of this nest of @{self.name} is bound to blocks or threads"
            raise PassFailedException(complaint(nest, problem, hint=self.unbound_hint()))
        self.launch([nest])

    def unbound_hint(self) -> str:
        """Return how loops get bound: schedules are found for the functions of fused ops alone."""
        otherwise = "bind loops in a script, or say --convert-loop-to-gpu=single-thread"
        if "kernel" not in self.function.attributes:
            return f"run --optimize-graph or --fuse-ops before --lower-to-loops, {otherwise}"
        return f"run --default-schedules with a target that has a GPU, {otherwise}"

    def launch(self, ops: Sequence[Operation]) -> None:
        """Move statements to a new kernel and launch it in their place."""
        block, following = ops[0].parent, ops[-1].next_op
        assert block is not None
        assert following is not None or block.parent_op() is not self.function
        for op in ops:
            give_each_its_own(op)
        name = self.kernels.name_for(self.name, not self.launches)
        self.launches += 1
        with located(ops[0]):
            body = Block()
            arguments = move_into(ops, body)
            take_views(body)
            kernel = fill_kernel(name, body, nodes_in(ops), self.kernels.limits.subgroup)
            self.kernels.functions.append(kernel)
            views, passed = viewed(arguments, kernel)
            launch = self.launch_of(kernel, passed)
        if following is None:
            block.add_ops([*views, launch])
        else:
            block.insert_ops_before([*views, launch], following)

    def launch_of(self, kernel: gpu.FuncOp, arguments: Sequence[SSAValue]) -> gpu.LaunchFuncOp:
        """Return the launch of a kernel."""
        assert kernel.grid is not None
        assert kernel.block is not None
        return gpu.LaunchFuncOp(
            (self.kernels.name, kernel.sym_name.data),
            [self.number(size) for size in kernel.grid],
            [self.number(size) for size in kernel.block],
            arguments,
            nodes=kernel.nodes,
        )

    def number(self, value: int) -> SSAValue:
        """Return a constant, which stands at the start of the function."""
        if value not in self.numbers:
            entry = self.function.body.block
            constant = arith.ConstantOp(IntegerAttr(value, IndexType()))
            constant.location = self.function.location
            constant.result.name_hint = f"c{value}"
            assert entry.first_op is not None
            entry.insert_op_before(constant, entry.first_op)
            self.numbers[value] = constant.result
        return self.numbers[value]


def viewed(
    buffers: Sequence[SSAValue], kernel: gpu.FuncOp
) -> tuple[list[Operation], list[SSAValue]]:
    """Return the views that give buffers the types that a kernel takes, and what to pass to it."""
    views: list[Operation] = []
    passed: list[SSAValue] = []
    for buffer, argument in zip(buffers, kernel.arguments, strict=True):
        if buffer.type != argument.type:
            views.append(loop.ViewOp(buffer, argument.type))
            buffer = views[-1].results[0]
        passed.append(buffer)
    return views, passed


def runs_on_host(nest: loop.ForOp) -> bool:
    """Return whether a loop is around launches: of time, say; or around nothing but copies."""
    if nest.how.is_bound:
        return False
    inner = list(nest.body.walk())
    around = any(
        op.how.is_block if isinstance(op, loop.ForOp) else isinstance(op, func.CallOp)
        for op in inner
    )
    return around or all(isinstance(op, (*OF_HOST, loop.CopyOp, loop.ForOp)) for op in inner)


def nodes_in(ops: Sequence[Operation]) -> list[str]:
    """Return the names of the model's nodes that statements come from."""
    places = (inner.location for op in ops for inner in op.walk())
    return list(dict.fromkeys(name for place in places for name in node_names(place)))
