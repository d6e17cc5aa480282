"""CUDA C++, as nvcc and NVRTC take it; without headers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import Attribute, Operation

from nn_opt.backends.source import cuda_mma
from nn_opt.backends.source.atomics import INTEGERS, loops
from nn_opt.backends.source.c_kernels import CKernels, in_lines
from nn_opt.backends.source.c_rules import function
from nn_opt.backends.source.gpu_language import Buffer, KernelHead, Space
from nn_opt.backends.source.gpu_rules import RULES, pick_bits, width_of
from nn_opt.backends.source.language import Rule, width
from nn_opt.dialects.gpu import AtomicKind

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
_ADVICE = "/* Compile with -fmad=false: sums of products are fused where they are written so. */\n"
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


ALL_LANES = "0xffffffffu"
_LOOP = """\
{q}float {name}(float *at, float b) {
  int *const bits = (int *)at;
  int seen = atomicCAS(bits, 0, 0), old;
  do {
    old = seen;
    const float a = __int_as_float(old);
    seen = atomicCAS(bits, old, __float_as_int({new}));
  } while (seen != old);
  return __int_as_float(seen);
}"""
# Machines from sm_80 on copy beside the program; others copy at once.
_COPY = """\
{q}void async_copy_b{size}(void *to, const void *from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const unsigned at = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.{how}.shared.global [%0], [%1], {size};"
               : : "r"(at), "l"(from) : "memory");
#else
  *({word} *)to = *(const {word} *)from;
#endif
}"""
_ASYNC = {
    f"async_copy_b{size}": _COPY.replace("{size}", str(size))
    .replace("{word}", word)
    .replace("{how}", "cg" if size == 16 else "ca")
    for size, word in {4: "int", 8: "int2", 16: "int4"}.items()
}
_COMMIT = """\
{q}void async_commit_b0() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}"""
_WAIT = """\
template <int pending> {q}void async_wait_b0() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" : : "n"(pending) : "memory");
#endif
}"""
_HELPERS = {
    **_HALVES,
    **loops(_LOOP, {"any": ""}),
    **_ASYNC,
    "async_commit_b0": _COMMIT,
    "async_wait_b0": _WAIT,
}


_INFINITY = ("__int_as_float(0x7f800000)", "__int_as_float((int)0xff800000)")
_NAN = "__int_as_float(0x7fc00000)"
# In a table, which calls no functions.
_QUOTIENTS = {_INFINITY[0]: "1.0f / 0.0f", _INFINITY[1]: "-1.0f / 0.0f", _NAN: "0.0f / 0.0f"}


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
    infinity = _INFINITY
    nan = _NAN
    functions = _FUNCTIONS
    own_helpers = _HELPERS
    statements = cuda_mma.STATEMENTS
    aligned_array = "__align__(16) "

    def function_name(self, name: str, type_: Attribute) -> str:
        return name if width(type_) == 64 else f"{name}f"

    def preamble(self, text: str) -> str:
        fragments = "#include <mma.h>\nusing namespace nvcuda;\n" if "wmma::" in text else ""
        return f"{_ADVICE}{fragments}\n"

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

    def atomic(self, kind: AtomicKind, buffer: Buffer, offset: str, value: str) -> str | None:
        place, bits = f"&{buffer.name}[{offset}]", width_of(buffer.element)
        if isinstance(buffer.element, Float32Type | Float64Type):
            if kind is AtomicKind.Assign and bits == 32:
                return f"atomicExch({place}, {value})"
            if kind is AtomicKind.AddF:
                return f"atomicAdd({place}, {value})"
            return f"any_{kind.value}_f32({place}, {value})" if bits == 32 else None
        if bits == 64 and kind is AtomicKind.AddI:
            word = "unsigned long long"
            return f"atomicAdd(({word} *){place}, ({word})({value}))"
        if bits != 32:
            return None
        if kind is AtomicKind.Assign:
            return f"atomicExch({place}, {value})"
        name, unsigned = INTEGERS[kind]
        if unsigned:
            return f"atomic{name.title()}((unsigned *){place}, (unsigned)({value}))"
        return f"atomic{name.title()}({place}, {value})"

    def copy_async(
        self, source: Buffer, at: str, target: Buffer, to: str, elements: int
    ) -> str | None:
        size = elements * max(width(source.element) // 8, 1)
        return f"async_copy_b{size}({target.name} + {to}, {source.name} + {at});"

    def commit_async(self) -> str:
        return "async_commit_b0();"

    def wait_async(self, pending: int) -> str:
        return f"async_wait_b0<{pending}>();"

    def table(self, buffer: Buffer, values: Sequence[str]) -> str:
        return super().table(buffer, [_QUOTIENTS.get(value, value) for value in values])

    def lane_id(self, block: tuple[int, int, int]) -> str:
        return f"({self.thread_number(block)}) % {WARP}"

    def can_shuffle(self, type_: Attribute) -> bool:
        return True  # narrow ones are promoted to int

    def shuffle(self, value: str, lane: str, type_: Attribute) -> str:
        return f"__shfl_sync({ALL_LANES}, {value}, {lane})"

    def shuffle_xor(self, value: str, mask: str, type_: Attribute) -> str:
        return f"__shfl_xor_sync({ALL_LANES}, {value}, {mask})"

    def ballot(self, condition: str) -> str:
        return f"(int)__ballot_sync({ALL_LANES}, {condition})"

    def vector_word(self, element: Attribute, lanes: int) -> str | None:
        if lanes not in self.vector_sizes:
            return None
        word = self.stored_word(element)
        return f"{_SHORT_WORDS.get(word, word)}{lanes}"

    def vector(self, element: Attribute, lanes: Sequence[str]) -> str:
        return f"make_{self.vector_word(element, len(lanes))}({', '.join(lanes)})"
