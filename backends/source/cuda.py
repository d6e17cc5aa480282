"""CUDA C++, as nvcc and NVRTC take it; without headers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.ir import Attribute, Operation

from nn_opt.backends.source.c_kernels import CKernels, in_lines
from nn_opt.backends.source.c_rules import function
from nn_opt.backends.source.gpu_language import Buffer, KernelHead, Space
from nn_opt.backends.source.gpu_rules import RULES, pick_bits
from nn_opt.backends.source.language import Rule, width

KEYWORDS = frozenset(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class compl concept const consteval constexpr constinit const_cast continue co_await
    co_return co_yield decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto half if inline int long mutable namespace new noexcept not
    not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
    return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile
    wchar_t while xor xor_eq threadIdx blockIdx blockDim gridDim warpSize dim3 NULL char2 char4
    uchar2 uchar4 short2 short4 ushort2 ushort4 int2 int4 uint2 uint4 float2 float4 double2
    longlong2 ulonglong2 make_float2 make_float4 min max abs fabs sqrt exp log pow sin cos tan asin
    acos atan sinh cosh tanh erf floor ceil round trunc rint fma fmax fmin fmod ldexp copysign y0
    y1 yn j0 j1 jn gamma signgam index main printf assert clock wmma nvcuda std isnan isinf
    INFINITY NAN""".split()
)
_BITS = {
    ("f32", "i32"): "__float_as_int",
    ("i32", "f32"): "__int_as_float",
    ("f64", "i64"): "__double_as_longlong",
    ("i64", "f64"): "__longlong_as_double",
}
_RULES: dict[type[Operation], Rule] = {
    **RULES,
    arith.BitcastOp: pick_bits(_BITS),
    math.FmaOp: function("fma"),
}
_INTEGERS = {8: "signed char", 16: "short", 32: "int", 64: "long long"}
_UNSIGNED = {bits: f"unsigned {word}" for bits, word in _INTEGERS.items()} | {8: "unsigned char"}
_SHORT_WORDS = {"signed char": "char", "long long": "longlong"} | {
    f"unsigned {word}": f"u{word.replace(' ', '')}"
    for word in ("char", "short", "int", "long long")
}
_FUNCTIONS = {"q": "static __device__ inline ", "float_of": "__int_as_float"}
_FUNCTIONS["int_of"] = "__float_as_int"
_SPACES = dict.fromkeys(Space, "") | {Space.TABLE: "static __device__ "}
# Machines convert halves; the other branch is for compilers without one, such as checks on a CPU.
_HALVES = {
    "widened_f16": """\
#ifdef __CUDA_ARCH__
{q}float widened_f16(unsigned short a) {
  float b;
  asm("cvt.f32.f16 %0, %1;" : "=f"(b) : "h"(a));
  return b;
}
#else
{portable}
#endif""",
    "rounded_f16": """\
#ifdef __CUDA_ARCH__
{q}unsigned short rounded_f16(float a) {
  unsigned short b;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(b) : "f"(a));
  return b;
}
#else
{portable}
#endif""",
}


WARP = 32  # threads


def _lanes(threads: int) -> str:
    """Return the lanes of a warp that there are in every warp of a block."""
    if threads % WARP == 0:
        return "0xffffffffu"
    return hex((1 << threads) - 1) + "u" if threads < WARP else "__activemask()"


class Cuda(CKernels):
    """CUDA C++: vectors of four lanes are read and written, and computed with lane by lane."""

    name = "CUDA"
    flag = "cuda"
    reserved = KEYWORDS
    rules = _RULES
    spaces = _SPACES
    array_spaces = _SPACES | {Space.SHARED: "__shared__ "}
    integers = _INTEGERS
    unsigned = _UNSIGNED
    long_suffix = "LL"
    infinity = ("__int_as_float(0x7f800000)", "__int_as_float((int)0xff800000)")
    nan = "__int_as_float(0x7fc00000)"
    functions = _FUNCTIONS
    own_helpers = _HALVES
    aligned_array = "__align__(16) "

    def function_name(self, name: str, type_: Attribute) -> str:
        return name if width(type_) == 64 else f"{name}f"

    def preamble(self, text: str) -> str:
        return ""

    def kernel(self, head: KernelHead) -> tuple[str, list[str]]:
        x, y, z = head.block
        name = f"void {head.name}("
        parameters = in_lines(name, map(self._parameter, head.arguments), ")")
        return f'extern "C" __global__ __launch_bounds__({x * y * z})\n{parameters}', []

    def _parameter(self, buffer: Buffer) -> str:
        return f"{self.pointer(buffer)}{'__restrict__ ' if buffer.alone else ''}{buffer.name}"

    def place(self, what: str, axis: int) -> str:
        return f"{what}Idx.{'xyz'[axis]}"

    def barrier(self, *, with_global: bool) -> str:
        return "__syncthreads();"

    def lane_id(self, block: tuple[int, int, int]) -> str:
        return f"({self.thread_number(block)}) % {WARP}"

    def can_shuffle(self, type_: Attribute) -> bool:
        return True  # narrow ones are promoted to int

    def shuffle(self, value: str, lane: str, type_: Attribute, threads: int) -> str:
        return f"__shfl_sync({_lanes(threads)}, {value}, {lane})"

    def shuffle_xor(self, value: str, mask: str, type_: Attribute, threads: int) -> str:
        return f"__shfl_xor_sync({_lanes(threads)}, {value}, {mask})"

    def ballot(self, condition: str, threads: int) -> str:
        return f"(int)__ballot_sync({_lanes(threads)}, {condition})"

    def vector_word(self, element: Attribute, lanes: int) -> str | None:
        if lanes not in self.vector_sizes:
            return None
        word = self.stored_word(element)
        return f"{_SHORT_WORDS.get(word, word)}{lanes}"

    def vector(self, element: Attribute, lanes: Sequence[str]) -> str:
        return f"make_{self.vector_word(element, len(lanes))}({', '.join(lanes)})"
