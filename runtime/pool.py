"""The process's thread pool: machine code from pool.ll, loaded once and offered to every model."""

from __future__ import annotations

import atexit
import ctypes
import platform
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Any

from nn_opt.runtime.llvm import llvm
from nn_opt.runtime.loader import RuntimeFault, native_machine

# What differs between machines: the spin hint, and the number of the futex system call.
_MACHINES = {
    "x86_64": {
        "PAUSE": "@llvm.x86.sse2.pause()",
        "PAUSE_TYPE": "@llvm.x86.sse2.pause()",
        "FUTEX": "202",
    },
    "aarch64": {
        "PAUSE": "@llvm.aarch64.hint(i32 1)",  # YIELD
        "PAUSE_TYPE": "@llvm.aarch64.hint(i32)",
        "FUTEX": "98",
    },
    "riscv64": {  # a hint for spinning came with a later extension
        "PAUSE": "@llvm.donothing()",
        "PAUSE_TYPE": "@llvm.donothing()",
        "FUTEX": "98",
    },
}
_lock = threading.Lock()

# void(main, inputs, outputs, weights, arena, threads); ctypes frees the interpreter meanwhile
_CALL = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, ctypes.c_int64)


@dataclass(frozen=True)
class Pool:
    """Entry points of the loaded pool."""

    call: Any
    stop: Any
    profile: Any


def has_pool(machine: str) -> bool:
    """Return whether there is a pool for a machine, as the first word of its triple says."""
    return machine in _MACHINES


def pool_text(machine: str) -> str:
    """Return the pool's LLVM IR for Linux on a machine of the table above.

    Raises: RuntimeFault for any other.
    """
    if machine not in _MACHINES:
        raise RuntimeFault(f"error: no thread pool for {machine}, only {', '.join(_MACHINES)}")
    source = Path(__file__).with_name("pool.ll").read_text(encoding="utf-8")
    return Template(source).substitute(_MACHINES[machine], SIG_SETMASK="2")


def pool() -> Pool:
    """Return the pool, loaded at the first call."""
    with _lock:
        return _load()


@lru_cache(maxsize=1)
def _load() -> Pool:
    if platform.system() != "Linux":
        raise RuntimeFault(f"error: compiled models run on Linux, not on {platform.system()}")
    module = llvm.parse_assembly(pool_text(platform.machine()))
    engine = llvm.create_mcjit_compiler(module, native_machine(optimize=1))
    engine.finalize_object()
    address = engine.get_function_address
    for name in ("nn_parallel", "nn_profile"):
        llvm.add_symbol(name, address(name))
    ctypes.CFUNCTYPE(None)(address("nn_pool_init"))()
    stop = ctypes.CFUNCTYPE(None)(address("nn_pool_stop"))
    profile = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(address("nn_profile_into"))
    loaded = Pool(_CALL(address("nn_call")), stop, profile)
    atexit.register(stop)
    engine.detach()  # workers stand in this code until the process ends: never unload it
    return loaded
