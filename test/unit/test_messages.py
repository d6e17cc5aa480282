"""Messages between processes come out as they went in."""

import io

import ml_dtypes
import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from nn_opt.messages import receive, send, send_bytes, send_fault

ARRAYS = {
    "b": np.array([True, False, True]),
    "w": np.arange(12, dtype=np.float32).reshape(3, 4).T,
    "h": np.array([[1.5, -2]], ml_dtypes.bfloat16),
    "none": np.zeros((0, 3), np.int64),
    "one": np.array(7, np.uint8),
}


def there_and_back(write) -> tuple:
    stream = io.BytesIO()
    write(stream)
    stream.seek(0)
    return receive(stream)


def test_values_and_arrays():
    value, arrays = there_and_back(lambda stream: send(stream, ["lower", "text é"], ARRAYS))
    assert value == ["lower", "text é"]
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert not arrays[name].flags.writeable
        np.testing.assert_array_equal(arrays[name], array)


def test_bytes():
    assert there_and_back(lambda stream: send_bytes(stream, b"\x7fELF")) == (b"\x7fELF", {})


def test_faults_are_raised():
    with pytest.raises(VerifyException, match=r"^x\.mlir:1:2: error: no$"):
        there_and_back(lambda stream: send_fault(stream, VerifyException("x.mlir:1:2: error: no")))


@pytest.mark.parametrize("kept", [0, 5, 17, 60])
def test_part_of_a_message_is_none(kept: int):
    stream = io.BytesIO()
    send(stream, ["lower", "text"], ARRAYS)
    with pytest.raises(EOFError):
        receive(io.BytesIO(stream.getvalue()[:kept]))
