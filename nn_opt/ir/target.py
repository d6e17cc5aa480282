"""What the compiler must know of a machine, and how a module names one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Operation

from nn_opt.ir.diagnostics import DiagnosticError

ATTRIBUTE = "nn.target"
DENORMALS = "nn.flush_denormals"  # a module may round denormal numbers to zero


@dataclass(frozen=True)
class Speeds:
    """What one core does, for choices by cost: `gflops` is operations, `gbps` bytes a nanosecond.

    Measured on Zen 4 with vectors of 512 bits; only their proportions matter to a choice.
    """

    blocked_gflops: float = 110.0  # direct convolution, channels in blocks of a vector
    blocked_depthwise_gflops: float = 100.0
    row_gflops: float = 85.0  # convolution of a plain image, vectors along its rows
    strided_row_gflops: float = 45.0  # ... of stride 2 or more, vectors put together by shuffles
    single_gflops: float = 1.7  # ... of rows shorter than half a vector, lane after lane
    row_depthwise_gflops: float = 105.0
    strided_row_depthwise_gflops: float = 43.0
    single_depthwise_gflops: float = 6.0
    transform_gbps: float = 45.0  # changes of layout: read and written
    filling_gbps: float = 25.0  # ... that fill a last block up with zeros


@dataclass(frozen=True)
class Gpu:
    """What a kernel may ask of a GPU: limits of the language, or of the devices that it is for."""

    language: str  # opencl, cuda, metal or wgsl
    threads: int  # of a block
    shared_bytes: int  # of a block
    arguments: int  # buffers of a kernel
    subgroup: int  # threads that run in step; 0: not known, so not used
    grid: tuple[int, int, int]  # most blocks
    block: tuple[int, int, int]  # most threads of a block, in each dimension


@dataclass(frozen=True)
class Target:
    """A CPU, or a GPU and its host. Sizes in bytes; `vector_bytes` is a vector register's."""

    name: str
    triple: str
    cpu: str
    features: str
    vector_bytes: int
    vector_registers: int
    l1_bytes: int = 32 << 10
    l2_bytes: int = 1 << 20  # Zen 4: 1 MiB a core
    speeds: Speeds = Speeds()
    has_ldexp: bool = False  # one instruction scales floats by powers of two, to subnormal numbers
    abi: str = ""  # LLVM's name of how functions are called, where it is not the triple's
    pointer_bits: int = 64
    fuses: bool = True  # one instruction multiplies and adds, rounding once
    halves: bool = True  # instructions convert binary16 numbers
    rounds: bool = True  # instructions round floats to whole ones, up, down and to nearest
    vscale: int = 0  # least length of SVE's vectors in units of 128 bits; 0: not used
    writes_out_sums: bool = True  # code for some steps of a sum keeps few factors in registers
    gpu: Gpu | None = None  # where kernels run, unless on the CPU

    @property
    def lanes(self) -> int:
        """The number of 32-bit lanes of a vector register."""
        return self.vector_bytes // 4

    @property
    def architecture(self) -> str:
        """The first part of the triple, such as x86_64."""
        return self.triple.partition("-")[0]

    @property
    def has_threads(self) -> bool:
        """Whether the pool of threads runs there: on Linux, with 64-bit pointers."""
        return "-linux" in self.triple and self.architecture in _THREADED

    @property
    def accumulators(self) -> int:
        """How many vectors of sums a tile has, with room for what feeds them."""
        return 16 if self.vector_registers >= 32 else 12 if self.vector_registers >= 16 else 8

    @property
    def adds_offsets(self) -> bool:
        """Whether an access adds a constant to its address without wrapping around."""
        return self.architecture.startswith("wasm")

    @property
    def folds_loads(self) -> bool:
        """Whether an instruction can compute with an operand in memory."""
        return self.triple.startswith(("x86", "javascript"))

    @property
    def sums_pairs(self) -> bool:
        """Whether an instruction sums products of neighbouring 16-bit lanes (pmaddwd, in SSE2)."""
        return self.triple.startswith("x86")

    def has(self, feature: str) -> bool:
        """Return whether the processor has a feature that LLVM calls so, as `features` lists."""
        return f"+{feature}" in self.features.split(",")


_THREADED = ("x86_64", "aarch64", "riscv64")
_X86 = "x86_64-unknown-linux-gnu"
_ARM = "aarch64-unknown-linux-gnu"
_ARM32 = "armv7-unknown-linux-gnueabihf"
_RISCV = "riscv64-unknown-linux-gnu"
_WASM = "wasm32-unknown-unknown"
_SIMD = "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint,+mutable-globals"
_RVA = "+m,+a,+f,+d,+c"  # RV64GC
_BARE: dict[str, Any] = {"fuses": False, "halves": False, "rounds": False}
_OLD_X86: dict[str, Any] = {"fuses": False, "halves": False}
_WEB: dict[str, Any] = {
    "pointer_bits": 32,
    "halves": False,
    "fuses": False,
    # LLVM puts all products of one sum side by side, with their factors in variables of their own
    "writes_out_sums": False,
}
TARGETS = {
    "x86-64": Target("x86-64", _X86, "x86-64", "", 16, 16, **_BARE),
    "x86-64-v2": Target("x86-64-v2", _X86, "x86-64-v2", "", 16, 16, **_OLD_X86),
    "x86-64-v3": Target("x86-64-v3", _X86, "x86-64-v3", "", 32, 16),
    "x86-64-v4": Target("x86-64-v4", _X86, "x86-64-v4", "", 64, 32, has_ldexp=True),
    "zen4": Target("zen4", _X86, "znver4", "+avx512bf16,+avx512vnni", 64, 32, has_ldexp=True),
    "aarch64": Target("aarch64", _ARM, "generic", "+neon", 16, 32),
    "neon": Target("neon", _ARM, "cortex-a76", "", 16, 32),
    "sve": Target("sve", _ARM, "neoverse-v1", "", 32, 32, vscale=2),
    "armv7": Target(
        "armv7", _ARM32, "generic", "+v7,+neon,+vfp3", 16, 16, pointer_bits=32, **_BARE
    ),
    "cortex-m4": Target(
        "cortex-m4",
        "thumbv7em-unknown-none-eabihf",
        "cortex-m4",
        "",
        8,
        32,
        pointer_bits=32,
        halves=False,
        rounds=False,
    ),
    "riscv64": Target("riscv64", _RISCV, "generic-rv64", _RVA, 8, 32, abi="lp64d", halves=False),
    "rvv": Target("rvv", _RISCV, "generic-rv64", f"{_RVA},+v", 16, 32, abi="lp64d", halves=False),
    "wasm": Target("wasm", _WASM, "mvp", _SIMD, 16, 12, **_WEB),
    "wasm-relaxed": Target("wasm-relaxed", _WASM, "mvp", f"{_SIMD},+relaxed-simd", 16, 12, **_WEB),
}
DEFAULT = TARGETS["x86-64-v4"]
_WIDE = 2**31 - 1  # blocks along x
_FEW = 2**16 - 1
# The least that devices have which run such a language, as its specification or vendor says.
_GPUS = {
    # OpenCL 1.2, 6.x and table 4.3: a full profile has 32 KiB; devices of note have 256 work-items
    "opencl": Gpu("opencl", 256, 32 << 10, 128, 0, (_WIDE, _FEW, _FEW), (256, 256, 64)),
    # CUDA C++ Programming Guide, compute capabilities: 7.5 and later
    "cuda": Gpu("cuda", 1024, 48 << 10, 512, 32, (_WIDE, _FEW, _FEW), (1024, 1024, 64)),
    # Metal Feature Set Tables: Apple4 and later
    "metal": Gpu("metal", 1024, 32 << 10, 31, 32, (_WIDE, _FEW, _FEW), (1024, 1024, 1024)),
    # WebGPU, 3.6.2 limits, default values
    "webgpu": Gpu("wgsl", 256, 16 << 10, 8, 0, (_FEW, _FEW, _FEW), (256, 256, 64)),
}
GPUS = {name: Target(name, _X86, "x86-64", "", 16, 64, gpu=gpu) for name, gpu in _GPUS.items()}
# Deterministic code is planned for this machine, whatever machine it is emitted for: the order
# of sums follows from the width of vectors. Narrower machines run each vector in parts.
DETERMINISTIC = replace(DEFAULT, name="any-width", has_ldexp=False)
# Source text for machines that are not known: two elements side by side, in variables.
SCALAR = Target("scalar", _X86, "x86-64", "", 8, 16, fuses=False)
# ... and for JavaScript: numbers are doubles, of which engines keep some in registers.
JAVASCRIPT = replace(
    SCALAR,
    name="js",
    triple="javascript-unknown-unknown",
    cpu="",
    vector_registers=12,
    writes_out_sums=False,
)
PLANS = {
    plan.name: plan for plan in (DETERMINISTIC, SCALAR, JAVASCRIPT)
}  # targets that are no machines


@lru_cache(maxsize=1)
def host() -> Target:
    """Return the machine this process runs on, as LLVM sees it."""
    import llvmlite.binding as llvm

    features: Any = llvm.get_host_cpu_features()
    base = DEFAULT if features.get("avx512f") else TARGETS["x86-64-v3"]
    if not features.get("avx2"):
        base = TARGETS["neon"] if features.get("neon") else TARGETS["x86-64-v2"]
    return replace(
        base,
        name="host",
        triple=llvm.get_process_triple(),
        cpu=llvm.get_host_cpu_name(),
        features=features.flatten(),
    )


def target_named(name: str) -> Target:
    """Return the target of a name: `host`, `cpu` (the same), or a row of TARGETS or GPUS.

    A name that begins with `llvm` is a target written out; see `target_text`.
    Raises: DiagnosticError for a name that is none of these.
    """
    if name in ("host", "cpu"):
        return host()
    if name.startswith("llvm"):
        from nn_opt.ir.target_text import parse_target

        return parse_target(name)
    if name in PLANS or name in GPUS:
        return PLANS.get(name) or GPUS[name]
    if name not in TARGETS:
        raise unknown_target(name)
    return TARGETS[name]


def is_target(name: str) -> bool:
    """Return whether `target_named` knows a name; one written out may still have mistakes."""
    named = name in ("host", "cpu") or name in PLANS or name in GPUS or name in TARGETS
    return named or name.startswith("llvm")


def unknown_target(name: str, more: Sequence[str] = ()) -> DiagnosticError:
    """Return the error of a name that is no target; `more` are those known where it was given."""
    from difflib import get_close_matches  # slow to import, and for errors only

    known = ["host", "cpu", *TARGETS, JAVASCRIPT.name, *GPUS, *more]
    close = get_close_matches(name.lower(), known, 1)
    asked = f"did you mean {close[0]}? " if close else ""
    hint = f"{asked}the targets are {', '.join(known)}"
    written = "or one written out, such as llvm -mtriple=riscv64-linux"
    return DiagnosticError(f"error: unknown target {name!r}\n  hint: {hint}; {written}")


def target_of(module: ModuleOp) -> Target:
    """Return the target that a module names in `nn.target`, else the default, never the host."""
    name = module.attributes.get(ATTRIBUTE)
    return target_named(name.data) if isinstance(name, StringAttr) else DEFAULT


def module_around(op: Operation) -> ModuleOp | None:
    """Return the module that an op is in."""
    module: Operation | None = op
    while module is not None and type(module) is not ModuleOp:
        module = module.parent_op()
    return module  # pyright: ignore[reportReturnType]


def target_around(op: Operation) -> Target:
    """Return the target of the module that an op is in."""
    module = module_around(op)
    return target_of(module) if module is not None else DEFAULT


def set_target(module: ModuleOp, target: str) -> None:
    """Name the target of a module."""
    module.attributes[ATTRIBUTE] = StringAttr(target)


def flushes_denormals(module: ModuleOp) -> bool:
    """Return whether rounding to bf16 may take numbers below 2^-126 for zeros."""
    return DENORMALS in module.attributes


def flush_denormals(module: ModuleOp) -> None:
    """Let rounding to bf16 take numbers below 2^-126 for zeros, as its products do."""
    module.attributes[DENORMALS] = UnitAttr()
