"""What convert-loop-to-llvm computes: kernels run on this machine against NumPy."""

import ctypes

import llvmlite.binding as binding
import numpy as np
import pytest
from machine import Machine, lowered, normal, run
from upstream import NEWER, require_tools, tool
from xdsl.utils.exceptions import PassFailedException


def test_an_elementwise_kernel_with_vectors_and_a_tail():
    text = """
    func.func @k(%x: memref<37xf32>, %y: memref<37xf32>) {
      loop.for %i = 0 to 2 {
        %a = loop.load %x[16 * %i] : memref<37xf32>, vector<16xf32>
        %b = arith.mulf %a, %a : vector<16xf32>
        loop.store %b, %y[16 * %i] : memref<37xf32>, vector<16xf32>
      }
      loop.for %i = 0 to 5 {
        %a = loop.load %x[%i + 32] : memref<37xf32>
        %b = arith.mulf %a, %a : f32
        loop.store %b, %y[%i + 32] : memref<37xf32>
      }
      func.return
    }"""
    x, y = normal(37), np.zeros(37, "f")
    run(text, "k", x, y)
    np.testing.assert_array_equal(y, x * x)


def test_a_branch_guards_the_tail():
    text = """
    func.func @k(%x: memref<10xi32>, %y: memref<10xi32>) {
      loop.for %i = 0 to 4 {
        loop.for %j = 0 to 3 {
          loop.if (9 - 3 * %i - %j >= 0) {
            %a = loop.load %x[3 * %i + %j] : memref<10xi32>
            %c = arith.constant 3 : i32
            %b = arith.muli %a, %c : i32
            loop.store %b, %y[9 - 3 * %i - %j] : memref<10xi32>
          }
        }
      }
      func.return
    }"""
    x, y = np.arange(10, dtype=np.int32), np.zeros(10, np.int32)
    run(text, "k", x, y)
    np.testing.assert_array_equal(y, x[::-1] * 3)


PARALLEL = """
    func.func @k(%x: memref<3x5x16xf32>, %y: memref<3x5x16xf32>) {
      %two = arith.constant 2.0 : f32
      %s = loop.load %x[2, 4, 15] : memref<3x5x16xf32>
      %t = loop.alloc "t" : memref<16xf32, "stack">
      loop.for %u = 0 to 16 {
        %a = arith.mulf %s, %two : f32
        loop.store %a, %t[%u] : memref<16xf32, "stack">
      }
      loop.for %n = 0 to 1 parallel {
        loop.for %i = 0 to 3 parallel {
          loop.for %j = 0 to 5 parallel {
            %tmp = loop.alloc "tmp" : memref<16xf32, "stack">
            loop.for %u = 0 to 16 {
              %a = loop.load %x[%i, %j, %u] : memref<3x5x16xf32>
              %b = loop.load %t[%u] : memref<16xf32, "stack">
              %c = arith.addf %a, %b : f32
              %d = arith.addf %c, %s : f32
              loop.store %d, %tmp[15 - %u] : memref<16xf32, "stack">
            }
            %v = loop.load %tmp[0] : memref<16xf32, "stack">, vector<16xf32>
            loop.store %v, %y[%i, %j, 0] : memref<3x5x16xf32>, vector<16xf32>
          }
        }
      }
      func.return
    }"""


def test_a_nest_of_parallel_loops_is_one_call_of_the_pool():
    x, y = normal(3, 5, 16), np.zeros((3, 5, 16), "f")
    machine = Machine(PARALLEL)
    machine("k", x, y)
    s = x[2, 4, 15]
    np.testing.assert_array_equal(y, ((x + s * np.float32(2)) + s)[..., ::-1])
    assert machine.llvm.count("call void @nn_parallel") == 1
    assert "i64 15)" in machine.llvm


def test_a_large_constant_of_a_kernel_is_a_private_global():
    text = """
    func.func @k(%y: memref<2x2xf32>, %z: memref<3xi1>) {
      %c = loop.constant dense<[[1.0, 2.0], [3.0, 4.5]]> : tensor<2x2xf32> to memref<2x2xf32>
      %m = loop.constant dense<[true, false, true]> : tensor<3xi1> to memref<3xi1>
      loop.copy %c to %y : memref<2x2xf32> to memref<2x2xf32>
      loop.for %i = 0 to 3 {
        %b = loop.load %m[%i] : memref<3xi1>
        loop.store %b, %z[%i] : memref<3xi1>
      }
      func.return
    }"""
    y, z = np.zeros((2, 2), "f"), np.zeros(3, bool)
    run(text, "k", y, z)
    np.testing.assert_array_equal(y, [[1, 2], [3, 4.5]])
    np.testing.assert_array_equal(z, [True, False, True])


MAIN = """
    func.func private @step(%h: memref<4xf32>, %x: memref<4xf32>, %w: memref<4xf32>,
        %o: memref<4xf32>) attributes {kernel, num_outputs = 1 : i64} {
      loop.for %i = 0 to 4 {
        %a = loop.load %h[%i] : memref<4xf32>
        %b = loop.load %x[%i] : memref<4xf32>
        %c = loop.load %w[%i] : memref<4xf32>
        %d = math.fma %a, %c, %b : f32
        loop.store %d, %o[%i] : memref<4xf32>
      }
      func.return
    }
    func.func @main(%x: memref<5x4xf32>, %y: memref<5x4xf32>, %last: memref<4xf32>)
        attributes {num_outputs = 2 : i64} {
      %w = loop.constant dense<[0.5, 0.25, 2.0, 1.0]> : tensor<4xf32> to memref<4xf32>
      %h0 = loop.constant dense<1.0> : tensor<4xf32> to memref<4xf32>
      %arena = loop.arena : memref<128xi8>
      %h = loop.view %arena offset 64 : memref<128xi8> to memref<4xf32>
      loop.copy %h0 to %h : memref<4xf32> to memref<4xf32>
      loop.for %t = 0 to 5 {
        %xt = loop.view %x offset 4 * %t : memref<5x4xf32> to memref<4xf32>
        %yt = loop.view %y offset 4 * %t : memref<5x4xf32> to memref<4xf32>
        func.call @step(%h, %xt, %w, %yt)
          : (memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
        loop.copy %yt to %h : memref<4xf32> to memref<4xf32>
      }
      loop.copy %h to %last : memref<4xf32> to memref<4xf32>
      func.return
    }"""


def test_main_takes_tables_of_pointers_weights_and_an_arena():
    module = lowered(MAIN)
    offsets = list(module.attributes["nn.weight_offsets"].iter_values())
    assert module.attributes["nn.arena_bytes"].value.data == 128
    assert offsets == [0, 64]
    w = np.array([0.5, 0.25, 2, 1], "f")
    weights = np.zeros(128 // 4, "f")
    weights[:4], weights[16:20] = w, 1
    x, y, last = normal(5, 4), np.zeros((5, 4), "f"), np.zeros(4, "f")
    arena = np.zeros(128, np.uint8)
    machine = Machine(MAIN)
    table = ctypes.c_void_p * 2
    inputs, outputs = table(x.ctypes.data), table(y.ctypes.data, last.ctypes.data)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(machine.code.address("nn_main"))
    function(
        ctypes.addressof(inputs), ctypes.addressof(outputs), weights.ctypes.data, arena.ctypes.data
    )
    h = np.ones(4)
    for t in range(5):
        h = h * w + x[t]
        np.testing.assert_allclose(y[t], h, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(last, y[-1])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            """loop.for %i = 0 to 4 {
          loop.store %z, %r[%i] : memref<4xf32, "register">
        }""",
            "register buffer 'r' depends on loop %i",
        ),
        (
            """loop.store %z, %r[1] : memref<4xf32, "register">
        %v = loop.load %r[0] : memref<4xf32, "register">, vector<4xf32>""",
            "vector<4xf32> at element 0 and f32 at 1 overlap",
        ),
        ('%g = loop.alloc "g" : memref<4xf32>', "global buffer 'g' has no place yet"),
        ("loop.for %i = 0 to 4 vector {\n}", "is still a loop over lanes"),
    ],
)
def test_mistakes_are_named(body: str, message: str):
    text = f"""
    func.func @k(%x: memref<4xf32>) {{
        %r = loop.alloc "r" : memref<4xf32, "register">
        %z = arith.constant 0.0 : f32
        {body}
        func.return
    }}"""
    with pytest.raises(PassFailedException, match=message.replace("(", r"\(")):
        lowered(text)


def test_what_is_of_no_use_to_llvm_is_refused():
    text = """
    func.func @k(%x: memref<4xf32>) {
      func.return
    }
    %t = tensor.constant dense<1.0> : tensor<4xf32> to tensor<4xf32>"""
    with pytest.raises(PassFailedException, match=r"tensor\.constant: --convert-loop"):
        lowered(text)


def matmul(rows: int, lanes: int, chunks: int) -> str:
    """A register tile of rows x (chunks vectors), reduced over 64 steps in fours."""
    vector, n = f"vector<{lanes}xf32>", lanes * chunks
    acc = f'memref<{rows}x{n}xf32, "register">'
    return f"""
    func.func @k(%a: memref<{rows}x64xf32>, %b: memref<64x{n}xf32>, %c: memref<{rows}x{n}xf32>) {{
      %acc = loop.alloc "acc" : {acc}
      %z = arith.constant dense<0.0> : {vector}
      loop.for %i = 0 to {rows} unroll {{
        loop.for %j = 0 to {chunks} unroll {{
          loop.store %z, %acc[%i, {lanes} * %j] : {acc}, {vector}
        }}
      }}
      loop.for %k = 0 to 16 {{
        loop.for %u = 0 to 4 unroll {{
          loop.for %i = 0 to {rows} unroll {{
            loop.for %j = 0 to {chunks} unroll {{
              %x = loop.load %a[%i, 4 * %k + %u] : memref<{rows}x64xf32>
              %xs = vector.broadcast %x : f32 to {vector}
              %y = loop.load %b[4 * %k + %u, {lanes} * %j] : memref<64x{n}xf32>, {vector}
              %o = loop.load %acc[%i, {lanes} * %j] : {acc}, {vector}
              %s = math.fma %xs, %y, %o : {vector}
              loop.store %s, %acc[%i, {lanes} * %j] : {acc}, {vector}
            }}
          }}
        }}
      }}
      loop.for %i = 0 to {rows} unroll {{
        loop.for %j = 0 to {chunks} unroll {{
          %o = loop.load %acc[%i, {lanes} * %j] : {acc}, {vector}
          loop.store %o, %c[%i, {lanes} * %j] : memref<{rows}x{n}xf32>, {vector}
        }}
      }}
      func.return
    }}"""


def convolution(tile: int, lanes: int) -> str:
    """A 3x3 convolution of blocked layout, 56 pixels a row; the tile is `tile` pixels."""
    vector, acc = f"vector<{lanes}xf32>", f'memref<{tile}x{lanes}xf32, "register">'
    x, w = f"memref<2x10x58x{lanes}xf32>", f"memref<2x2x3x3x{lanes}x{lanes}xf32>"
    b, y = f"memref<2x{lanes}xf32>", f"memref<2x8x56x{lanes}xf32>"
    return f"""
    func.func @k(%x: {x}, %w: {w}, %b: {b}, %y: {y}) {{
      loop.for %fo = 0 to 2 {{ loop.for %p = 0 to 8 {{ loop.for %qo = 0 to {56 // tile} {{
        %acc = loop.alloc "acc" : {acc}
        %z = arith.constant dense<0.0> : {vector}
        loop.for %qi = 0 to {tile} unroll {{
          loop.store %z, %acc[%qi, 0] : {acc}, {vector}
        }}
        loop.for %co = 0 to 2 {{ loop.for %r = 0 to 3 {{ loop.for %s = 0 to 3 {{
          loop.for %cu = 0 to {lanes // 4} {{
            loop.for %cv = 0 to 4 unroll {{
              loop.for %qi = 0 to {tile} unroll {{
                %k = loop.load %w[%fo, %co, %r, %s, 4 * %cu + %cv, 0] : {w}, {vector}
                %a = loop.load %x[%co, %p + %r, {tile} * %qo + %qi + %s, 4 * %cu + %cv] : {x}
                %v = vector.broadcast %a : f32 to {vector}
                %o = loop.load %acc[%qi, 0] : {acc}, {vector}
                %m = math.fma %v, %k, %o : {vector}
                loop.store %m, %acc[%qi, 0] : {acc}, {vector}
              }}
            }}
          }}
        }} }} }}
        loop.for %qi = 0 to {tile} unroll {{
          %o = loop.load %acc[%qi, 0] : {acc}, {vector}
          %bias = loop.load %b[%fo, 0] : {b}, {vector}
          %s = arith.addf %o, %bias : {vector}
          %m = arith.maximumf %s, %z : {vector}
          loop.store %m, %y[%fo, %p, {tile} * %qo + %qi, 0] : {y}, {vector}
        }}
      }} }} }}
      func.return
    }}"""


@pytest.mark.parametrize(
    "text",
    [MAIN, PARALLEL, convolution(14, 16), matmul(6, 8, 2)],
    ids=["main", "parallel", "convolution", "matmul"],
)
def test_upstream_translates_the_same_dialect(text: str):
    require_tools()
    translated = tool("mlir-translate", "--mlir-to-llvmir", text=str(lowered(text)))
    binding.parse_assembly(NEWER.sub("", translated)).verify()
