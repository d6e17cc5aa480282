"""Processes that lower kernels beside this one, where there are cores for them and enough to do."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp
from xdsl.dialects.func import FuncOp

from nn_opt.dialects import graph
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.printing import print_module
from nn_opt.ir.remarks import is_collecting
from nn_opt.ir.resources import Array
from nn_opt.ir.weights import arrays_of
from nn_opt.messages import receive, send
from nn_opt.passes.plan_memory import ALIASES
from nn_opt.runtime.loader import RuntimeFault
from nn_opt.runtime.threads import available_threads

MOST = 3  # helpers; more would wait for this process
WORTH = 64  # ops of a model from which a helper gains more than the half second that it starts in
AHEAD = 2  # kernels that a helper has at a time, so that it need not wait for the next
PROGRAM = "import sys; sys.path[:] = {path!r}; from nn_opt.helper import serve; serve({channel})"
Lower = Callable[[ModuleOp], None]


class HelperDied(RuntimeFault):
    """A helper ended before its work did: by a fault in the compiler, or for want of memory."""

    def __init__(self) -> None:
        super().__init__(
            "error: a process that helped to compile ended early; it may have said why above"
            "\n  hint: with OMP_NUM_THREADS=1, compiling takes no help"
        )


class Helper:
    """Another process, which lowers what it is given."""

    def __init__(self, target: str, options: str, debug_info: bool = False) -> None:
        """Start it.

        Raises: OSError if no process can be started.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            path = [str(entry) for entry in sys.path]
            program = PROGRAM.format(path=path, channel=theirs.fileno())
            self.process = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                process_group=0,  # Ctrl-C is this process's to answer
            )
        self._channel = ours
        self._stream: Any = ours.makefile("rwb")
        self._send([target, options, debug_info])

    def lower(self, queue: deque[ModuleOp]) -> list[FuncOp]:
        """Lower kernels from a queue that others take from, too; return their declarations."""
        answers: list[str] = []
        waiting = 0
        while True:
            while waiting < AHEAD and queue:
                try:
                    kernel = queue.popleft()
                except IndexError:  # another was quicker
                    break
                text = print_module(kernel, generic=True, locations=True)
                self._send(["lower", text], arrays_of(kernel))
                waiting += 1
            if not waiting:
                return [_function(answer) for answer in answers]
            answers.append(self._receive())
            waiting -= 1

    def emit(self, aliases: dict[str, list[int]]) -> bytes:
        """Return the object file of all kernels that this helper has lowered."""
        self._send(["emit", aliases])
        return self._receive()

    def close(self) -> None:
        """End the process."""
        self.process.kill()  # so that a thread that waits for its answer sees the end
        self.process.wait()
        with suppress(OSError):  # what was not sent has nobody to read it
            self._stream.close()
        self._channel.close()

    def _send(self, request: list[object], arrays: Mapping[str, Array] | None = None) -> None:
        try:
            send(self._stream, request, arrays)
        except OSError as error:
            raise HelperDied from error

    def _receive(self) -> Any:
        try:
            return receive(self._stream)[0]
        except (EOFError, OSError) as error:
            raise HelperDied from error


class Crew:
    """This process and its helpers, for one model; without helpers, it does nothing."""

    def __init__(self, helpers: Sequence[Helper]) -> None:
        self._helpers = helpers
        self._threads = ThreadPoolExecutor(max(len(helpers), 1))
        self._objects: list[Future[bytes]] = []
        self._shared: dict[Helper, list[FuncOp]] = {}

    def lower(self, module: ModuleOp, lower: Lower) -> None:
        """Lower a module's functions, each by itself; those of helpers become declarations."""
        if not self._helpers or not _is_divisible(module):
            lower(module)
            return
        kernels = [op for op in module.ops if isinstance(op, FuncOp) and "kernel" in op.attributes]
        queue = deque(_alone(kernel, module) for kernel in kernels)
        futures = {helper: self._threads.submit(helper.lower, queue) for helper in self._helpers}
        lower(module)  # what is left of it: @main
        done: list[FuncOp] = []
        while queue:
            try:
                one = queue.popleft()
            except IndexError:
                break
            lower(one)
            done += [op for op in one.ops if isinstance(op, FuncOp)]
        self._shared = {helper: future.result() for helper, future in futures.items()}
        done += [function for functions in self._shared.values() for function in functions]
        order = {kernel.sym_name.data: k for k, kernel in enumerate(kernels)}
        for function in sorted(done, key=lambda function: order[function.sym_name.data]):
            function.detach()
            module.body.block.add_op(function)

    def emit(self) -> None:
        """Let helpers make machine code of their kernels, now that memory is planned."""
        for helper, functions in self._shared.items():
            aliases = {f.sym_name.data: _places(f) for f in functions}
            if functions:
                self._objects.append(self._threads.submit(helper.emit, aliases))

    def objects(self) -> list[bytes]:
        """Return the object files of the helpers."""
        return [future.result() for future in self._objects]

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for helper in self._helpers:
            helper.close()
        self._threads.shutdown()


NO_CREW = Crew([])


def crew_for(
    module: ModuleOp, target: str, options: str, *, deterministic: bool, debug_info: bool = False
) -> Crew:
    """Return a crew for a model: with helpers if the process may use several cores."""
    worth = sum(1 for _ in module.walk()) >= WORTH and can_help()
    count = min(available_threads() - 1, MOST) if worth else 0
    helpers: list[Helper] = []
    try:
        for _ in range(count):
            helpers.append(Helper(target, options, debug_info))
    except OSError:  # no more processes are allowed: there is less help, and the same result
        pass
    return Crew(helpers)


def can_help() -> bool:
    """Return whether helpers can be started here, and would not keep remarks to themselves."""
    program = os.path.basename(sys.executable or "")  # of an application, it is not Python
    return program.startswith("python") and not is_collecting()


def _is_divisible(module: ModuleOp) -> bool:
    """Return whether there are functions alone, and no kernel runs many times in a scan."""
    if any(not isinstance(op, FuncOp) for op in module.ops):
        return False
    return not any(isinstance(op, graph.ScanOp) for op in module.walk())


def _alone(kernel: FuncOp, module: ModuleOp) -> ModuleOp:
    """Move a kernel into a module of its own."""
    kernel.detach()
    return ModuleOp([kernel], attributes=dict(module.attributes))


def _function(text: str) -> FuncOp:
    """Return the one function of a module's text."""
    (function,) = parse_module(make_context(), text, "<kernel>").ops
    assert isinstance(function, FuncOp)
    return function


def _places(function: FuncOp) -> list[int]:
    """Return the arguments of a kernel that may be the same buffer as others."""
    given = function.attributes.get(ALIASES)
    return [int(k) for k in given.iter_values()] if isinstance(given, DenseArrayBase) else []
