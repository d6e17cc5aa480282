"""Any size of a batch by programs of a few; and models whose entries are not alike."""

from __future__ import annotations

import numpy as np
import pytest
from staged_models import Array, by_onnxruntime, counting, parsed

import nn_opt
from nn_opt.staged.batches import PAIRS, chunks_of
from nn_opt.staged.rows import rows_of

NET = """g (float[N,3,4] x) => (float[N,17] y, float[M,4] z) <float[12,5] w = {W}> {
  s = Shape<start=0,end=1>(x)
  rest = Constant<value_ints=[12]>()
  t = Concat<axis=0>(s, rest)
  f = Reshape<allowzero=1>(x, t)
  h = MatMul(f, w)
  p = Softmax(h)
  y = Concat<axis=1>(p, f)
  flat = Constant<value_ints=[-1, 4]>()
  z = Reshape(x, flat)
}""".replace("W", ", ".join(str(k % 7) for k in range(60)))


def noise(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def test_one_kernel_serves_any_batch(monkeypatch: pytest.MonkeyPatch):
    proto = parsed(NET)
    count = counting(monkeypatch)
    model = nn_opt.compile(proto, cache=False, threads=1)
    for size in (3, 5, 1, 20, 0, 3):
        x = noise(size, 3, 4)
        y, z = model(x)
        assert (y.shape, z.shape) == ((size, 17), (3 * size, 4))
        if size:
            for got, expected in zip((y, z), by_onnxruntime(proto, {"x": x}), strict=True):
                np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    assert count() == 3  # for 3, 1 and 8
    served = {s.shapes["x"][0]: s.batches for s in model.specializations}
    assert served == {5: (3, 1), 1: (1,), 20: (8, 3, 1), 0: (), 3: ()}
    out = np.empty((20, 17), np.float32)
    x = noise(20, 3, 4)
    assert model.run({"x": x}, out={"y": out})["y"] is out
    np.testing.assert_array_equal(out, model(x)[0])


TOKEN = """g (float[N,2,3] x) => (float[N,3,3] y) <float[1,1,3] token = {1, 2, 3}> {
  n = Shape<start=0,end=1>(x)
  rest = Constant<value_ints=[1, 3]>()
  sizes = Concat<axis=0>(n, rest)
  tokens = Expand(token, sizes)
  joined = Concat<axis=1>(tokens, x)
  y = Softmax(joined)
}"""


def test_a_batch_of_one_that_is_made_another_way(monkeypatch: pytest.MonkeyPatch):
    """What is expanded for two is there for one: two entries at least, some of them twice."""
    proto = parsed(TOKEN)
    count = counting(monkeypatch)
    model = nn_opt.compile(proto, cache=False, threads=1)
    for size in (1, 3, 7, 1, 2, 9):
        x = noise(size, 2, 3)
        (expected,) = by_onnxruntime(proto, {"x": x})
        np.testing.assert_allclose(model(x), expected, rtol=1e-5, atol=1e-6)
    served = {s.shapes["x"][0]: s.batches for s in model.specializations}
    assert served == {1: (), 3: (), 7: (3, 2), 2: (2,), 9: (8, 2)}
    assert count() == 4  # for 1, 3, 2 and 8


def test_entries_that_lie_between_those_of_others(monkeypatch: pytest.MonkeyPatch):
    """Times before entries, as in recurrences and transformers, become the rows of one matrix."""
    proto = parsed(
        """g (float[N,4,3] x) => (float[N,4,3] y) <float[3,3] w = {W}> {
      t = Transpose<perm=[1, 0, 2]>(x)
      flat = Constant<value_ints=[-1, 3]>()
      rows = Reshape(t, flat)
      product = MatMul(rows, w)
      active = Relu(product)
      sizes = Shape(t)
      apart = Reshape(active, sizes)
      y = Transpose<perm=[1, 0, 2]>(apart)
    }""".replace("W", ", ".join(str(k - 4) for k in range(9)))
    )
    count = counting(monkeypatch)
    model = nn_opt.compile(proto, cache=False, threads=1)
    for size in (2, 3, 11):
        x = noise(size, 4, 3)
        (expected,) = by_onnxruntime(proto, {"x": x})
        np.testing.assert_allclose(model(x), expected, rtol=1e-5, atol=1e-6)
    assert [s.batches for s in model.specializations] == [(), (2, 1), (8, 2, 1)]
    assert count() == 3


def rows_at(text: str, sizes: tuple[int, int]) -> list[int] | None:
    shapes = ({"x": [size, 4, 3]} for size in sizes)
    one, two = (nn_opt.import_model(parsed(text), shapes=given) for given in shapes)
    return rows_of((one, two), sizes, [True])


def test_places_of_entries_are_not_mixed_up():
    """Four places of an entry in one piece, and four in pieces, are not the same places."""
    head = "g (float[N,4,3] x) => (float[M,3] y) { flat = Constant<value_ints=[-1, 3]>()"
    turned = "t = Transpose<perm=[1, 0, 2]>(x) a = Reshape(t, flat) b = Reshape(x, flat)"
    assert rows_at(head + " y = Reshape(x, flat) }", (2, 5)) == [4]
    assert rows_at(head + turned + " y = Add(a, b) }", (2, 5)) is None
    assert rows_at(head + turned + " y = Relu(a) }", (2, 5)) is None


def test_constants_of_each_entry():
    text = """g (float[N,4,3] x) => (float[N,4,3] y) {
      sizes = Shape(x)
      n = Shape<start=0,end=1>(x)
      one = Constant<value_ints=[1]>()
      part = Constant<value_float=0.5>()
      START
      y = Mul(x, f)
    }"""
    same = "r = Constant<value_floats=[1.0, 2.0, 3.0]>() f = Expand(r, sizes)"
    assert rows_at(text.replace("START", same), (2, 5)) == [1]
    other = """zero = Constant<value_int=0>() step = Constant<value_int=1>() s = Squeeze(n)
      c = Range(zero, s, step) d = Cast<to=1>(c)
      all = Constant<value_ints=[-1, 1, 1]>() f = Reshape(d, all)"""
    assert rows_at(text.replace("START", other), (2, 5)) is None


@pytest.mark.parametrize(
    "body",
    [
        "y = ReduceMean<keepdims=1>(x)",
        "y = CumSum(x, zero)",
        "s = Shape<end=1>(x) f = Cast<to=1>(s) y = Mul(x, f)",
        "a = Transpose(x) y = MatMul(x, a)",
        "y = Softmax<axis=0>(x)",
        "y = Concat<axis=0>(x, x)",
        "y = Gather(x, zero)",
    ],
)
def test_entries_that_are_not_alone_take_a_program_for_each_size(
    body: str, monkeypatch: pytest.MonkeyPatch
):
    text = f"g (float[N,2] x) => (float y) <int64 zero = {{0}}> {{ {body} }}"
    proto = parsed(text.replace("float y", "float[a,b] y"))
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    count = counting(monkeypatch)
    model = nn_opt.compile(proto, cache=False, threads=1)
    for size in (2, 4):
        x = noise(size, 2)
        (expected,) = by_onnxruntime(proto, {"x": x})
        np.testing.assert_allclose(model(x), expected, rtol=1e-5, atol=1e-6)
        assert model.specializations[-1].batches == ()
    assert count() == 2


def test_a_choice_by_the_size_is_seen():
    """An If on the size of the batch: what is proved of some sizes says nothing of others."""
    proto = parsed("""g (float[N,2] x) => (float[N,2] y) {
      n = Size(x)
      many = Constant<value_int=20>()
      c = Greater(n, many)
      y = If(c) <
        then_branch = a () => (float[N,2] o) { o = Neg(x) },
        else_branch = b () => (float[N,2] o) { o = Relu(x) }
      >
    }""")
    model = nn_opt.compile(proto, cache=False, threads=1)
    for size in (2, 3, 12):
        x = noise(size, 2)
        expected = -x if size > 10 else np.maximum(x, 0)
        np.testing.assert_array_equal(model(x), expected)
    assert [s.batches for s in model.specializations] == [(), (2, 1), ()]


def test_recurrences_and_what_is_no_batch():
    text = """g (float[N,3] x, float[3] b) => (float[N,3] y) {
      y = Add(x, b)
    }"""
    modules = [nn_opt.import_model(parsed(text), shapes={"x": [size, 3]}) for size in (1, 6)]
    assert rows_of((modules[0], modules[1]), (1, 6), [True, False]) == [1]
    scan = """g (float[N,2] h, float[5,2] x) => (float[N,2] y, float[N,5,2] z) {
      y, t = Scan<num_scan_inputs=1, body = b (float[N,2] a, float[2] u) => (float c, float d) {
        c = Add(a, u)
        d = Tanh(c)
      }>(h, x)
      z = Transpose<perm=[1, 0, 2]>(t)
    }"""
    modules = [nn_opt.import_model(parsed(scan), shapes={"h": [n, 2]}) for n in (2, 6)]
    assert rows_of((modules[0], modules[1]), (2, 6), [True, False]) == [1, 1]


def test_deterministic_results_take_a_program_for_each_size(monkeypatch: pytest.MonkeyPatch):
    count = counting(monkeypatch)
    proto = parsed("g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }")
    model = nn_opt.compile(proto, cache=False, deterministic=True)
    for size in (2, 3):
        assert model(noise(size, 2)).shape == (size, 2)
    assert count() == 2


def test_a_first_batch_of_nothing():
    model = nn_opt.compile(parsed(NET), cache=False, threads=1)
    for size in (0, 2, 0):
        y, z = model(noise(size, 3, 4))
        assert (y.shape, z.shape) == ((size, 17), (3 * size, 4))


def test_chunks():
    assert chunks_of(30, 12) == [12, 12, 1, 1, 1, 1, 1, 1]
    assert chunks_of(30, 3) == [8, 8, 8, 3, 3]
    assert chunks_of(7, 1) == [1] * 7
    assert chunks_of(0, 4) == []
    assert chunks_of(7, 3, PAIRS) == [3, 3, 2]
    assert chunks_of(1, 3, PAIRS) == []
