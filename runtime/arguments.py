"""Inputs and outputs against what a model says of them: clear errors, copies only where needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from nn_opt.runtime.manifest import Dim, TensorInfo, shape_text

Array = NDArray[Any]


def named(infos: Sequence[TensorInfo], values: Sequence[object]) -> dict[str, object]:
    """Pair positional values with the inputs' names.

    Raises: TypeError if their number differs.
    """
    if len(values) != len(infos):
        expected = "; ".join(map(str, infos))
        raise TypeError(f"got {len(values)} inputs, expected {len(infos)}: {expected}")
    return {info.name: value for info, value in zip(infos, values, strict=True)}


def ready_inputs(
    infos: Sequence[TensorInfo], shapes: Sequence[tuple[int, ...]], values: Mapping[str, object]
) -> list[Array] | None:
    """Return the inputs in order if they have these shapes and fit as they are, None if not.

    The usual case, in a microsecond or more less than `bind_inputs`.
    """
    if len(values) != len(infos) or len(shapes) != len(infos):
        return None
    arrays: list[Array] = []
    for info, shape in zip(infos, shapes, strict=True):
        array = values.get(info.name)
        if type(array) is not np.ndarray or not _is_ready(info, shape, array):
            return None
        arrays.append(array)
    return arrays


def _is_ready(info: TensorInfo, shape: tuple[int, ...], array: Array) -> bool:
    if array.dtype is not info.dtype or array.shape != shape:
        return False
    flags = array.flags
    return flags.c_contiguous and flags.aligned


def bind_inputs(infos: Sequence[TensorInfo], values: Mapping[str, object]) -> list[Array]:
    """Return the inputs in order, row-major, copied only if they are not so already.

    Raises: ValueError for a missing or unknown name or a wrong shape, TypeError for a wrong dtype.
    """
    if len(values) != len(infos) or any(info.name not in values for info in infos):
        _refuse_names(infos, values)
    arrays = [_input(info, values[info.name]) for info in infos]
    pairs = list(zip(infos, arrays, strict=True))
    if any(info.shape is not None and array.shape != info.shape for info, array in pairs):
        _check_sizes(infos, arrays)
    return arrays


def device_shapes(
    infos: Sequence[TensorInfo], values: Mapping[str, object]
) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of inputs wherever they are, in order; they are not looked into.

    Raises: ValueError for a missing or unknown name or a wrong shape, TypeError for a wrong dtype
    or what is no array.
    """
    if len(values) != len(infos) or any(info.name not in values for info in infos):
        _refuse_names(infos, values)
    arrays: list[Any] = [values[info.name] for info in infos]
    for info, array in zip(infos, arrays, strict=True):
        if not hasattr(array, "shape") or not hasattr(array, "dtype"):
            raise TypeError(f"input {info.name!r} is a {type(array).__name__}, expected an array")
        name = str(array.dtype).rpartition(".")[2]  # torch.float32 is float32
        if name != info.dtype.name:
            raise TypeError(f"input {info.name!r} has dtype {name}, expected {info.dtype.name}")
    _check_sizes(infos, arrays)
    return tuple(tuple(map(int, array.shape)) for array in arrays)


def _refuse_names(infos: Sequence[TensorInfo], values: Mapping[str, object]) -> NoReturn:
    known = {info.name for info in infos}
    unknown = [name for name in values if name not in known]
    if unknown:
        names = ", ".join(repr(info.name) for info in infos)
        raise ValueError(f"unknown input {unknown[0]!r}; the inputs are {names}")
    missing = [str(info) for info in infos if info.name not in values]
    raise ValueError(f"missing input {'; '.join(missing)}")


def _input(info: TensorInfo, value: object) -> Any:
    if info.kind != "tensor":
        return _held(info, value, info.kind)
    array = _as_array(value, info.dtype)
    if array.dtype is not info.dtype and array.dtype != info.dtype:
        raise TypeError(
            f"input {info.name!r} has dtype {array.dtype.name}{_order(array)},"
            f" expected {info.dtype.name}"
        )
    return _row_major(array)


def _held(info: TensorInfo, value: Any, kind: str) -> Any:
    """Return an input that is no tensor of numbers: a list, None, or an array of strings."""
    if kind.startswith("optional "):
        return None if value is None else _held(info, value, kind.removeprefix("optional "))
    if kind.startswith("sequence of "):
        if not isinstance(value, list | tuple):
            name = type(value).__name__
            raise TypeError(f"input {info.name!r} is a {name}, expected a list: {info}")
        inner = kind.removeprefix("sequence of ")
        return [_held(info, item, inner) for item in cast("Sequence[object]", value)]
    if value is None:
        raise TypeError(f"input {info.name!r} is None, expected {info}")
    if kind == "map":
        if not isinstance(value, dict):
            name = type(value).__name__
            raise TypeError(f"input {info.name!r} is a {name}, expected a dictionary: {info}")
        return cast("dict[Any, Any]", value)
    array = np.asarray(value, object if kind == "string" else None)
    return array if kind == "string" else _input(TensorInfo(info.name, None, info.dtype), array)


def _as_array(value: object, dtype: np.dtype[Any]) -> Array:
    """Return a view of anything that has an array's type of its own, else a new array."""
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(cast(Any, value))
    return np.asarray(value, None if hasattr(value, "dtype") else dtype)


def _order(array: Array) -> str:
    return "" if array.dtype.isnative else " in foreign byte order"


def _row_major(array: Array) -> Array:
    flags = array.flags
    if flags.c_contiguous and flags.aligned:
        return array
    return np.array(array, order="C", copy=True)


def _check_sizes(infos: Sequence[TensorInfo], arrays: Sequence[Array]) -> None:
    """Sizes must be the stated ones; a named size is the same wherever the name stands."""
    bound: dict[str, tuple[int, str]] = {}
    for info, array in zip(infos, arrays, strict=True):
        if info.shape is None:
            continue
        if not fits(info.shape, array.shape):
            raise ValueError(
                f"input {info.name!r} has shape {list(array.shape)},"
                f" expected {shape_text(info.shape)}"
            )
        _bind_names(info, array, bound)


def fits(stated: tuple[Dim, ...], actual: tuple[int, ...]) -> bool:
    """Return whether a shape has the stated sizes, names standing for any."""
    return len(stated) == len(actual) and all(
        isinstance(want, str) or want == size for want, size in zip(stated, actual, strict=True)
    )


def _bind_names(info: TensorInfo, array: Array, bound: dict[str, tuple[int, str]]) -> None:
    for axis, (stated, size) in enumerate(zip(info.shape or (), array.shape, strict=True)):
        if not isinstance(stated, str):
            continue
        place = f"axis {axis} of input {info.name!r}"
        first, origin = bound.setdefault(stated, (size, place))
        if size != first:
            raise ValueError(f"size {stated!r} is {size} at {place}, but {first} at {origin}")


def new_outputs(infos: Sequence[TensorInfo]) -> list[Array]:
    """Return an array for each output, its contents undefined."""
    return [np.empty(info.sizes, info.dtype) for info in infos]


def prepare_outputs(
    infos: Sequence[TensorInfo], out: Mapping[str, Array], inputs: Sequence[Array]
) -> list[tuple[Array, Array]]:
    """Return for each output (where the code writes, what the caller gets).

    They are the same array unless the caller's own is not row-major or overlaps an input.

    Raises: ValueError for an unknown name, a wrong shape or a read-only array; TypeError for a
    wrong dtype.
    """
    given = dict(out)
    pairs = [_output(info, given.pop(info.name, None), inputs) for info in infos]
    if given:
        names = ", ".join(repr(info.name) for info in infos)
        raise ValueError(f"unknown output {next(iter(given))!r}; the outputs are {names}")
    return pairs


def _output(info: TensorInfo, array: Array | None, inputs: Sequence[Array]) -> tuple[Array, Array]:
    shape = info.sizes
    if array is None:
        made = np.empty(shape, info.dtype)
        return made, made
    if not hasattr(array, "dtype") or array.dtype != info.dtype:
        got = getattr(array, "dtype", type(array).__name__)
        raise TypeError(f"output {info.name!r} has dtype {got}, expected {info.dtype.name}")
    if array.shape != shape:
        raise ValueError(
            f"output {info.name!r} has shape {list(array.shape)}, expected {list(shape)}"
        )
    if not array.flags.writeable:
        raise ValueError(f"output {info.name!r} is read-only")
    direct = array.flags.c_contiguous and array.flags.aligned
    if direct and not any(np.may_share_memory(array, other) for other in inputs):
        return array, array
    return np.empty(shape, info.dtype), array


def copy_outputs(results: Mapping[str, Any], out: Mapping[str, Array]) -> None:
    """Copy results to the arrays that the caller gave for them.

    Raises: as `prepare_outputs` does.
    """
    for name, array in out.items():
        if name not in results:
            names = ", ".join(map(repr, results))
            raise ValueError(f"unknown output {name!r}; the outputs are {names}")
        made = results[name]
        _, wanted = _output(TensorInfo(name, made.shape, made.dtype), array, [])
        wanted[...] = made
