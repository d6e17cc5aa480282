"""What code needs of a processor, and where the processor or the system says that it has it."""

from __future__ import annotations

from dataclasses import dataclass

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.target import Target

XCR0 = 0xFFFFFFFF  # instead of a leaf of CPUID: the registers that the system saves
_EAX, _EBX, _ECX, _EDX = range(4)
_HWCAP, _HWCAP2 = 16, 26  # of getauxval, <elf.h>
_SVE_LENGTH = 51  # of prctl, <sys/prctl.h>


@dataclass(frozen=True)
class Need:
    """Bits that must be set: of a register after CPUID with a leaf and subleaf, or what Linux says.

    glue/probe_*.ll read it.
    """

    feature: str
    leaf: int
    subleaf: int = 0
    register: int = 0
    bits: int = 0

    @property
    def complaint(self) -> str:
        """What is said where the bits are not set."""
        if self.leaf == XCR0:
            return f"the operating system does not save the registers of {self.feature}"
        return f"the processor lacks {self.feature}"


def _bits(leaf: int, subleaf: int, register: int, **bits: int) -> dict[str, Need]:
    names = {word.replace("__", "."): bit for word, bit in bits.items()}
    return {name: Need(name, leaf, subleaf, register, 1 << bit) for name, bit in names.items()}


# Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID; AMD64 Architecture
# Programmer's Manual, volume 3, appendix E. Only what code generation may use without being told.
_X86 = {
    **_bits(
        1, 0, _ECX, sse3=0, pclmul=1, ssse3=9, fma=12, cx16=13, sse4__1=19, sse4__2=20, movbe=22
    ),
    **_bits(1, 0, _ECX, popcnt=23, aes=25, osxsave=27, avx=28, f16c=29),
    **_bits(7, 0, _EBX, bmi=3, avx2=5, bmi2=8, avx512f=16, avx512dq=17, adx=19, avx512ifma=21),
    **_bits(7, 0, _EBX, avx512cd=28, sha=29, avx512bw=30, avx512vl=31),
    **_bits(7, 0, _ECX, avx512vbmi=1, avx512vbmi2=6, gfni=8, vaes=9, vpclmulqdq=10, avx512vnni=11),
    **_bits(7, 0, _ECX, avx512bitalg=12, avx512vpopcntdq=14),
    **_bits(7, 0, _EDX, avx512fp16=23),
    **_bits(7, 1, _EAX, avxvnni=4, avx512bf16=5),
    **_bits(0x80000001, 0, _ECX, sahf=0, lzcnt=5, sse4a=6),
}
_AVX_STATE = Need("AVX", XCR0, bits=0x6)
_AVX512_STATE = Need("AVX-512", XCR0, bits=0xE6)
# arch/arm64/include/uapi/asm/hwcap.h of Linux
_ARM = {
    **_bits(_HWCAP, 0, 0, crc=7, lse=8, fullfp16=10, rdm=12, rcpc=15, dotprod=20, sve=22),
    **_bits(_HWCAP2, 0, 0, sve2=1, i8mm=13, bf16=14),
}
_RISCV = _bits(_HWCAP, 0, 0, v=ord("v") - ord("a"))
_TABLES = {"x86_64": _X86, "aarch64": _ARM, "riscv64": _RISCV}

_V2 = "cx16 sahf popcnt sse3 sse4.1 sse4.2 ssse3"
_V3 = f"{_V2} avx avx2 bmi bmi2 f16c fma lzcnt movbe"
_V4 = f"{_V3} avx512f avx512bw avx512cd avx512dq avx512vl"
_ICELAKE = f"{_V4} avx512bitalg avx512ifma avx512vbmi avx512vbmi2 avx512vnni avx512vpopcntdq gfni"
_A76 = "crc lse fullfp16 rdm rcpc dotprod"
# x86-64 psABI, table 3.1; LLVM's X86.td, AArch64Processors.td, RISCVProcessors.td.
_PROCESSORS = {
    "x86-64": "",
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "x86-64-v4": _V4,
    "haswell": _V3,
    "broadwell": _V3,
    "skylake": _V3,
    "skylake-avx512": _V4,
    "cascadelake": f"{_V4} avx512vnni",
    "icelake-server": _ICELAKE,
    "sapphirerapids": f"{_ICELAKE} avx512bf16 avx512fp16 avxvnni",
    "znver1": f"{_V3} sse4a",
    "znver2": f"{_V3} sse4a",
    "znver3": f"{_V3} sse4a vaes vpclmulqdq",
    "znver4": f"{_ICELAKE} avx512bf16 sse4a vaes vpclmulqdq",
    "znver5": f"{_ICELAKE} avx512bf16 avxvnni sse4a vaes vpclmulqdq",
    "generic": "",
    "cortex-a53": "crc",
    "cortex-a55": _A76,
    "cortex-a57": "crc",
    "cortex-a72": "crc",
    "cortex-a76": _A76,
    "neoverse-n1": _A76,
    "neoverse-v1": f"{_A76} sve i8mm bf16",
    "neoverse-n2": f"{_A76} sve sve2 i8mm bf16",
    "generic-rv64": "",
    "": "",
}


def features_of(target: Target) -> list[str]:
    """Return the features that code for a target may use beyond its architecture's least.

    Raises: DiagnosticError for a processor that is not known.
    """
    table = _TABLES.get(target.architecture, {})
    if table and target.cpu not in _PROCESSORS and target.name != "host":
        raise DiagnosticError(
            f"error: what processor {target.cpu!r} has is not known, so code cannot check for it"
            f"\n  hint: known are {', '.join(filter(None, _PROCESSORS))}"
        )
    stated = [word[1:] for word in target.features.split(",") if word.startswith("+")]
    wanted = [*_PROCESSORS.get(target.cpu, "").split(), *stated]
    return [name for name in dict.fromkeys(wanted) if name in table]


def needs_of(target: Target) -> list[Need]:
    """Return what must be looked for, in this order, before code for a target runs.

    Without an operating system there is nobody to ask, and nothing but the code's own processor.
    Raises: DiagnosticError for a processor that is not known.
    """
    features = features_of(target) if target.has_threads else []
    needs = [_TABLES[target.architecture][name] for name in features if name != "osxsave"]
    if target.vscale:
        length = 16 * target.vscale
        needs.append(Need(f"SVE vectors of {8 * length} bits", _SVE_LENGTH, bits=length))
    if "avx" not in features:
        return needs
    first = [need for need in needs if need.leaf == 1]
    rest = [need for need in needs if need.leaf != 1]
    wide = [_AVX512_STATE] if "avx512f" in features else []
    return [*first, _X86["osxsave"], _AVX_STATE, *rest, *wide]
