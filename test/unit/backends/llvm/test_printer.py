"""LLVM's own parser accepts what the printer writes, for each op that it has a rule for."""

import llvmlite.binding as binding
import numpy as np
import pytest
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from nn_opt.backends.llvm import print_module
from nn_opt.backends.llvm.instructions import RULES
from nn_opt.backends.llvm.words import bytes_literal, number, symbol
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.types import mlir_type

# One op of each kind and line; %i %j: i64, %x %y: f32, %u %v: vectors, %c: i1, %p: pointer.
LINES = [
    "llvm.add %i, %j : i64",
    "llvm.add %i, %j overflow<nsw, nuw> : i64",
    "llvm.sub %i, %j : i64",
    "llvm.mul %i, %j : i64",
    "llvm.udiv %i, %j : i64",
    "llvm.sdiv %i, %j : i64",
    "llvm.urem %i, %j : i64",
    "llvm.srem %i, %j : i64",
    "llvm.and %i, %j : i64",
    "llvm.or %i, %j : i64",
    "llvm.xor %i, %j : i64",
    "llvm.shl %i, %j : i64",
    "llvm.lshr %i, %j : i64",
    "llvm.ashr %i, %j : i64",
    "llvm.fadd %x, %y : f32",
    "llvm.fadd %x, %y {fastmathFlags = #llvm.fastmath<reassoc, contract>} : f32",
    "llvm.fmul %u, %v {fastmathFlags = #llvm.fastmath<fast>} : vector<4xf32>",
    "llvm.fsub %x, %y : f32",
    "llvm.fdiv %u, %v : vector<4xf32>",
    "llvm.frem %x, %y : f32",
    "llvm.fneg %u : vector<4xf32>",
    "llvm.trunc %i : i64 to i8",
    "llvm.zext %c : i1 to i32",
    "llvm.sext %c : i1 to i32",
    "llvm.bitcast %x : f32 to i32",
    "llvm.sitofp %i : i64 to f32",
    "llvm.uitofp %i : i64 to f64",
    "llvm.fptosi %u : vector<4xf32> to vector<4xi32>",
    "llvm.fptoui %x : f32 to i16",
    "llvm.fpext %x : f32 to f64",
    "llvm.fptrunc %x : f32 to f16",
    "llvm.inttoptr %i : i64 to !llvm.ptr",
    "llvm.ptrtoint %p : !llvm.ptr to i64",
    "llvm.intr.fabs(%x) : (f32) -> f32",
    "llvm.intr.ceil(%x) : (f32) -> f32",
    "llvm.intr.floor(%u) : (vector<4xf32>) -> vector<4xf32>",
    "llvm.intr.sqrt(%x) : (f32) -> f32",
    "llvm.intr.exp(%x) : (f32) -> f32",
    "llvm.intr.exp2(%x) : (f32) -> f32",
    "llvm.intr.log(%x) : (f32) -> f32",
    "llvm.intr.log2(%x) : (f32) -> f32",
    "llvm.intr.sin(%x) : (f32) -> f32",
    "llvm.intr.cos(%x) : (f32) -> f32",
    "llvm.intr.pow(%x, %y) : (f32, f32) -> f32",
    "llvm.intr.fma(%u, %v, %u) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>",
    "llvm.intr.copysign(%x, %y) : (f32, f32) -> f32",
    "llvm.intr.maxnum(%x, %y) : (f32, f32) -> f32",
    "llvm.intr.minnum(%x, %y) : (f32, f32) -> f32",
    "llvm.mlir.undef : f32",
    "llvm.mlir.poison : vector<4xf32>",
    "llvm.mlir.zero : !llvm.ptr",
    "llvm.mlir.constant(dense<[1.0, 2.0, -0.0, 3.0]> : vector<4xf32>) : vector<4xf32>",
    "llvm.mlir.constant(1.0e-45 : f32) : f32",
    "llvm.mlir.addressof @table : !llvm.ptr",
    'llvm.icmp "ult" %i, %j : i64',
    'llvm.fcmp "uno" %u, %v : vector<4xf32>',
    'llvm.fcmp "_true" %x, %y : f32',
    "llvm.select %c, %x, %y : i1, f32",
    "llvm.select %m, %u, %v : vector<4xi1>, vector<4xf32>",
    "llvm.insertelement %x, %u[%i : i64] : vector<4xf32>",
    "llvm.extractelement %u[%i : i64] : vector<4xf32>",
    "llvm.shufflevector %u, %v [0, 5, -1, 2] : vector<4xf32>",
    "llvm.shufflevector %u, %v [0, 0, 0, 0] : vector<4xf32>",
    "llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<16 x f32>",
    "llvm.getelementptr inbounds %p[-3] : (!llvm.ptr) -> !llvm.ptr, f32",
    "llvm.getelementptr %p[%o] : (!llvm.ptr, vector<4xi32>) -> vector<4x!llvm.ptr>, f32",
    "llvm.load %p {alignment = 4} : !llvm.ptr -> vector<4xf32>",
    "llvm.atomicrmw fadd %p, %x monotonic : !llvm.ptr, f32",
    "llvm.atomicrmw _xor %p, %i seq_cst : !llvm.ptr, i64",
    "llvm.alloca %i x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr",
    'llvm.call_intrinsic "llvm.maximum"(%x, %y) : (f32, f32) -> f32',
    'llvm.call_intrinsic "llvm.smax"(%i, %j) : (i64, i64) -> i64',
    'llvm.call_intrinsic "llvm.abs"(%i, %c0) : (i64, i1) -> i64',
    'llvm.call_intrinsic "llvm.vector.reduce.fadd"(%x, %u) : (f32, vector<4xf32>) -> f32',
    'llvm.call_intrinsic "llvm.vector.reduce.smax"(%o) : (vector<4xi32>) -> i32',
    'llvm.call_intrinsic "llvm.masked.load"(%p, %m, %u)'
    " : (!llvm.ptr, vector<4xi1>, vector<4xf32>) -> vector<4xf32>",
    "llvm.call @callee(%x) : (f32) -> f32",
]
ACTIONS = [
    "llvm.store %u, %p {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr",
    "llvm.call @effect(%p) : (!llvm.ptr) -> ()",
    'llvm.call_intrinsic "llvm.memcpy"(%p, %p, %i, %c0) : (!llvm.ptr, !llvm.ptr, i64, i1) -> ()',
    'llvm.call_intrinsic "llvm.masked.store"(%u, %p, %m)'
    " : (vector<4xf32>, !llvm.ptr, vector<4xi1>) -> ()",
]
DECLARED = """
  llvm.mlir.global private constant @table(dense<[1.0, 2.5]> : tensor<2xf32>) : !llvm.array<8 x i8>
  llvm.func @callee(f32) -> f32
  llvm.func @effect(!llvm.ptr)
"""


def module(body: str) -> ModuleOp:
    text = f"""{DECLARED}
  llvm.func @f(%i: i64, %j: i64, %x: f32, %y: f32, %u: vector<4xf32>, %v: vector<4xf32>, %c: i1,
               %m: vector<4xi1>, %o: vector<4xi32>,
               %p: !llvm.ptr {{llvm.noalias, llvm.align = 64 : i64}})
      attributes {{no_unwind, passthrough = [["prefer-vector-width", "512"], "noinline"]}} {{
    %c0 = llvm.mlir.constant(false) : i1
    {body}
  }}"""
    result = parse_module(make_context(), text, "test.mlir")
    result.verify()
    return result


def accepted(text: str) -> str:
    """LLVM's own text of a module, after its verifier."""
    parsed = binding.parse_assembly(text)
    parsed.verify()
    return str(parsed)


@pytest.mark.parametrize("line", LINES)
def test_llvm_accepts_an_op_with_a_result(line: str):
    printed = print_module(module(f"%r = {line}\n    llvm.return"))
    accepted(printed)


def test_llvm_accepts_kernels_and_memory_of_devices():
    text = """
  llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16} : !llvm.array<8 x i8>
  llvm.func ptx_kernelcc @f(%x: !llvm.ptr<1>) {
    %t = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %v = llvm.load %t {alignment = 4} : !llvm.ptr<3> -> f32
    llvm.store %v, %x {alignment = 4} : f32, !llvm.ptr<1>
    llvm.return
  }
  llvm.func spir_kernelcc @g() {
    llvm.return
  }"""
    shown = accepted(print_module(parse_module(make_context(), text, "test.mlir")))
    assert "define ptx_kernel void @f(ptr addrspace(1)" in shown
    assert "define spir_kernel void @g()" in shown
    assert "@tile = internal addrspace(3) global [8 x i8] undef, align 16" in shown


@pytest.mark.parametrize("line", ACTIONS)
def test_llvm_accepts_an_op_with_an_effect(line: str):
    accepted(print_module(module(f"{line}\n    llvm.return")))


def test_every_rule_is_tested():
    bodies = "\n".join([*(f"%r{k} = {line}" for k, line in enumerate(LINES)), *ACTIONS])
    used = {type(op) for op in module(f"{bodies}\n llvm.return").walk()}
    jumps = {llvm.BrOp, llvm.CondBrOp, llvm.UnreachableOp}
    assert set(RULES) - used == jumps


def test_block_arguments_become_phis_and_back_edges_are_left_rolled():
    printed = print_module(
        module("""llvm.br ^loop(%i, %x : i64, f32)
  ^loop(%k: i64, %sum: f32):
    %more = llvm.fadd %sum, %y : f32
    %next = llvm.add %k, %j : i64
    %go = llvm.icmp "slt" %next, %i : i64
    llvm.cond_br %go, ^loop(%next, %more : i64, f32), ^end
  ^end:
    llvm.cond_br %c, ^same(%x : f32), ^same(%sum : f32)
  ^same(%z: f32):
    llvm.store %z, %p {alignment = 4 : i64} : f32, !llvm.ptr
    llvm.cond_br %c, ^done, ^never
  ^never:
    llvm.unreachable
  ^done:
    llvm.return""")
    )
    text = accepted(printed)
    assert text.count(" = phi ") == 3
    assert text.count("!llvm.loop") == 1
    assert "llvm.loop.unroll.disable" in text


def test_attributes_of_functions_and_arguments_are_said():
    text = accepted(print_module(module("llvm.return")))
    assert "ptr noalias align 64" in text
    assert '"prefer-vector-width"="512"' in text
    assert "noinline nounwind" in text


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("value", [0.1, -0.0, 1e-7, np.inf, -np.inf, 65504.0, 3.0e38])
def test_a_float_keeps_its_bits(dtype: type, value: float):
    element = mlir_type(np.dtype(dtype))
    with np.errstate(over="ignore"):
        exact = np.array([value], dtype)
    word = {"float16": "half", "float32": "float", "float64": "double"}[np.dtype(dtype).name]
    text = f"@g = constant {word} {number(value, element)}"
    stored = str(binding.parse_assembly(text)).split(f"{word} ")[-1].strip()
    again = binding.parse_assembly(f"@g = constant {word} {stored}")
    assert str(again) == str(binding.parse_assembly(text))
    bits = f"0x{int.from_bytes(np.array([float(exact[0])]).tobytes(), 'little'):016X}"
    if word != "half":
        assert number(value, element) == bits


def test_bytes_and_names_are_escaped():
    assert bytes_literal(np.array([0, 65, 255], np.uint8)) == '[3 x i8] c"\\00\\41\\FF"'
    assert symbol("conv.par0") == "@conv.par0"
    assert symbol('a "b"/é') == '@"a \\22b\\22/\\C3\\A9"'


def test_an_op_of_another_dialect_is_refused_by_name():
    text = "func.func @f() {\n  func.return\n}"
    with pytest.raises(PassFailedException, match=r"func\.func: is no function or global of LLVM"):
        print_module(parse_module(make_context(), text, "test.mlir"))
