"""Calls of kernels dissolve: their allocations and launches stand where the call stood."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from nn_opt.conversion.to_gpu.host import Host
from nn_opt.dialects import gpu, loop

PASSED_ON = ("nn.nodes", "nn.number")  # from a call to its launches


@dataclass
class Inliner:
    """Puts the bodies of functions in the place of their calls in a host's function."""

    host: Host
    bodies: Mapping[str, func.FuncOp]
    constants: dict[Hashable, SSAValue] = field(default_factory=dict[Hashable, SSAValue])

    def run(self) -> None:
        """Inline every call of a kernel."""
        for call in [op for op in self.host.function.walk() if isinstance(op, func.CallOp)]:
            body = self.bodies.get(call.callee.string_value())
            if body is not None:
                self.inline(call, body)

    def inline(self, call: func.CallOp, kernel: func.FuncOp) -> None:
        """func.call @kernel  ->  its launches"""
        block = call.parent
        assert block is not None
        inside: dict[SSAValue, SSAValue] = dict(
            zip(kernel.body.block.args, call.arguments, strict=True)
        )
        for op in kernel.body.block.ops:
            if isinstance(op, func.ReturnOp):
                continue
            shared = self.shared(op)
            if shared is not None:
                inside[op.results[0]] = shared
                continue
            copy = op.clone(inside)
            for inner in copy.walk():
                self.adapt(inner, call)
            block.insert_op_before(copy, call)
        call.detach()
        call.erase()

    def shared(self, op: Operation) -> SSAValue | None:
        """Return the one of the host's constants that equals a constant of a kernel."""
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            return self.host.number(op.value.value.data)
        if not isinstance(op, loop.ConstantOp):
            return None
        key = (op.value, op.result.type)
        if key not in self.constants:
            entry = self.host.function.body.block
            copy = op.clone()
            assert entry.first_op is not None
            entry.insert_op_before(copy, entry.first_op)
            self.constants[key] = copy.result
        return self.constants[key]

    def adapt(self, op: Operation, call: func.CallOp) -> None:
        """Let what a kernel brings say which call it is for."""
        if isinstance(op, loop.AllocOp):
            name = f"{call.callee.string_value()}.{op.buffer.data}"
            op.properties["buffer"] = type(op.buffer)(name)
        if isinstance(op, gpu.LaunchFuncOp | loop.CopyOp):
            op.location = call.location
            given = {key: call.attributes[key] for key in PASSED_ON if key in call.attributes}
            op.attributes.update(given)
