"""What converters build with: stages, views, tables, and the values that are known so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from nn_opt.conversion.to_tensor.body import Array, Body
from nn_opt.conversion.to_tensor.scalar import Number, Scalar, is_unsigned, storage, width
from nn_opt.dialects import tensor
from nn_opt.ir.resources import Array as NumpyArray
from nn_opt.ir.resources import resource_of, tensor_type_of
from nn_opt.ir.types import element_type, tensor_type

Formula = Callable[[Body], Scalar]
Formulas = Callable[[Body], Sequence[Scalar]]
Combine = Callable[[Sequence[Scalar], Sequence[Scalar]], Sequence[Scalar]]
OF_BITS = {"max": "or", "min": "and", "add": "or", "mul": "and"}  # what combiners are for bits


@dataclass
class Lowering:
    """One function under conversion: the new values of old ones, and the stage names taken.

    parallel: stages run on as many threads as they have elements.
    """

    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    stages: Counter[str] = field(default_factory=Counter[str])
    parallel: bool = False

    def array(self, value: SSAValue) -> Array:
        """Return what a graph value has become."""
        return Array(self.values[value], element_type(value))

    def stage_name(self, word: str) -> str:
        """Return `word`, or `word_1` .. if the function has a stage of that name."""
        self.stages[word] += 1
        count = self.stages[word]
        return word if count == 1 else f"{word}_{count - 1}"

    def constant(self, array: NumpyArray) -> Array:
        """Return a small table of the compiler's."""
        type_ = tensor_type_of(array)
        op = tensor.ConstantOp(resource_of(array), type_)
        return Array(op.result, type_.get_element_type())

    def view(self, source: Array, shape: Sequence[int]) -> Array:
        """Return the same elements under another shape."""
        if tuple(shape) == source.shape:
            return source
        return Array(tensor.ViewOp(source.value, shape).result, source.dtype)

    def compute(
        self,
        word: str,
        shape: Sequence[int],
        dtype: Attribute,
        formula: Formula,
        *,
        reduce: Sequence[int] = (),
        combiner: str | None = None,
        names: str = "",
    ) -> Array:
        """Return a new stage; without axes to reduce, the formula alone.

        names: one word an axis, for the reader of the text.
        """
        if dtype == i1 and combiner is not None:
            combiner = OF_BITS.get(combiner, combiner)
        if combiner in ("max", "min") and reduce and is_unsigned(dtype):
            return self._unsigned_extreme(word, shape, dtype, formula, reduce, combiner)
        sizes = (*shape, *reduce)
        block = tensor.ComputeOp.body_block(len(sizes))
        for argument, name in zip(block.args, names.split() or axis_names(sizes), strict=True):
            argument.name_hint = name
        with ImplicitBuilder(block):
            result = formula(Body(sizes, len(shape), block.args)).cast(dtype)
            tensor.YieldOp(result.value)
        tidy(block)
        op = tensor.ComputeOp(
            self.stage_name(word),
            Region(block),
            [tensor_type(shape, storage(dtype))],
            reduce_sizes=reduce,
            combiner=combiner if reduce else None,
        )
        return Array(op.result[0], dtype)

    def _unsigned_extreme(
        self,
        word: str,
        shape: Sequence[int],
        dtype: Attribute,
        formula: Formula,
        reduce: Sequence[int],
        combiner: str,
    ) -> Array:
        """max and min compare signed: flip the top bit before and after, which keeps the order."""
        signed = storage(dtype)
        flipped = self.compute(
            word,
            shape,
            signed,
            lambda b: _flip_sign(formula(b).cast(signed)),
            reduce=reduce,
            combiner=combiner,
        )
        return self.compute(
            f"{word}.sign", shape, dtype, lambda b: _flip_sign(b.element(flipped, b.par))
        )

    def stack(
        self,
        word: str,
        stack: Sequence[int],
        shape: Sequence[int],
        dtype: Attribute,
        formulas: Formulas,
        *,
        names: str = "",
    ) -> Array:
        """Return a stage whose body computes all elements of the leading dimensions `stack`."""
        block = tensor.ComputeOp.body_block(len(shape))
        for argument, name in zip(block.args, names.split() or axis_names(shape), strict=True):
            argument.name_hint = name
        with ImplicitBuilder(block):
            values = formulas(Body(tuple(shape), len(shape), block.args))
            tensor.YieldOp(*(value.cast(dtype).value for value in values))
        tidy(block)
        type_ = tensor_type((*stack, *shape), storage(dtype))
        op = tensor.ComputeOp(self.stage_name(word), Region(block), [type_], stack=stack)
        return Array(op.result[0], dtype)

    def fold(
        self,
        word: str,
        shape: Sequence[int],
        dtypes: Sequence[Attribute],
        formula: Formulas,
        *,
        reduce: Sequence[int],
        init: Sequence[Number],
        combine: Combine,
    ) -> list[Array]:
        """Return a reduction with a combiner of its own, over a tuple of values."""
        types = [storage(dtype) for dtype in dtypes]
        sizes = (*shape, *reduce)
        body, region = tensor.ComputeOp.body_block(len(sizes)), Block(arg_types=types * 2)
        for argument, name in zip(body.args, axis_names(sizes), strict=True):
            argument.name_hint = name
        with ImplicitBuilder(body):
            values = formula(Body(sizes, len(shape), body.args))
            tensor.YieldOp(*(value.value for value in values))
        tidy(body)
        with ImplicitBuilder(region):
            arguments = [Scalar(a, t) for a, t in zip(region.args, [*dtypes] * 2, strict=True)]
            values = combine(arguments[: len(types)], arguments[len(types) :])
            tensor.YieldOp(*(value.value for value in values))
        op = tensor.ComputeOp(
            self.stage_name(word),
            Region(body),
            [tensor_type(shape, type_) for type_ in types],
            reduce_sizes=reduce,
            combiner="custom",
            combine=Region(region),
            init=init,
        )
        return [Array(result, dtype) for result, dtype in zip(op.result, dtypes, strict=True)]


def tidy(block: Block) -> None:
    """Keep one of equal ops, and none that a formula built and then did not need."""
    seen: dict[Hashable, Operation] = {}
    for op in list(block.ops):
        facts = frozenset(op.properties.items())
        first = seen.setdefault((type(op), tuple(op.operands), facts, *op.result_types), op)
        for old, new in zip(op.results, first.results, strict=True) if first is not op else ():
            old.replace_all_uses_with(new)
    for op in reversed(list(block.ops)):
        if op.results and not any(result.uses for result in op.results):
            block.erase_op(op)


def axis_names(sizes: Sequence[int]) -> list[str]:
    """Return i, j, k, ... for axes that have no names of their own."""
    return list("ijklmnpqrs"[: len(sizes)]) if len(sizes) <= 10 else ["i"] * len(sizes)


def _flip_sign(scalar: Scalar) -> Scalar:
    return scalar ^ (1 << (width(scalar.type) - 1))
