"""loop -> gpu: nests become kernels, and the host launches them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.to_gpu.host import Host
from nn_opt.conversion.to_gpu.inline import Inliner
from nn_opt.conversion.to_gpu.kernels import Kernels
from nn_opt.conversion.to_gpu.naming import name_arguments
from nn_opt.dialects import gpu, loop
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.legality import require_one_block
from nn_opt.ir.target import target_of

# What turns ops of earlier levels into loops that are bound to blocks and threads.
FIRST = {
    "graph": "run --optimize-graph and --lower-to-loops first",
    "tensor": "run --convert-tensor-to-loop, --default-schedules and --apply-schedule first",
}


@dataclass(frozen=True)
class ConvertLoopToGpuPass(ModulePass):
    """loop.for block_x { loop.for thread_x { body } }  ->  a gpu.func of one thread, and its launch

    Each nest of a kernel is a gpu.func of its own, for launches alone order what blocks do. Loops
    bound to blocks and threads become ids; a thread loop of fewer iterations than the block has
    threads becomes a test. What stands outside of the thread loops runs in the first thread, but
    for what only concerns a thread's own buffers, which each thread does. Parts that are marked
    `nn.join` are joined by subgroups, if the target has them and whole ones do it. single-thread:
    let nests without bound loops run in one thread, instead of refusing them.

    Needs: loop without blocks, for a target with a GPU. Leaves: gpu, and loop inside kernels; calls
    of kernels have become launches. Kernels are marked `gpu.lockstep`: they are right if each op is
    done for all threads before the next, until insert-barriers has seen to the rest.
    Order: after all that looks at loops as such, before insert-barriers and plan-memory.
    """

    name: ClassVar[str] = "convert-loop-to-gpu"  # pyright: ignore[reportIncompatibleVariableOverride]
    single_thread: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_one_block(op, self.name)
        limits = target_of(op).gpu
        if limits is None:
            problem = f"the target {target_of(op).name} has no GPU"
            hint = 'say --target=opencl, or nn.target = "opencl" on the module'
            raise PassFailedException(complaint(op, problem, hint=hint))
        _require_loops(op)
        functions = [f for f in op.ops if isinstance(f, func.FuncOp) and f.body.blocks]
        kernels = Kernels(limits, {function.sym_name.data for function in functions})
        hosts = [Host(kernels, function, self.single_thread) for function in functions]
        for host in hosts:
            host.convert(host.function.body.block)
            host.drop_unused()
        _dissolve_calls(op, hosts)
        name_arguments(op, kernels.functions)
        op.attributes[gpu.CONTAINER] = UnitAttr()
        if kernels.functions:
            module = kernels.module()
            module.location = op.location
            first = op.body.block.first_op
            assert first is not None
            op.body.block.insert_op_before(module, first)


def _require_loops(module: ModuleOp) -> None:
    """Refuse what is not of the loop level yet: nothing would be launched for it."""
    for op in module.walk():
        if (level := op.name.partition(".")[0]) in FIRST:
            problem = f"is of the {level} level, which has no kernels yet"
            raise PassFailedException(complaint(op, problem, hint=FIRST[level]))
        if isinstance(op, loop.BlockOp):
            problem = f"stage {op.stage.data!r} is still a block"
            raise PassFailedException(complaint(op, problem, hint="run --lower-blocks first"))


def _dissolve_calls(module: ModuleOp, hosts: list[Host]) -> None:
    """Inline the kernels that others call, and remove them."""
    called = {op.callee.string_value() for op in module.walk() if isinstance(op, func.CallOp)}
    bodies: dict[str, func.FuncOp] = {}
    for host in hosts:
        marked = host.function.attributes.pop("kernel", None) is not None
        if marked and host.name in called:
            bodies[host.name] = host.function
    for host in hosts:
        if host.name not in bodies:
            Inliner(host, bodies).run()
    for body in bodies.values():
        body.detach()
        body.erase()
