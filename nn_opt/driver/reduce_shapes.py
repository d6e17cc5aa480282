"""How --reduce makes shapes smaller: one size at a time everywhere, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    TensorType,
    VectorType,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.rewriter import Rewriter

from nn_opt.driver.reductions import Action
from nn_opt.ir.resources import Array, ResourceAttr, array_of, dense_of, resource_of
from nn_opt.ir.types import shape_of

_SHAPED = (TensorType, MemRefType, VectorType)


def _shapes(module: ModuleOp) -> list[tuple[int, ...]]:
    values = [value for op in module.walk() for value in op.results]
    values += [
        argument
        for op in module.walk()
        for region in op.regions
        for block in region.blocks
        for argument in block.args
    ]
    return [shape_of(value) for value in values if isinstance(value.type, _SHAPED)]


def total_size(module: ModuleOp) -> int:
    """Return the sum of all sizes of all values."""
    return sum(sum(shape) for shape in _shapes(module))


def shrink_sizes(module: ModuleOp) -> list[Action]:
    """Replace a size by 1, or by its half, in all types; or in all lists of numbers as well."""
    sizes = sorted({size for shape in _shapes(module) for size in shape if size > 1})
    return [
        partial(_shrink, module, Change(old, new, lists))
        for old in sizes
        for new in sorted({1, old // 2}, reverse=True)
        for lists in (True, False)
    ]


@dataclass(frozen=True)
class Change:
    """What one size becomes."""

    old: int
    new: int
    lists: bool

    def size(self, size: int) -> int:
        return self.new if size == self.old else size

    def attribute(self, attribute: Attribute) -> Attribute:
        """Return an attribute with the sizes in its types changed."""
        if isinstance(attribute, _SHAPED):
            return self._type(cast(ParametrizedAttribute, attribute))
        if isinstance(attribute, DenseIntOrFPElementsAttr):
            return self._dense(cast(DenseIntOrFPElementsAttr, attribute))
        if isinstance(attribute, DenseArrayBase):
            return self._list(cast(DenseArrayBase[IntegerType], attribute))
        if isinstance(attribute, ArrayAttr):
            entries = cast(ArrayAttr[Attribute], attribute).data
            return ArrayAttr([self.attribute(entry) for entry in entries])
        if isinstance(attribute, ParametrizedAttribute):
            return attribute.new([self.attribute(part) for part in attribute.parameters])
        return attribute

    def _type(self, type_: ParametrizedAttribute) -> ParametrizedAttribute:
        fields = zip(_names(type_), type_.parameters, strict=True)
        return type_.new([self._sizes(part) if name == "shape" else part for name, part in fields])

    def _sizes(self, shape: Attribute) -> Attribute:
        sizes = cast(ArrayAttr[IntAttr], shape).data
        return ArrayAttr([IntAttr(self.size(size.data)) for size in sizes])

    def _dense(self, dense: DenseIntOrFPElementsAttr) -> Attribute:
        type_ = self._type(dense.type)
        content = dense_of(crop(array_of(dense, dense.type), shape_of(type_))).data
        return DenseIntOrFPElementsAttr.new([type_, content])

    def _list(self, numbers: DenseArrayBase[IntegerType]) -> Attribute:
        if not self.lists or numbers.elt_type != i64:
            return numbers
        return DenseArrayBase.from_list(i64, [self.size(k) for k in numbers.get_values()])


def _names(type_: ParametrizedAttribute) -> list[str]:
    return [name for name, _ in type_.get_irdl_definition().parameters]


def crop(array: Array, shape: tuple[int, ...]) -> Array:
    """Return the first elements along each axis."""
    return array[tuple(slice(size) for size in shape)]


def _shrink(module: ModuleOp, change: Change) -> None:
    for op in list(module.walk()):
        _retype(op, change)
        for holder in (op.properties, op.attributes):
            for name, value in holder.items():
                holder[name] = change.attribute(value)
                if isinstance(value, ResourceAttr) and value.data.array is not None:
                    array = value.data.array
                    shape = tuple(change.size(size) for size in array.shape)
                    holder[name] = resource_of(crop(array, shape))
    _infer(module)


def _infer(module: ModuleOp) -> None:
    """Let operations that know the shapes of their results say them, as sizes follow from sizes."""
    for op in list(module.walk(region_first=True)):
        infer: Callable[[], list[Attribute]] | None = getattr(op, "infer_result_types", None)
        if infer is not None:
            for value, type_ in zip(list(op.results), infer(), strict=True):
                if value.type != type_:
                    Rewriter.replace_value_with_new_type(value, type_)
        elif isinstance(op, FuncOp) and op.body.blocks:
            op.update_function_type()


def _retype(op: Operation, change: Change) -> None:
    """Change the types of the values that an op defines, and of the arguments of its blocks."""
    arguments = [arg for region in op.regions for block in region.blocks for arg in block.args]
    for value in (*op.results, *arguments):
        new = change.attribute(value.type)
        if new != value.type:
            Rewriter.replace_value_with_new_type(value, new)
