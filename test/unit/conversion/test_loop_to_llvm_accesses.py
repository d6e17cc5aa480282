"""Loads and stores by convert-loop-to-llvm: kernels run on this machine against NumPy."""

import numpy as np
import pytest
from machine import normal, run


def test_a_scalar_load_outside_gives_the_default():
    text = """
    func.func @k(%x: memref<5x4xf32>, %y: memref<7x6xf32>) {
      loop.for %i = 0 to 7 {
        loop.for %j = 0 to 6 {
          %a = loop.load %x[%i - 1, %j - 1] or -2.5 : memref<5x4xf32>
          loop.store %a, %y[%i, %j] : memref<7x6xf32>
        }
      }
      func.return
    }"""
    x, y = normal(5, 4), np.zeros((7, 6), "f")
    run(text, "k", x, y)
    np.testing.assert_array_equal(y, np.pad(x, 1, constant_values=-2.5))


def test_a_vector_load_outside_gives_the_default_lane_by_lane():
    text = """
    func.func @k(%x: memref<5x12xf32>, %y: memref<7x16xf32>) {
      loop.for %i = 0 to 7 {
        %a = loop.load %x[%i - 1, -2] or 0.5 : memref<5x12xf32>, vector<16xf32>
        loop.store %a, %y[%i, 0] : memref<7x16xf32>, vector<16xf32>
      }
      func.return
    }"""
    x, y = normal(5, 12), np.zeros((7, 16), "f")
    run(text, "k", x, y)
    np.testing.assert_array_equal(y, np.pad(x, ((1, 1), (2, 2)), constant_values=0.5))


@pytest.mark.parametrize(("default", "pad"), [("", 0), ("or 1.5", 1)])
def test_a_strided_vector_load_gathers_along_a_row_or_a_column(default: str, pad: int):
    text = f"""
    func.func @k(%x: memref<8x20xf32>, %row: memref<8x8xf32>, %column: memref<20x8xf32>) {{
      loop.for %i = 0 to 8 {{
        %a = loop.load %x[%i, {3 - 4 * pad}] {default} stride 2 : memref<8x20xf32>, vector<8xf32>
        loop.store %a, %row[%i, 0] : memref<8x8xf32>, vector<8xf32>
      }}
      loop.for %j = 0 to 20 {{
        %a = loop.load %x[{-2 * pad}, %j] {default} stride 20 : memref<8x20xf32>, vector<8xf32>
        loop.store %a, %column[%j, 0] : memref<20x8xf32>, vector<8xf32>
      }}
      func.return
    }}"""
    x, row, column = normal(8, 20), np.zeros((8, 8), "f"), np.zeros((20, 8), "f")
    run(text, "k", x, row, column)
    wide = np.pad(x, ((2, 2), (1, 9)), constant_values=1.5)
    np.testing.assert_array_equal(row, wide[2:10, 4 - 4 * pad :: 2][:, :8])
    np.testing.assert_array_equal(column, wide[2 - 2 * pad :][:8, 1:21].T)


def test_a_vector_wider_than_its_buffer_takes_the_default():
    text = """
    func.func @k(%x: memref<1x1xf32>, %i: memref<1xi64>, %y: memref<2x8xf32>) {
      %n = loop.load %i[0] : memref<1xi64>
      %j = arith.index_cast %n : i64 to index
      %a = loop.load %x[0, 0] or 9.0 : memref<1x1xf32>, vector<8xf32>
      %b = loop.load %x[0, %j] or 9.0 : memref<1x1xf32>, vector<8xf32>
      loop.store %a, %y[0, 0] : memref<2x8xf32>, vector<8xf32>
      loop.store %b, %y[1, 0] : memref<2x8xf32>, vector<8xf32>
      func.return
    }"""
    y = np.zeros((2, 8), "f")
    run(text, "k", np.full((1, 1), 3, "f"), np.array([-2], np.int64), y)
    np.testing.assert_array_equal(y, [[3] + [9] * 7, [9, 9, 3] + [9] * 5])


@pytest.mark.parametrize("step", [2, 3, 4, 5, -1])
@pytest.mark.parametrize("lanes", [2, 3, 8, 16])
def test_a_strided_load_touches_nothing_beyond_its_elements(step: int, lanes: int):
    reach = abs(step) * (lanes - 1) + 1
    first = reach - 1 if step < 0 else 0
    text = f"""
    func.func @k(%x: memref<{reach}xf32>, %y: memref<{lanes}xf32>) {{
      %a = loop.load %x[{first}] stride {step} : memref<{reach}xf32>, vector<{lanes}xf32>
      loop.store %a, %y[0] : memref<{lanes}xf32>, vector<{lanes}xf32>
      func.return
    }}"""
    x, y = normal(reach), np.zeros(lanes, "f")
    run(text, "k", x, y)
    np.testing.assert_array_equal(y, x[first + step * np.arange(lanes)])


def test_a_strided_vector_store_scatters():
    text = """
    func.func @k(%x: memref<8x4xf32>, %y: memref<4x8xf32>) {
      loop.for %i = 0 to 8 {
        %a = loop.load %x[%i, 0] : memref<8x4xf32>, vector<4xf32>
        loop.store %a, %y[0, %i] stride 8 : memref<4x8xf32>, vector<4xf32>
      }
      func.return
    }"""
    x, y = normal(8, 4), np.zeros((4, 8), "f")
    run(text, "k", x, y)
    np.testing.assert_array_equal(y, x.T)


def test_an_index_read_from_memory_gathers_rows():
    text = """
    func.func @k(%t: memref<9x16xf32>, %ids: memref<6xi32>, %y: memref<6x16xf32>) {
      loop.for %i = 0 to 6 {
        %n = loop.load %ids[%i] : memref<6xi32>
        %r = arith.index_cast %n : i32 to index
        loop.for %j = 0 to 16 {
          %v = loop.load %t[%r, %j] or 0.0 : memref<9x16xf32>
          loop.store %v, %y[%i, %j] : memref<6x16xf32>
        }
      }
      func.return
    }"""
    t, ids, y = normal(9, 16), np.array([8, 0, 3, -1, 9, 3], np.int32), np.zeros((6, 16), "f")
    run(text, "k", t, ids, y)
    wanted = np.where(((ids >= 0) & (ids < 9))[:, None], t[np.clip(ids, 0, 8)], 0)
    np.testing.assert_array_equal(y, wanted)


def test_a_narrow_access_is_the_first_lanes_of_a_register():
    text = """
    func.func @k(%x: memref<22xf32>, %y: memref<8xf32>) {
      %acc = loop.alloc "acc" : memref<8xf32, "register">
      %v = loop.load %x[0] : memref<22xf32>, vector<8xf32>
      loop.store %v, %acc[0] : memref<8xf32, "register">, vector<8xf32>
      loop.for %i = 0 to 2 {
        %a = loop.load %x[5 * %i + 8] : memref<22xf32>, vector<5xf32>
        %o = loop.load %acc[0] : memref<8xf32, "register">, vector<5xf32>
        %s = arith.addf %o, %a : vector<5xf32>
        loop.store %s, %acc[0] : memref<8xf32, "register">, vector<5xf32>
      }
      %b = loop.load %x[21] : memref<22xf32>
      %p = loop.load %acc[0] : memref<8xf32, "register">
      %t = arith.addf %p, %b : f32
      loop.store %t, %acc[0] : memref<8xf32, "register">
      %r = loop.load %acc[0] : memref<8xf32, "register">, vector<8xf32>
      loop.store %r, %y[0] : memref<8xf32>, vector<8xf32>
      func.return
    }"""
    x, y = normal(22), np.zeros(8, "f")
    run(text, "k", x, y)
    wanted = x[:8].astype(float)
    wanted[:5] += x[8:13].astype(float) + x[13:18]
    wanted[0] += x[21]
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-6)
