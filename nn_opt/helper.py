"""A process that lowers kernels for another one: what it is asked, by text, and what it answers."""

from __future__ import annotations

import socket
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.dialects.func import FuncOp

from nn_opt.backends.llvm import print_module as print_llvm
from nn_opt.backends.llvm.object import emit_object
from nn_opt.collector import quiet_collector
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.ir.resources import Array
from nn_opt.ir.target import target_named
from nn_opt.messages import FAULTS, receive, send, send_bytes, send_fault
from nn_opt.passes.plan_memory import ALIASES
from nn_opt.passes.plan_memory_declared import declaration_of
from nn_opt.pipelines import COMPILE, expand, run_passes, scheduling_at_once, stages


class Kernels:
    """The kernels that came here, until they are emitted as one object file."""

    def __init__(self, target: str, options: str, debug_info: bool = False) -> None:
        self._debug_info = debug_info
        self._machine = target_named(target)
        _, self._each, (_, *self._last) = stages(scheduling_at_once(expand(COMPILE, options)))
        self._module = ModuleOp([])

    def lower(self, text: str, weights: dict[str, Array]) -> str:
        """Lower the kernel in a module's text to loops; return its declaration."""
        context = make_context()
        module = parse_module(context, text, "<kernel>", weights)
        run_passes(context, module, self._each)
        (kernel,) = [op for op in module.ops if isinstance(op, FuncOp)]
        declared = declaration_of(kernel)
        kernel.detach()
        self._module.body.block.add_op(kernel)
        self._module.attributes |= module.attributes
        return print_module(ModuleOp([declared]), locations=True)

    def emit(self, aliases: dict[str, list[int]]) -> bytes:
        """Return the object file of all kernels, some of whose arguments may be one buffer."""
        for kernel in self._module.ops:
            if isinstance(kernel, FuncOp) and (places := aliases.get(kernel.sym_name.data)):
                kernel.attributes[ALIASES] = DenseArrayBase.from_list(i64, places)
        run_passes(make_context(), self._module, self._last)
        text = print_llvm(self._module, debug_info=self._debug_info)
        return emit_object(text, self._machine)


def serve(descriptor: int) -> None:
    """Answer requests that come over a socket until it is closed."""
    with socket.socket(fileno=descriptor) as channel, quiet_collector():
        stream: Any = channel.makefile("rwb")
        try:
            settings, _ = receive(stream)
            kernels = Kernels(*settings)
            while True:
                (method, argument), weights = receive(stream)
                _answer(kernels, method, argument, weights, stream)
        except (EOFError, BrokenPipeError, ConnectionResetError):  # the other process has done
            return


def _answer(
    kernels: Kernels, method: str, argument: Any, weights: dict[str, Array], stream: Any
) -> None:
    """Send a method's result, or a fault that is the user's to mend."""
    try:
        if method == "emit":
            send_bytes(stream, kernels.emit(argument))
        else:
            send(stream, kernels.lower(argument, weights))
    except FAULTS as fault:
        send_fault(stream, fault)
