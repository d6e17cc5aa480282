import time

import numpy as np
import pytest
from tensor_kernels import apply, parse
from xdsl.utils.exceptions import InterpretationError

from nn_opt.conversion.tensor_to_loop import ConvertTensorToLoopPass
from nn_opt.dialects import loop
from nn_opt.reference.independence import Independence
from nn_opt.reference.running import make_interpreter, run

ARGUMENTS = "%x: memref<8x8xf32>, %y: memref<8x8xf32>"
X = np.arange(64, dtype=np.float32).reshape(8, 8)


def module_of(body: str, arguments: str = ARGUMENTS):
    return parse(f"func.func @main({arguments}) {{\n{body}\nfunc.return\n}}")


def call(body: str, *buffers, arguments: str = ARGUMENTS):
    make_interpreter(module_of(body, arguments)).call_op("main", buffers)


def free_loops(body: str) -> list[str]:
    """Return the names of the loops whose iterations the interpreter runs together."""
    nest = next(op for op in module_of(body).walk() if isinstance(op, loop.ForOp))
    return sorted(free.index.name_hint for free in Independence(nest).free)


def test_fresh_buffers_are_full_of_nan():
    body = """
    %t = loop.alloc "t" : memref<8x8xf32>
    loop.copy %t to %y : memref<8x8xf32> to memref<8x8xf32>"""
    y = np.zeros_like(X)
    call(body, X, y)
    assert np.isnan(y).all()


def test_fresh_integers_are_not_zero():
    body = """
    %t = loop.alloc "t" : memref<4xi32>
    loop.copy %t to %y : memref<4xi32> to memref<4xi32>"""
    y = np.zeros(4, np.int32)
    call(body, y, arguments="%y: memref<4xi32>")
    assert y.view(np.uint32).tolist() == [0xABABABAB] * 4


@pytest.mark.parametrize(
    ("source", "reach"),
    [("%i + 1, 0", "[8, 0]"), ("0, %i - 1", "[0, -1]"), ("%i, 7 + %i", "[1, 8]")],
)
def test_an_access_outside_is_located(source: str, reach: str):
    body = f"""
    loop.for %i = 0 to 8 {{
      %a = loop.load %x[{source}] : memref<8x8xf32>
      loop.store %a, %y[%i, 0] : memref<8x8xf32>
    }}"""
    with pytest.raises(InterpretationError) as caught:
        call(body, X, np.zeros_like(X))
    message = f"test.mlir:4:12: error: loop.load: reaches {reach} in a buffer of [8, 8]"
    assert message in str(caught.value)


def test_a_store_outside_is_located():
    body = """
    loop.for %i = 0 to 9 {
      %a = arith.constant 1.0 : f32
      loop.store %a, %y[0, %i] : memref<8x8xf32>
    }"""
    with pytest.raises(InterpretationError, match=r"loop.store: reaches \[0, 8\]"):
        call(body, X, np.zeros_like(X))


def test_a_vector_that_ends_outside_is_located():
    body = """
    %a = loop.load %x[7, 4] : memref<8x8xf32>, vector<8xf32>
    loop.store %a, %y[0, 0] : memref<8x8xf32>, vector<8xf32>"""
    with pytest.raises(InterpretationError, match=r"loop.load: reaches \[7, 4\]"):
        call(body, X, np.zeros_like(X))


def test_lanes_that_a_guard_excludes_may_be_outside():
    body = """
    loop.for %i = 0 to 10 {
      loop.if (7 - %i >= 0) {
        %a = loop.load %x[%i, 0] : memref<8x8xf32>
        loop.store %a, %y[0, %i] : memref<8x8xf32>
      }
    }"""
    y = np.zeros_like(X)
    call(body, X, y)
    np.testing.assert_array_equal(y[0], X[:, 0])


PREFIX_SUM = """
loop.for %i = 0 to 7 {
  loop.for %j = 0 to 8 {
    %a = loop.load %y[%i, %j] : memref<8x8xf32>
    %b = loop.load %x[%i, %j] : memref<8x8xf32>
    %c = arith.addf %a, %b : f32
    loop.store %c, %y[%i + 1, %j] : memref<8x8xf32>
  }
}"""


def test_iterations_that_depend_on_each_other_run_in_order():
    assert free_loops(PREFIX_SUM) == ["j"]
    y = np.zeros_like(X)
    call(PREFIX_SUM, X, y)
    np.testing.assert_array_equal(y[1:], np.cumsum(X[:7], 0))


def test_buffers_that_share_memory_run_in_order():
    body = """
    loop.for %i = 0 to 7 {
      %a = loop.load %x[0, %i] : memref<8x8xf32>
      loop.store %a, %y[0, %i + 1] : memref<8x8xf32>
    }"""
    both = X.copy()
    call(body, both, both)
    np.testing.assert_array_equal(both[0], np.zeros(8))


FREE = {
    "split": ("4 * %a + %b", "0", ["a", "b"], "loop.for %a = 0 to 2 {\nloop.for %b = 0 to 4"),
    "one_place": ("0", "0", [], "loop.for %a = 0 to 8"),
    "far_enough": ("4 * %a", "%b", ["a", "b"], "loop.for %b = 0 to 4 {\nloop.for %a = 0 to 2"),
    "fused": ("%a floordiv 8", "%a mod 8", ["a"], "loop.for %a = 0 to 64"),
    "too_near": ("2 * %a + %b", "0", ["b"], "loop.for %a = 0 to 2 {\nloop.for %b = 0 to 4"),
    "around": ("2 * %a + %b", "0", ["a"], "loop.for %b = 0 to 4 {\nloop.for %a = 0 to 2"),
    "aliased_mod": ("%a mod 8", "0", [], "loop.for %a = 0 to 16"),
}


@pytest.mark.parametrize("name", FREE)
def test_order_is_free_where_places_differ(name: str):
    row, column, free, head = FREE[name]
    depth = head.count("loop.for")
    body = f"""{head} {{
      %a1 = loop.load %y[{row}, {column}] : memref<8x8xf32>
      %b1 = arith.addf %a1, %a1 : f32
      loop.store %b1, %y[{row}, {column}] : memref<8x8xf32>
    {"}" * depth}"""
    assert free_loops(body) == free


def test_a_buffer_of_each_iteration_is_private():
    body = """
    loop.for %i = 0 to 8 parallel {
      %t = loop.alloc "t" : memref<2xf32, "register">
      loop.for %k = 0 to 2 unroll {
        %a = loop.load %x[%i, %k] : memref<8x8xf32>
        loop.store %a, %t[%k] : memref<2xf32, "register">
      }
      loop.for %r = 0 to 3 {
        loop.for %k = 0 to 2 unroll {
          %a = loop.load %t[%k] : memref<2xf32, "register">
          %b = loop.load %x[%i, %r + 2] : memref<8x8xf32>
          %c = arith.addf %a, %b : f32
          loop.store %c, %t[%k] : memref<2xf32, "register">
        }
      }
      loop.for %k = 0 to 2 {
        %a = loop.load %t[1 - %k] : memref<2xf32, "register">
        loop.store %a, %y[%i, %k] : memref<8x8xf32>
      }
    }"""
    nest = next(op for op in module_of(body).walk() if isinstance(op, loop.ForOp))
    free = [op.index.name_hint for op in Independence(nest).free]
    assert sorted(free) == ["i", "k", "k_1", "k_2"] or "i" in free
    assert "r" not in free
    y = np.zeros_like(X)
    call(body, X, y)
    total = X[:, 2:5].sum(1)
    np.testing.assert_array_equal(y[:, 0], X[:, 1] + total)
    np.testing.assert_array_equal(y[:, 1], X[:, 0] + total)


def test_views_are_parts_of_bytes():
    body = """
    %arena = loop.arena : memref<64xi8>
    %t = loop.view %arena offset 32 : memref<64xi8> to memref<8xf32>
    loop.for %i = 0 to 8 {
      %a = loop.load %x[%i, %i] : memref<8x8xf32>
      loop.store %a, %t[%i] : memref<8xf32>
    }
    loop.for %j = 0 to 2 {
      %u = loop.view %t offset 4 * %j : memref<8xf32> to memref<2x2xf32>
      loop.for %i = 0 to 2 {
        %a = loop.load %u[%i, 1] : memref<2x2xf32>
        loop.store %a, %y[%j, %i] : memref<8x8xf32>
      }
    }"""
    y = np.zeros_like(X)
    call(body, X, y)
    diagonal = X[np.arange(8), np.arange(8)]
    np.testing.assert_array_equal(y[:2, :2], diagonal.reshape(2, 2, 2)[:, :, 1])


def test_a_view_beyond_its_buffer_is_located():
    body = """
    loop.for %j = 0 to 3 {
      %u = loop.view %x offset 32 * %j : memref<8x8xf32> to memref<4x8xf32>
      %v = loop.view %y offset 32 : memref<8x8xf32> to memref<4x8xf32>
      loop.copy %u to %v : memref<4x8xf32> to memref<4x8xf32>
    }"""
    with pytest.raises(InterpretationError, match=r"loop.view: starts at 64"):
        call(body, X, np.zeros_like(X))


def test_bools_take_a_byte():
    body = """
    loop.for %i = 0 to 4 {
      %a = loop.load %x[%i] or true : memref<3xi1>
      loop.store %a, %y[%i] : memref<4xi1>
    }"""
    x, y = np.array([True, False, True]), np.zeros(4, bool)
    call(body, x, y, arguments="%x: memref<3xi1>, %y: memref<4xi1>")
    assert y.tolist() == [True, False, True, True]


def test_a_convolution_of_a_network_takes_a_second():
    text = """
    func.func @main(%x: tensor<1x32x28x28xf32>, %w: tensor<32x32x3x3xf32>) -> tensor<1x32x28x28xf32> {
      %c = tensor.compute "conv" (%n: 1, %f: 32, %p: 28, %q: 28) reduce fast add (%c: 32, %r: 3, %s: 3) : tensor<1x32x28x28xf32> {
        %a = tensor.read %x[%n, %c, %p + %r - 1, %q + %s - 1] or 0.0 : tensor<1x32x28x28xf32>
        %k = tensor.read %w[%f, %c, %r, %s] : tensor<32x32x3x3xf32>
        %m = arith.mulf %a, %k : f32
        tensor.yield %m : f32
      }
      func.return %c : tensor<1x32x28x28xf32>
    }"""  # noqa: E501
    module = apply(parse(text), ConvertTensorToLoopPass())
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 32, 28, 28)).astype(np.float32)
    w = rng.standard_normal((32, 32, 3, 3)).astype(np.float32)
    start = time.process_time()
    (y,) = run(module, [x, w])
    assert time.process_time() - start < 5  # 0.3 s on the machine it was written on
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    wanted = np.einsum("ncpqrs,fcrs->nfpq", windows, w.astype(np.float64))
    np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-4)
