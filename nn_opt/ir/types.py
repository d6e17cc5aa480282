"""Element types, shapes and their NumPy counterparts, asked for all over the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerType,
    MemRefType,
    Signedness,
    StringAttr,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, SSAValue

from nn_opt.ir.memory import remembered

if TYPE_CHECKING:
    import numpy as np

UNSIGNED = {bits: IntegerType(bits, Signedness.UNSIGNED) for bits in (2, 4, 8, 16, 32, 64)}


@cache
def _is_value(kind: type[Any]) -> bool:
    return issubclass(kind, SSAValue)


def type_of(value: SSAValue | Attribute) -> Attribute:
    """Return the type of a value, or the type itself."""
    return cast(SSAValue, value).type if _is_value(type(value)) else cast(Attribute, value)


def shape_of(value: SSAValue | Attribute) -> tuple[int, ...]:
    """Return the shape of a tensor, memref or vector; -1 stands for an unknown size."""
    return _shape(type_of(value))


@remembered
def _shape(shaped: Attribute) -> tuple[int, ...]:
    assert isinstance(shaped, TensorType | MemRefType | VectorType), f"no shape: {shaped}"
    shape = shaped.get_shape()
    if DYNAMIC_INDEX in shape:
        return tuple(-1 if size == DYNAMIC_INDEX else size for size in shape)
    return shape


def element_type(value: SSAValue | Attribute) -> Attribute:
    """Return the element type of a shaped type, or the type itself if it is a scalar."""
    return _element(type_of(value))


@remembered
def _element(maybe_shaped: Attribute) -> Attribute:
    if isinstance(maybe_shaped, TensorType | MemRefType | VectorType):
        return cast(Attribute, maybe_shaped.get_element_type())
    return maybe_shaped


def is_static(value: SSAValue | Attribute) -> bool:
    """Return whether every size is known."""
    return -1 not in shape_of(value)


def numpy_dtype(element: Attribute) -> np.dtype[Any]:
    """Return the NumPy dtype of an element type; KeyError for a type without one."""
    from nn_opt.ir.dtypes import DTYPES

    return DTYPES[element]


def mlir_type(dtype: np.dtype[Any] | type[Any]) -> Attribute:
    """Return the element type of a NumPy dtype; KeyError for a dtype without one."""
    import numpy as np

    from nn_opt.ir.dtypes import MLIR_TYPES

    return MLIR_TYPES[np.dtype(dtype)]


@lru_cache(maxsize=4096)
def _tensor_type(shape: tuple[int, ...], element: Attribute) -> TensorType[Attribute]:
    return TensorType(element, [DYNAMIC_INDEX if size == -1 else size for size in shape])


def tensor_type(shape: Sequence[int], element: Attribute) -> TensorType[Attribute]:
    """Return `tensor<shape x element>`; cached, since making a type costs 10 us."""
    return _tensor_type(tuple(shape), element)


@lru_cache(maxsize=4096)
def _memref_type(
    shape: tuple[int, ...], element: Attribute, space: str | None
) -> MemRefType[Attribute]:
    if space is None:
        return MemRefType(element, shape)
    return MemRefType(element, shape, memory_space=StringAttr(space))


def memref_type(
    shape: Sequence[int], element: Attribute, space: str | None = None
) -> MemRefType[Attribute]:
    """Return `memref<shape x element, "space">`, row-major; no space means global memory."""
    return _memref_type(tuple(shape), element, space)


@lru_cache(maxsize=256)
def vector_type(lanes: int, element: Attribute) -> VectorType[Attribute]:
    """Return `vector<lanes x element>`."""
    return VectorType(element, [lanes])


def is_vector(type_: Attribute) -> bool:
    """Return whether a type is a vector."""
    return isinstance(type_, VectorType)


def lanes_of(type_: Attribute) -> int | None:
    """Return the number of lanes of a vector type; None for a scalar."""
    return shape_of(type_)[0] if is_vector(type_) else None


def memory_space(memref: SSAValue | Attribute) -> str:
    """Return the memory space of a memref: global, shared, stack or register."""
    type_ = type_of(memref)
    assert isinstance(type_, MemRefType)
    space = type_.memory_space
    return space.data if isinstance(space, StringAttr) else "global"
