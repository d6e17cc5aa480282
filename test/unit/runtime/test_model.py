"""`Model`: what it accepts, what it says to what it does not accept, and several callers."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tiny_models import F32, ScaleBuilder

from nn_opt.runtime.loader import RuntimeFault
from nn_opt.runtime.manifest import Manifest, TensorInfo
from nn_opt.runtime.model import Model


def make(*shapes, builder=None) -> Model:
    inputs = tuple(TensorInfo(f"x{k}" if k else "x", s, F32) for k, s in enumerate(shapes))
    outputs = (TensorInfo("y", shapes[0], F32),)
    return Model(Manifest(inputs, outputs), builder or ScaleBuilder(), threads=2)


@pytest.fixture
def model() -> Model:
    return make((2, 3))


X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = 2 * X.astype(np.float64) + 1


def test_by_position_and_by_name(model):
    np.testing.assert_array_equal(model(X), Y)
    results = model.run({"x": X})
    assert list(results) == ["y"]
    np.testing.assert_array_equal(results["y"], Y)


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(X),
        np.repeat(X, 2, axis=1)[:, ::2],
        X[::-1][::-1],
        np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3),
        X.tolist(),
    ],
    ids=["column-major", "strided", "reversed", "unaligned", "lists"],
)
def test_any_layout_of_the_right_values(model, array):
    np.testing.assert_array_equal(model(array), Y)


def test_read_only_and_broadcast_inputs(model):
    row = np.broadcast_to(np.float32([1, 2, 3]), (2, 3))
    np.testing.assert_array_equal(model(row), [[3, 5, 7]] * 2)


@pytest.mark.parametrize(
    ("inputs", "error", "text"),
    [
        ({}, ValueError, r"missing input x: float32\[2, 3\]"),
        ({"x": X, "z": X}, ValueError, "unknown input 'z'; the inputs are 'x'"),
        ({"x": X.astype(np.float64)}, TypeError, "'x' has dtype float64, expected float32"),
        ({"x": X.astype(">f4")}, TypeError, "float32 in foreign byte order, expected float32"),
        ({"x": X.T}, ValueError, r"'x' has shape \[3, 2\], expected \[2, 3\]"),
        ({"x": X[0]}, ValueError, r"'x' has shape \[3\], expected \[2, 3\]"),
    ],
)
def test_wrong_inputs(model, inputs, error, text):
    with pytest.raises(error, match=text):
        model.run(inputs)


def test_wrong_count(model):
    with pytest.raises(TypeError, match=r"got 2 inputs, expected 1: x: float32\[2, 3\]"):
        model(X, X)


def test_outputs_of_the_caller(model):
    out = np.empty((2, 3), np.float32)
    assert model.run({"x": X}, out={"y": out})["y"] is out
    np.testing.assert_array_equal(out, Y)
    strided = np.zeros((2, 6), np.float32)
    model.run({"x": X}, out={"y": strided[:, ::2]})
    np.testing.assert_array_equal(strided[:, ::2], Y)
    assert not strided[:, 1::2].any()


def test_an_output_may_be_an_input(model):
    both = X.copy()
    model.run({"x": both}, out={"y": both})
    np.testing.assert_array_equal(both, Y)


@pytest.mark.parametrize(
    ("out", "error", "text"),
    [
        ({"z": X}, ValueError, "unknown output 'z'; the outputs are 'y'"),
        ({"y": X.astype(np.float64)}, TypeError, "output 'y' has dtype float64, expected float32"),
        ({"y": X.T.copy()}, ValueError, r"output 'y' has shape \[3, 2\], expected \[2, 3\]"),
        ({"y": [1.0]}, TypeError, "output 'y' has dtype list, expected float32"),
        ({"y": np.broadcast_to(np.float32(0), (2, 3))}, ValueError, "output 'y' is read-only"),
    ],
)
def test_wrong_outputs(model, out, error, text):
    with pytest.raises(error, match=text):
        model.run({"x": X}, out=out)


def test_scalars_and_empty_arrays():
    assert make(())(np.float32(3)).shape == ()
    assert make(())(3.0) == 7
    assert make((0, 3))(np.empty((0, 3), np.float32)).shape == (0, 3)


def test_each_set_of_sizes_is_compiled_once():
    builder = ScaleBuilder()
    model = make(("N", 3), builder=builder)
    with pytest.raises(
        ValueError, match=r"sizes are not known before the first call: x: float32\[N, 3\]"
    ):
        _ = model.memory
    for rows in (2, 5, 2):
        x = np.ones((rows, 3), np.float32)
        np.testing.assert_array_equal(model(x), np.full((rows, 3), 3.0))
        assert model.memory.arena_bytes == 4 * 3 * rows
    assert builder.built == [((2, 3),), ((5, 3),)]
    assert model.ir("graph") == "graph ((2, 3),)"
    with pytest.raises(ValueError, match=r"'x' has shape \[2, 4\], expected \[N, 3\]"):
        model(np.ones((2, 4), np.float32))


def test_what_is_known_is_of_the_latest_call():
    model = make(("N", 3))
    arrays = {rows: np.ones((rows, 3), np.float32) for rows in (2, 5)}
    model(arrays[2])
    model.prepare((5, 3))
    assert model.memory.arena_bytes == 60
    for rows in (2, 2, 5, 2):
        assert model(arrays[rows]).shape == (rows, 3)
        assert model.memory.arena_bytes == 12 * rows
    model.profile({"x": arrays[5]}, repeat=1)
    assert model.ir("graph") == "graph ((5, 3),)"
    assert model(arrays[5].tolist()).shape == (5, 3)
    assert model(arrays[2]).shape == (2, 3)
    for wrong, error in ((arrays[2][:, :2], ValueError), (arrays[2].astype(int), TypeError)):
        with pytest.raises(error, match="input 'x' has"):
            model(wrong)


def test_unknown_rank():
    model = make(None)
    assert str(model.inputs[0]) == "x: float32[...]"
    assert model(np.ones((1, 2, 3), np.float32)).shape == (1, 2, 3)


def test_a_named_size_is_one_size():
    model = make(("N", 3), (4, "N"))
    arrays = [np.ones((2, 3), np.float32), np.ones((4, 5), np.float32)]
    with pytest.raises(
        ValueError, match="size 'N' is 5 at axis 1 of input 'x1', but 2 at axis 0 of input 'x'"
    ):
        model(*arrays)


def test_several_threads_use_one_model():
    builder = ScaleBuilder()
    model = make(("N",), builder=builder)
    wrong: list[int] = []

    def call(size: int) -> None:
        x = np.full(size, size, np.float32)
        for _ in range(50):
            if not np.array_equal(model(x), 2 * x + 1):
                wrong.append(size)

    callers = [threading.Thread(target=call, args=(200 + k % 4,)) for k in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=60)
    assert not wrong
    assert len(builder.built) == 4


def test_threads_of_a_call(model):
    np.testing.assert_array_equal(model.run({"x": X}, threads=5)["y"], Y)
    with pytest.raises(RuntimeFault, match="threads is 0"):
        model.run({"x": X}, threads=0)


class OnlyDlpack:
    """An array of another library that offers no more than the exchange protocol."""

    def __dlpack__(self, **options):
        return X.copy().__dlpack__(**options)

    def __dlpack_device__(self):
        return X.__dlpack_device__()


def test_arrays_of_other_libraries(model):
    np.testing.assert_array_equal(model(OnlyDlpack()), Y)


def test_text_of_a_model(model):
    assert repr(model) == "Model(x: float32[2, 3] -> y: float32[2, 3])"


def test_memory_of_a_static_model(model):
    assert (model.memory.arena_bytes, model.memory.peak_bytes) == (24, 88)
