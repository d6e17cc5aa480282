"""The Metal Shading Language, version 2.3 and later."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float16Type, Float32Type
from xdsl.ir import Attribute, Operation

from nn_opt.backends.source.atomics import INTEGERS, loops
from nn_opt.backends.source.c_kernels import CKernels, in_lines
from nn_opt.backends.source.c_rules import FUNCTIONS, function, helper
from nn_opt.backends.source.cuda import KEYWORDS as CXX
from nn_opt.backends.source.gpu_language import Buffer, KernelHead, Space
from nn_opt.backends.source.gpu_rules import MORE_FUNCTIONS, ON_VECTORS, RULES, pick_bits, width_of
from nn_opt.backends.source.language import Rule
from nn_opt.dialects.gpu import AtomicKind

KEYWORDS = CXX | frozenset(
    """kernel vertex fragment device constant thread threadgroup threadgroup_imageblock ray_data
    metal simd_sum simd_shuffle atomic_int atomic_uint atomic_float uchar ushort uint ulong half2
    half4 bfloat char3 float3 int3 uint3 array texture2d sampler as_type select clamp mix saturate
    step smoothstep sign dot cross normalize length distance fract exp2 exp10 log2 log10 rsqrt
    acosh asinh atanh atan2 fdim popcount clz ctz mad24 mul24 thread_place block_place lane_place
    M_PI_F MAXFLOAT HUGE_VALF""".split()
)
# Functions that the language lacks are helpers of the text.
LACKING = (math.ErfOp, math.ExpM1Op, math.Log1pOp, math.CbrtOp)
_NAMES = {**FUNCTIONS, **MORE_FUNCTIONS}
_BITS = {
    ("f32", "i32"): "as_type<int>",
    ("i32", "f32"): "as_type<float>",
    ("f16", "i16"): "as_type<short>",
    ("i16", "f16"): "as_type<half>",
}
_RULES: dict[type[Operation], Rule] = {
    **RULES,
    **{op: helper(_NAMES[op]) for op in LACKING},
    arith.BitcastOp: pick_bits(_BITS),
    math.FmaOp: function("fma"),
}
_VECTOR_RULES: dict[type[Operation], Rule] = {
    **ON_VECTORS,
    **{op: function(name) for op, name in _NAMES.items() if op not in LACKING},
    math.FmaOp: function("fma"),
}
_FUNCTIONS = {"q": "static inline ", "float_of": "as_type<float>", "int_of": "as_type<int>"}
_SPACES = {
    Space.GLOBAL: "device ",
    Space.SHARED: "threadgroup ",
    Space.PRIVATE: "thread ",
    Space.TABLE: "constant ",
}
_LOOP = """\
{q}float {name}({space} float *at, float b) {
  {space} atomic_uint *const bits = ({space} atomic_uint *)at;
  uint old = atomic_load_explicit(bits, memory_order_relaxed), wanted;
  do {
    const float a = as_type<float>(old);
    wanted = as_type<uint>({new});
  } while (!atomic_compare_exchange_weak_explicit(
      bits, &old, wanted, memory_order_relaxed, memory_order_relaxed));
  return as_type<float>(old);
}"""
_HELPERS = {
    **loops(_LOOP, {"global": "device", "shared": "threadgroup"}),
    "widened_f16": "{q}float widened_f16(half a) { return float(a); }",
    "rounded_f16": "{q}half rounded_f16(float a) { return half(a); }",
}
# What a kernel may be told of its place, and the type of that.
_PLACES = {
    "thread_place": ("uint3", "thread_position_in_threadgroup"),
    "block_place": ("uint3", "threadgroup_position_in_grid"),
    "lane_place": ("uint", "thread_index_in_simdgroup"),
}


class Metal(CKernels):
    """Metal's language: C++ with vectors of four lanes and halves, but without doubles."""

    name = "Metal"
    flag = "metal"
    reserved = KEYWORDS
    rules = _RULES
    vector_rules = _VECTOR_RULES
    spaces = _SPACES
    array_spaces = _SPACES | {Space.PRIVATE: ""}
    has_double = False
    functions = _FUNCTIONS
    own_helpers = _HELPERS
    aligned_array = "alignas(16) "

    def type_word(self, type_: Attribute) -> str | None:
        return "half" if isinstance(type_, Float16Type) else super().type_word(type_)

    def literal(self, value: float, type_: Attribute) -> str:
        if isinstance(type_, Float16Type):
            return f"half({self.float_literal(value, is_double=False)})"
        return super().literal(value, type_)

    def preamble(self, text: str) -> str:
        return (
            "/* Compile with -fno-fast-math: infinities and NaN are numbers here. */\n"
            "#include <metal_stdlib>\nusing namespace metal;\n\n"
        )

    def kernel(self, head: KernelHead) -> tuple[str, list[str]]:
        parameters = [self._parameter(buffer, k) for k, buffer in enumerate(head.arguments)]
        parameters += [
            f"{type_} {name} [[{attribute}]]"
            for name, (type_, attribute) in _PLACES.items()
            if name in head.text
        ]
        x, y, z = head.block
        limit = f"[[max_total_threads_per_threadgroup({x * y * z})]]"
        return f"{limit}\n" + in_lines(f"kernel void {head.name}(", parameters, ")"), []

    def _parameter(self, buffer: Buffer, number: int) -> str:
        return f"{self.pointer(buffer)}{buffer.name} [[buffer({number})]]"

    def place(self, what: str, axis: int) -> str:
        return f"{what}_place.{'xyz'[axis]}"

    def barrier(self, *, with_global: bool) -> str:
        flags = "mem_flags::mem_threadgroup"
        flags += " | mem_flags::mem_device" if with_global else ""
        return f"threadgroup_barrier({flags});"

    def lane_id(self, block: tuple[int, int, int]) -> str:
        return "lane_place"

    def shuffle(self, value: str, lane: str, type_: Attribute) -> str:
        return f"simd_shuffle({value}, ushort({lane}))"

    def shuffle_xor(self, value: str, mask: str, type_: Attribute) -> str:
        return f"simd_shuffle_xor({value}, ushort({mask}))"

    def ballot(self, condition: str) -> str:
        return f"int((ulong)(simd_vote::vote_t)simd_ballot({condition}))"

    def can_shuffle(self, type_: Attribute) -> bool:
        return super().can_shuffle(type_) and width_of(type_) == 32

    def atomic(self, kind: AtomicKind, buffer: Buffer, offset: str, value: str) -> str | None:
        space, place = self.spaces[buffer.space], f"&{buffer.name}[{offset}]"
        order = "memory_order_relaxed"
        if isinstance(buffer.element, Float32Type):
            if kind is not AtomicKind.Assign:
                return f"{buffer.space}_{kind.value}_f32({place}, {value})"
            bits = f"as_type<uint>({value})"
            old = f"atomic_exchange_explicit(({space}atomic_uint *){place}, {bits}, {order})"
            return f"as_type<float>({old})"
        if width_of(buffer.element) != 32:
            return None
        if kind is AtomicKind.Assign:
            return f"atomic_exchange_explicit(({space}atomic_int *){place}, {value}, {order})"
        name, unsigned = INTEGERS[kind]
        head = f"atomic_fetch_{name}_explicit"
        if unsigned:
            return f"{head}(({space}atomic_uint *){place}, uint({value}), {order})"
        return f"{head}(({space}atomic_int *){place}, {value}, {order})"

    def vector(self, element: Attribute, lanes: Sequence[str]) -> str:
        same = lanes[:1] if len(set(lanes)) == 1 else lanes
        return f"{self.vector_word(element, len(lanes))}({', '.join(same)})"

    def computes_vectors(self, type_: Attribute, lanes: int) -> bool:
        return isinstance(type_, Float32Type) and lanes in self.vector_sizes
