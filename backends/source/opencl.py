"""OpenCL C 1.2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import Attribute, Operation

from nn_opt.backends.source.atomics import INTEGERS, loops
from nn_opt.backends.source.c_kernels import CKernels, in_lines
from nn_opt.backends.source.c_rules import function
from nn_opt.backends.source.gpu_language import Buffer, KernelHead, Space
from nn_opt.backends.source.gpu_rules import MATH, ON_VECTORS, RULES, pick_bits, width_of
from nn_opt.backends.source.language import Language, Rule
from nn_opt.dialects.gpu import AtomicKind
from nn_opt.ir.types import element_type, lanes_of

KEYWORDS = frozenset(
    """auto break case char const constant continue default do double else enum event_t extern
    false float for global goto half if image2d_t image3d_t inline int kernel local long private
    quad read_only read_write register restrict return sampler_t short signed size_t sizeof static
    struct switch true typedef uchar uint ulong unsigned union ushort void volatile while
    write_only bool complex imaginary pipe uniform abs acos acosh all any as_type asin asinh atan
    atan2 atanh atomic_add barrier bitselect cbrt ceil clamp clz copysign cos cosh cross degrees
    distance dot erf erfc exp exp2 exp10 expm1 fabs fast fdim floor fma fmax fmin fmod fract frexp
    get_global_id get_group_id get_local_id hypot ilogb isequal isfinite isinf isnan ldexp length
    lgamma log log10 log1p log2 logb mad mad24 max min mix mul24 nan native_exp nextafter normalize
    popcount pow pown powr prefetch printf radians remainder remquo rhadd rint rootn rotate round
    rsqrt select shuffle sign signbit sin sincos sinh sinpi smoothstep sqrt step tan tanh tgamma
    trunc upsample vec_step vload4 vstore4 wait_group_events main INFINITY NAN MAXFLOAT
    M_PI""".split()
)
_BITS = {
    ("f32", "i32"): "as_int",
    ("i32", "f32"): "as_float",
    ("f64", "i64"): "as_long",
    ("i64", "f64"): "as_double",
}
_FUSED = """\
#ifdef {fast}
{q}{T} fused_{t}({T} a, {T} b, {T} c) { return fma(a, b, c); }
#else
{q}{T} fused_{t}({T} a, {T} b, {T} c) { return mad(a, b, c); }
#endif"""


_RULES: dict[type[Operation], Rule] = {**RULES, arith.BitcastOp: pick_bits(_BITS)}


def _fused(language: Language, op: Operation, operands: Sequence[str]) -> str:
    lanes, kind = lanes_of(op.results[0].type), element_type(op.results[0].type)
    return f"fused{lanes}_{kind}({', '.join(operands)})"


_VECTOR_RULES = {
    **ON_VECTORS,
    **{op: function(name) for op, name in MATH.items()},
    math.FmaOp: _fused,
}
_FUNCTIONS = {"q": "static inline ", "float_of": "as_float", "int_of": "as_int"}
_SPACES = {
    Space.GLOBAL: "__global ",
    Space.SHARED: "__local ",
    Space.PRIVATE: "",
    Space.TABLE: "__constant ",
}


_EXTENSIONS = {
    "double": "cl_khr_fp64",
    "sub_group_": "cl_khr_subgroups",  # with shuffles, it needs OpenCL C 3.0
}


# ... of vectors: fused4_f32 takes three of four lanes.
_FUSED_VECTORS = {
    f"fused{lanes}_{kind}": _FUSED.replace("{fast}", fast)
    .replace("{T}", f"{word}{lanes}")
    .replace("fused_{t}", f"fused{lanes}_{kind}")
    for kind, word, fast in (("f32", "float", "FP_FAST_FMAF"), ("f64", "double", "FP_FAST_FMA"))
    for lanes in (2, 4, 8, 16)
}
_LOOP = """\
{q}float {name}(volatile {space} float *at, float b) {
  volatile {space} int *const bits = (volatile {space} int *)at;
  int seen = *bits, old;
  do {
    old = seen;
    const float a = as_float(old);
    seen = atomic_cmpxchg(bits, old, as_int({new}));
  } while (seen != old);
  return as_float(seen);
}"""


class OpenCL(CKernels):
    """OpenCL C 1.2: vectors of up to 16 lanes with operators; halves are bits in memory."""

    name = "OpenCL"
    flag = "opencl"
    reserved = KEYWORDS
    rules = _RULES
    vector_rules = _VECTOR_RULES
    vector_sizes = (16, 8, 4, 2)
    widest = 64
    element_lanes = "0123456789abcdef"
    spaces = _SPACES
    array_spaces = _SPACES
    functions = _FUNCTIONS
    own_helpers: ClassVar[Mapping[str, str]] = {
        **loops(_LOOP, {"global": "__global", "shared": "__local"}),
        "fused_f32": _FUSED.replace("{fast}", "FP_FAST_FMAF"),
        "fused_f64": _FUSED.replace("{fast}", "FP_FAST_FMA"),
        **_FUSED_VECTORS,
        "widened_f16": """\
{q}float widened_f16(ushort a) { return vload_half(0, (const __private half *)&a); }""",
        "rounded_f16": """\
{q}ushort rounded_f16(float a) {
  ushort b;
  vstore_half_rte(a, 0, (__private half *)&b);
  return b;
}""",
    }
    aligned_array = "__attribute__((aligned(64))) "

    def preamble(self, text: str) -> str:
        lines = ["#pragma OPENCL FP_CONTRACT OFF"]
        lines += [
            f"#pragma OPENCL EXTENSION {extension} : enable"
            for word, extension in _EXTENSIONS.items()
            if word in text
        ]
        return "".join(f"{line}\n" for line in lines) + "\n"

    def kernel(self, head: KernelHead) -> tuple[str, list[str]]:
        x, y, z = head.block
        size = f"__kernel __attribute__((reqd_work_group_size({x}, {y}, {z})))"
        parameters = in_lines(f"void {head.name}(", map(self._parameter, head.arguments), ")")
        return f"{size}\n{parameters}", []

    def _parameter(self, buffer: Buffer) -> str:
        return f"{self.pointer(buffer)}{'restrict ' if buffer.alone else ''}{buffer.name}"

    def place(self, what: str, axis: int) -> str:
        function = {"thread": "get_local_id", "block": "get_group_id"}[what]
        return f"{function}({axis})"

    def barrier(self, *, with_global: bool) -> str:
        fences = "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE" if with_global else ""
        return f"barrier({fences or 'CLK_LOCAL_MEM_FENCE'});"

    def lane_id(self, block: tuple[int, int, int]) -> str:
        return "(int)get_sub_group_local_id()"

    def shuffle(self, value: str, lane: str, type_: Attribute) -> str:
        return f"sub_group_shuffle({value}, (uint)({lane}))"

    def shuffle_xor(self, value: str, mask: str, type_: Attribute) -> str:
        return f"sub_group_shuffle_xor({value}, (uint){mask})"

    def ballot(self, condition: str) -> str:
        return f"(int)sub_group_ballot({condition}).x"

    def atomic(self, kind: AtomicKind, buffer: Buffer, offset: str, value: str) -> str | None:
        space, place = self.spaces[buffer.space], f"&{buffer.name}[{offset}]"
        if isinstance(buffer.element, Float32Type):
            if kind is AtomicKind.Assign:
                return f"atomic_xchg((volatile {space}float *){place}, {value})"
            return f"{buffer.space}_{kind.value}_f32({place}, {value})"
        if width_of(buffer.element) != 32:
            return None
        if kind is AtomicKind.Assign:
            return f"atomic_xchg((volatile {space}int *){place}, {value})"
        name, unsigned = INTEGERS[kind]
        if unsigned:
            return f"atomic_{name}((volatile {space}uint *){place}, (uint)({value}))"
        return f"atomic_{name}((volatile {space}int *){place}, {value})"

    def moves(self, buffer: Buffer, lanes: int, *, aligned: bool) -> bool:
        return True

    def read_vector(self, buffer: Buffer, offset: str, lanes: int, *, aligned: bool) -> str:
        if aligned:
            return super().read_vector(buffer, offset, lanes, aligned=True)
        return f"vload{lanes}(0, {_address(buffer, offset)})"

    def write_vector(
        self, buffer: Buffer, offset: str, lanes: int, value: str, *, aligned: bool
    ) -> str:
        if aligned:
            return super().write_vector(buffer, offset, lanes, value, aligned=True)
        return f"vstore{lanes}({value}, 0, {_address(buffer, offset)});"

    def vector(self, element: Attribute, lanes: Sequence[str]) -> str:
        same = lanes[:1] if len(set(lanes)) == 1 else lanes
        return f"({self.vector_word(element, len(lanes))})({', '.join(same)})"

    def lane(self, vector: str, number: int) -> str:
        return f"{vector}.s{number:x}"

    def computes_vectors(self, type_: Attribute, lanes: int) -> bool:
        return isinstance(type_, Float32Type | Float64Type) and lanes in self.vector_sizes


def _address(buffer: Buffer, offset: str) -> str:
    return buffer.name if offset == "0" else f"{buffer.name} + {offset}"
