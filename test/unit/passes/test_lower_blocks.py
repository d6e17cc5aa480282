import numpy as np
import pytest
from tensor_kernels import KERNELS, apply, assert_results, parse
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir.affine import AffineExpr, AffineMap

from nn_opt.conversion.tensor_to_loop import ConvertTensorToLoopPass
from nn_opt.dialects import loop
from nn_opt.passes.lower_blocks import LowerBlocksPass
from nn_opt.reference.running import make_interpreter, run


@pytest.mark.parametrize("name", KERNELS)
def test_nothing_changes_but_the_words(name: str):
    kernel = KERNELS[name]
    inputs = kernel.inputs()
    module = apply(kernel.module(), ConvertTensorToLoopPass())
    before = run(module, inputs)
    after = run(apply(module, LowerBlocksPass()), inputs)
    assert not ops(module, loop.BlockOp)
    for have, want in zip(after, before, strict=True):
        np.testing.assert_array_equal(have, want)
    assert_results(after, kernel.expected(inputs))


def ops(module, kind: type) -> list:
    return [op for op in module.walk() if isinstance(op, kind)]


def lowered(body: str, arguments: str = "%x: memref<10xf32>, %y: memref<10xf32>"):
    text = f"func.func @main({arguments}) {{\n{body}\nfunc.return\n}}"
    return apply(parse(text), LowerBlocksPass())


TAIL = """
loop.for %i = 0 to 3 {
  loop.for %j = 0 to 4 {
    loop.block "copy" (%k = 4 * %i + %j : par 10) where (9 - 4 * %i - %j >= 0) {
      %a = loop.load %x[%k] : memref<10xf32>
      %b = loop.load %x[%k + 1] or 5.0 : memref<10xf32>
      %c = loop.load %x[9 - %k] or 5.0 : memref<10xf32>
      %d = arith.addf %a, %b : f32
      %e = arith.addf %d, %c : f32
      loop.store %e, %y[%k] : memref<10xf32>
    }
  }
}"""


def test_a_tail_is_guarded_and_its_loads_know_it():
    module = lowered(TAIL)
    assert len(ops(module, loop.IfOp)) == 1
    assert [op.default is not None for op in ops(module, loop.LoadOp)] == [False, True, False]
    x, y = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    make_interpreter(module).call_op("main", (x, y))
    np.testing.assert_array_equal(y, x + np.append(x[1:], 5) + x[::-1])


def test_a_condition_that_always_holds_goes():
    body = TAIL.replace("9 - 4 * %i - %j", "11 - 4 * %i - %j").replace("10", "12")
    module = lowered(body, "%x: memref<12xf32>, %y: memref<12xf32>")
    assert not ops(module, loop.IfOp)


def test_a_block_that_never_runs_goes_with_its_loops():
    module = lowered(TAIL.replace("9 - 4 * %i", "-1 - 4 * %i"))
    assert not ops(module, loop.ForOp)


def test_conditions_leave_the_loops_they_do_not_need():
    body = """
    loop.for %i = 0 to 3 {
      loop.for %j = 0 to 4 {
        loop.block "b" (%k = %j : par 4) where (1 - %i >= 0, %i + %j - 1 >= 0) {
          %a = loop.load %x[%k] : memref<10xf32>
          loop.store %a, %y[%k] : memref<10xf32>
        }
      }
    }"""
    outer, inner = ops(lowered(body), loop.IfOp)
    assert outer.parent_op().index.name_hint == "i"
    assert inner.parent_op().index.name_hint == "j"


def test_loops_of_one_trip_become_zero():
    body = """
    loop.for %i = 0 to 1 parallel {
      loop.for %j = 0 to 2 {
        loop.block "b" (%k = 2 * %i + %j : par 2) {
          %a = loop.load %x[%k + 3] : memref<10xf32>
          %f = arith.index_cast %k : index to i32
          %g = arith.sitofp %f : i32 to f32
          %b = arith.addf %a, %g : f32
          loop.store %b, %y[%k] : memref<10xf32>
        }
      }
    }"""
    module = lowered(body)
    (nest,) = ops(module, loop.ForOp)
    assert nest.index.name_hint == "j"
    x, y = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    make_interpreter(module).call_op("main", (x, y))
    np.testing.assert_array_equal(y[:2], [3, 5])


def test_an_axis_that_is_computed_with_becomes_a_value():
    body = """
    loop.for %i = 0 to 3 {
      loop.for %j = 0 to 2 {
        loop.block "b" (%k = 2 * %i + %j : par 6) {
          %f = arith.index_cast %k : index to i32
          %g = arith.sitofp %f : i32 to f32
          loop.store %g, %y[%k] : memref<10xf32>
        }
      }
    }"""
    module = lowered(body)
    assert len(ops(module, loop.ApplyOp)) == 1
    y = np.zeros(10, np.float32)
    make_interpreter(module).call_op("main", (y, y))
    np.testing.assert_array_equal(y, [0, 1, 2, 3, 4, 5, 0, 0, 0, 0])


def test_fused_and_split_axes_fold():
    body = """
    loop.for %f = 0 to 6 {
      loop.for %j = 0 to 4 {
        loop.block "b" (%a = %f floordiv 2 : par 3, %b = 4 * (%f mod 2) + %j : par 8) {
          %v = loop.load %x[(%a * 8 + %b) floordiv 8, (%a * 8 + %b) mod 8] or 0.0 : memref<3x8xf32>
          loop.store %v, %y[%a, %b] : memref<3x8xf32>
        }
      }
    }"""
    module = lowered(body, "%x: memref<3x8xf32>, %y: memref<3x8xf32>")
    (load,) = ops(module, loop.LoadOp)
    assert load.default is None
    x, y = np.arange(24, dtype=np.float32).reshape(3, 8), np.zeros((3, 8), np.float32)
    make_interpreter(module).call_op("main", (x, y))
    np.testing.assert_array_equal(y, x)


def test_init_runs_once_a_sum():
    body = """
    loop.for %ro = 0 to 2 {
      loop.for %i = 0 to 4 {
        loop.for %ri = 0 to 3 {
          loop.block "sum" (%k = %i : par 4, %r = 3 * %ro + %ri : reduce 6) {
            %a = loop.load %x[%k + %r] : memref<10xf32>
            %b = loop.load %y[%k] : memref<10xf32>
            %c = arith.addf %a, %b : f32
            loop.store %c, %y[%k] : memref<10xf32>
          } init {
            %z = arith.constant 0.0 : f32
            loop.store %z, %y[%k] : memref<10xf32>
          }
        }
      }
    }"""
    module = lowered(body)
    x, y = np.arange(10, dtype=np.float32), np.full(10, np.nan, np.float32)
    make_interpreter(module).call_op("main", (x, y))
    np.testing.assert_array_equal(y[:4], [15, 21, 27, 33])


def test_an_access_keeps_its_buffer_when_its_map_names_an_index_that_it_does_not_use():
    module = parse("""func.func @main(%x: memref<10xf32>, %y: memref<10xf32>) {
  loop.for %i = 0 to 2 {
    loop.for %j = 0 to 10 {
      %a = loop.load %x[%j] : memref<10xf32>
      loop.store %a, %y[%j] : memref<10xf32>
    }
  }
  func.return
}""")
    (load,), (outer, inner) = ops(module, loop.LoadOp), ops(module, loop.ForOp)
    load.operands = [load.memref, inner.index, outer.index]
    load.properties["map"] = AffineMapAttr(AffineMap(2, 0, (AffineExpr.dimension(0),)))
    for _ in range(2):
        apply(module, LowerBlocksPass())
        assert list(load.operands) == [load.memref, inner.index]
        assert load.properties["map"].data.num_dims == 1
