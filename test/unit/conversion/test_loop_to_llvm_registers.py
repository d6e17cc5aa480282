"""What convert-loop-to-llvm keeps in registers."""

import numpy as np
import pytest
from machine import assembly, llvm_text, normal, run, vector_spills


def test_a_reduction_keeps_its_accumulator_in_registers_through_rolled_loops():
    text = """
    func.func @k(%x: memref<6x64xf32>, %y: memref<6xf32>) {
      loop.for %i = 0 to 6 {
        %acc = loop.alloc "acc" : memref<2x16xf32, "register">
        loop.for %u = 0 to 2 unroll {
          %z = arith.constant dense<0.0> : vector<16xf32>
          loop.store %z, %acc[%u, 0] : memref<2x16xf32, "register">, vector<16xf32>
        }
        loop.for %j = 0 to 2 {
          loop.for %u = 0 to 2 unroll {
            %v = loop.load %x[%i, 32 * %j + 16 * %u] : memref<6x64xf32>, vector<16xf32>
            %o = loop.load %acc[%u, 0] : memref<2x16xf32, "register">, vector<16xf32>
            %s = arith.addf %o, %v : vector<16xf32>
            loop.store %s, %acc[%u, 0] : memref<2x16xf32, "register">, vector<16xf32>
          }
        }
        %p = loop.load %acc[0, 0] : memref<2x16xf32, "register">, vector<16xf32>
        %q = loop.load %acc[1, 0] : memref<2x16xf32, "register">, vector<16xf32>
        %r = arith.addf %p, %q : vector<16xf32>
        %t = vector.reduction <add>, %r : vector<16xf32> into f32
        loop.store %t, %y[%i] : memref<6xf32>
      }
      func.return
    }"""
    x, y = normal(6, 64), np.zeros(6, "f")
    run(text, "k", x, y)
    np.testing.assert_allclose(y, x.astype(float).sum(1), rtol=1e-5, atol=1e-5)


def test_a_register_written_in_a_branch_keeps_its_value_when_the_branch_is_not_taken():
    text = """
    func.func @k(%x: memref<8xi32>, %y: memref<2xi32>) {
      %r = loop.alloc "r" : memref<2xi32, "register">
      %z = arith.constant 0 : i32
      loop.store %z, %r[0] : memref<2xi32, "register">
      loop.store %z, %r[1] : memref<2xi32, "register">
      loop.for %i = 0 to 8 {
        %a = loop.load %x[%i] : memref<8xi32>
        loop.if (%i - 3 >= 0, 5 - %i >= 0) {
          %o = loop.load %r[0] : memref<2xi32, "register">
          %s = arith.addi %o, %a : i32
          loop.store %s, %r[0] : memref<2xi32, "register">
        }
        %p = loop.load %r[0] : memref<2xi32, "register">
        %q = loop.load %r[1] : memref<2xi32, "register">
        %t = arith.addi %p, %q : i32
        loop.store %t, %r[1] : memref<2xi32, "register">
      }
      %c = loop.load %r[0] : memref<2xi32, "register">
      %d = loop.load %r[1] : memref<2xi32, "register">
      loop.store %c, %y[0] : memref<2xi32>
      loop.store %d, %y[1] : memref<2xi32>
      func.return
    }"""
    x, y = np.arange(1, 9, dtype=np.int32), np.zeros(2, np.int32)
    run(text, "k", x, y)
    partial = np.cumsum(np.where((np.arange(8) >= 3) & (np.arange(8) <= 5), x, 0))
    np.testing.assert_array_equal(y, [partial[-1], partial.sum()])


def test_a_store_is_seen_by_a_later_load_of_the_same_place():
    text = """
    func.func @k(%x: memref<4xf32>, %y: memref<4xf32>) {
      loop.for %i = 0 to 4 {
        %a = loop.load %y[0] : memref<4xf32>
        %b = loop.load %x[%i] : memref<4xf32>
        %c = arith.addf %a, %b : f32
        loop.store %c, %y[0] : memref<4xf32>
        %d = loop.load %y[0] : memref<4xf32>
        loop.store %d, %y[3] : memref<4xf32>
      }
      func.return
    }"""
    x, y = np.arange(4, dtype="f"), np.zeros(4, "f")
    run(text, "k", x, y)
    np.testing.assert_array_equal(y, [6, 0, 0, 6])


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


@pytest.mark.parametrize(
    ("rows", "lanes", "chunks", "target"),
    [(14, 16, 2, "x86-64-v4"), (8, 16, 3, "x86-64-v4"), (6, 8, 2, "x86-64-v3")],
)
def test_a_register_tile_does_not_spill(rows: int, lanes: int, chunks: int, target: str):
    text = matmul(rows, lanes, chunks)
    code = assembly(text, target)
    assert vector_spills(code) == 0
    assert code.count("vfmadd") == 4 * rows * chunks
    a, b, c = normal(rows, 64), normal(64, lanes * chunks), np.zeros((rows, lanes * chunks), "f")
    run(text, "k", a, b, c)
    np.testing.assert_allclose(c, a.astype(float) @ b.astype(float), rtol=1e-5, atol=1e-5)


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
    ("tile", "lanes", "target"), [(14, 16, "x86-64-v4"), (28, 16, "x86-64-v4"), (7, 8, "x86-64-v3")]
)
def test_a_convolution_tile_does_not_spill(tile: int, lanes: int, target: str):
    text = convolution(tile, lanes)
    code = assembly(text, target)
    assert vector_spills(code) == 0
    assert code.count("vfmadd") == 4 * tile
    x, w, b = normal(2, 10, 58, lanes), normal(2, 2, 3, 3, lanes, lanes), normal(2, lanes)
    y = np.zeros((2, 8, 56, lanes), "f")
    run(text, "k", x, w, b, y)
    wanted = np.zeros(y.shape)
    for r in range(3):
        for s in range(3):
            part = x[:, r : r + 8, s : s + 56].astype(float)
            wanted += np.einsum("cpqi,fcio->fpqo", part, w[:, :, r, s].astype(float))
    wanted = np.maximum(wanted + b[:, None, None], 0)
    np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-4)


def test_what_does_not_change_in_a_loop_is_computed_before_it():
    text = """
    func.func @k(%x: memref<8x8x64xf32>, %y: memref<8x64xf32>) {
      loop.for %i = 0 to 8 {
        loop.for %j = 0 to 64 {
          %a = loop.load %x[%i, 3, %j] : memref<8x8x64xf32>
          loop.store %a, %y[%i, %j] : memref<8x64xf32>
        }
      }
      func.return
    }"""
    inner = llvm_text(text).split("b2:")[1].split("b3:")[0]
    assert inner.count("getelementptr") == 3  # one step along each buffer, and the constant
    assert " mul " not in inner
