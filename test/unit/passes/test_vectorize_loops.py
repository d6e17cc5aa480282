import numpy as np
import pytest
from tensor_kernels import KERNELS, apply, assert_results, mark_vector_loops, parse
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import VectorType
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.tensor_to_loop import ConvertTensorToLoopPass
from nn_opt.dialects import loop
from nn_opt.passes.lower_blocks import LowerBlocksPass
from nn_opt.passes.vectorize_loops import VectorizeLoopsPass
from nn_opt.reference.running import make_interpreter, run


@pytest.mark.parametrize("name", KERNELS)
def test_lanes_compute_what_iterations_did(name: str):
    kernel = KERNELS[name]
    inputs = kernel.inputs()
    module = apply(kernel.module(), ConvertTensorToLoopPass())
    marked = mark_vector_loops(module)
    apply(module, LowerBlocksPass())
    before = run(module, inputs)
    after = run(apply(module, VectorizeLoopsPass()), inputs)
    left = [op for op in ops(module, loop.ForOp) if op.how is loop.ForKind.VECTOR]
    assert not left
    assert marked or name in ("scan", "swap", "argmax", "depthwise")
    assert_results(after, before)
    assert_results(after, kernel.expected(inputs))


def ops(module, kind: type) -> list:
    return [op for op in module.walk() if isinstance(op, kind)]


def vectorized(body: str, arguments: str = "%x: memref<8x8xf32>, %y: memref<8x8xf32>"):
    text = f"func.func @main({arguments}) {{\n{body}\nfunc.return\n}}"
    return apply(parse(text), VectorizeLoopsPass())


def call(module, *buffers):
    make_interpreter(module).call_op("main", buffers)


X = np.arange(64, dtype=np.float32).reshape(8, 8)


def copy(source: str, target: str = "%i, 0") -> str:
    return f"""
    loop.for %i = 0 to 8 vector {{
      %a = loop.load %x[{source}] : memref<8x8xf32>
      loop.store %a, %y[{target}] : memref<8x8xf32>
    }}"""


@pytest.mark.parametrize(
    ("source", "step"),
    [("0, %i", 1), ("0, 7 - %i", -1), ("%i, 3", 8), ("%i, %i", 9), ("%i, 7 - %i", 7)],
)
def test_lanes_a_fixed_distance_apart_are_one_load(source: str, step: int):
    module = vectorized(copy(source))
    (load,) = ops(module, loop.LoadOp)
    assert isinstance(load.accessed, VectorType)
    assert load.step == step
    y = np.zeros_like(X)
    call(module, X, y)
    i = np.arange(8)
    wanted = {1: X[0], -1: X[0, ::-1], 8: X[:, 3], 9: X[i, i], 7: X[i, 7 - i]}
    np.testing.assert_array_equal(y[:, 0], wanted[step])


def test_a_load_of_one_place_stays_scalar():
    module = vectorized(copy("2, 3"))
    (load,) = ops(module, loop.LoadOp)
    assert not isinstance(load.accessed, VectorType)
    assert len(ops(module, vector.BroadcastOp)) == 1


def test_lanes_at_uneven_distances_are_gathered():
    module = vectorized(copy("%i mod 3, %i floordiv 2"))
    assert len(ops(module, loop.GatherOp)) == 1
    y = np.zeros_like(X)
    call(module, X, y)
    np.testing.assert_array_equal(y[:, 0], X[np.arange(8) % 3, np.arange(8) // 2])


@pytest.mark.parametrize(
    ("source", "gathers"),
    [("0, %i - 1", 0), ("0, 2 * %i - 1", 0), ("%i - 2, 0", 0), ("%i - 1, %i", 1)],
)
def test_lanes_outside_take_the_default(source: str, gathers: int):
    module = vectorized(copy(source).replace("] : memref", "] or 3.0 : memref", 1))
    assert len(ops(module, loop.GatherOp)) == gathers
    y = np.zeros_like(X)
    call(module, X, y)
    padded = np.pad(X, 16, constant_values=3)
    points = [[eval(p.replace("%i", str(i))) + 16 for p in source.split(",")] for i in range(8)]
    np.testing.assert_array_equal(y[:, 0], [padded[tuple(point)] for point in points])


def reduction(combine: str, start: str = "0.0") -> str:
    return f"""
    loop.for %r = 0 to 8 {{
      loop.for %i = 0 to 8 vector {{
        loop.block "b" (%a = %r : par 8, %b = %i : reduce 8) {{
          %v = loop.load %x[%a, %b] : memref<8x8xf32>
          %o = loop.load %y[%a, 0] : memref<8x8xf32>
          %n = {combine} : f32
          loop.store %n, %y[%a, 0] : memref<8x8xf32>
        }} init {{
          %z = arith.constant {start} : f32
          loop.store %z, %y[%a, 0] : memref<8x8xf32>
        }}
      }}
    }}"""


def reduced(combine: str, start: str = "0.0"):
    text = f"func.func @main(%x: memref<8x8xf32>, %y: memref<8x8xf32>) {{{reduction(combine, start)}\nfunc.return\n}}"  # noqa: E501
    return apply(parse(text), LowerBlocksPass(), VectorizeLoopsPass())


@pytest.mark.parametrize(
    ("combine", "start", "wanted"),
    [
        ("arith.addf %o, %v", "0.0", lambda x: x.sum(1)),
        ("arith.addf %v, %o", "0.0", lambda x: x.sum(1)),
        ("math.fma %v, %v, %o", "0.0", lambda x: (x * x).sum(1)),
        ("arith.mulf %o, %v", "1.0", lambda x: x.prod(1)),
        ("arith.maximumf %o, %v", "-1.0e30", lambda x: x.max(1)),
        ("arith.minimumf %o, %v", "1.0e30", lambda x: x.min(1)),
    ],
)
def test_lanes_of_one_place_are_combined(combine: str, start: str, wanted):
    module = reduced(combine, start)
    assert len(ops(module, vector.ReductionOp)) == 1
    assert not ops(module, loop.IfOp)  # the init runs once, before all lanes
    x = np.random.default_rng(5).standard_normal((8, 8)).astype(np.float32)
    y = np.zeros_like(x)
    call(module, x, y)
    np.testing.assert_allclose(y[:, 0], wanted(x.astype(np.float64)), rtol=1e-5, atol=1e-5)


def test_nan_passes_through_a_maximum():
    module = reduced("arith.maximumf %o, %v", "-1.0e30")
    x, y = X.copy(), np.zeros_like(X)
    x[2, 5] = np.nan
    call(module, x, y)
    assert np.isnan(y[:, 0]).tolist() == [row == 2 for row in range(8)]


def test_an_index_on_lanes_is_an_i64():
    body = """
    loop.for %i = 0 to 8 vector {
      %k = loop.apply 2 * %i + 1
      %c = arith.index_cast %k : index to i32
      %w = arith.index_cast %i : index to i64
      %f = arith.sitofp %c : i32 to f32
      %g = arith.sitofp %w : i64 to f32
      %s = arith.addf %f, %g : f32
      loop.store %s, %y[0, %i] : memref<8x8xf32>
    }"""
    module = vectorized(body)
    assert len(ops(module, arith.TruncIOp)) == 1
    y = np.zeros_like(X)
    call(module, X, y)
    np.testing.assert_array_equal(y[0], 3 * np.arange(8) + 1)


def test_loops_inside_stay_loops():
    body = """
    loop.for %i = 0 to 8 vector {
      loop.for %k = 0 to 8 {
        %a = loop.load %x[%k, %i] : memref<8x8xf32>
        %o = loop.load %y[0, %i] : memref<8x8xf32>
        %s = arith.addf %o, %a : f32
        loop.store %s, %y[0, %i] : memref<8x8xf32>
      }
    }"""
    module = vectorized(body)
    assert len(ops(module, loop.ForOp)) == 1
    y = np.zeros_like(X)
    call(module, X, y)
    np.testing.assert_array_equal(y[0], X.sum(0))


REFUSED = {
    "too_many": (
        "loop.for %i = 0 to 300 vector {\n}",
        "cannot vectorize %i: has 300 iterations, at most 256 can be lanes",
    ),
    "guard": (
        """loop.for %i = 0 to 8 vector {
          loop.if (5 - %i >= 0) {
            %z = arith.constant 0.0 : f32
            loop.store %z, %y[0, %i] : memref<8x8xf32>
          }
        }""",
        "cannot vectorize %i: loop.if holds on some lanes only",
    ),
    "one_place": (copy("0, %i", "0, 0"), "loop.store of different values goes to one place"),
    "scatter": (copy("0, %i", "%i mod 3, 0"), "goes to places that are not a fixed distance"),
    "recurrence": (
        """loop.for %i = 0 to 8 vector {
          %a = loop.load %y[0, 0] : memref<8x8xf32>
          %b = math.exp %a : f32
          loop.store %b, %y[0, 0] : memref<8x8xf32>
        }""",
        "loop.store of a value that the iteration before it stored",
    ),
    "nested": (
        """loop.for %i = 0 to 8 vector {
          loop.for %j = 0 to 8 vector {
          }
        }""",
        "cannot vectorize %i: loop.for %j inside it is a vector loop too",
    ),
    "copy": (
        "loop.for %i = 0 to 8 vector {\nloop.copy %x to %y : memref<8x8xf32> to memref<8x8xf32>\n}",
        "cannot vectorize %i: loop.copy has no form on vectors",
    ),
    "vectors": (
        """loop.for %i = 0 to 8 vector {
          %a = loop.load %x[%i, 0] : memref<8x8xf32>, vector<8xf32>
        }""",
        "cannot vectorize %i: loop.load is on vectors already",
    ),
    "view": (
        """loop.for %i = 0 to 8 vector {
          %a = loop.view %x offset %i : memref<8x8xf32> to memref<2xf32>
        }""",
        "cannot vectorize %i: loop.view differs from lane to lane",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_vector_form_is_named(name: str):
    body, message = REFUSED[name]
    with pytest.raises(PassFailedException) as caught:
        vectorized(body)
    assert message in str(caught.value)
    assert str(caught.value).startswith("test.mlir:")
