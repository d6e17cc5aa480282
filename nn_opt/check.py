"""Differential checking: a pass must not change what the program computes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import IntegerAttr, LocationAttr, ModuleOp, UnknownLoc
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from nn_opt.build import signature_of
from nn_opt.check_code import cannot_run, is_lowered, run_code
from nn_opt.instrument import Instrument
from nn_opt.ir.diagnostics import DiagnosticError, complaint, locate
from nn_opt.ir.resources import Array
from nn_opt.ir.small_types import SMALL
from nn_opt.ir.types import element_type, is_static, numpy_dtype, shape_of
from nn_opt.reference import entry_function, run
from nn_opt.reference.narrow import is_integer
from nn_opt.reference.running import can_run
from nn_opt.runtime.manifest import Manifest

SEED = 0


def seeded_inputs(module: ModuleOp) -> list[Array]:
    """Return inputs for the entry function: normal floats, integers 0 or 1 (indices of anything).

    Raises: DiagnosticError for an input of unknown shape.
    """
    function = entry_function(module)
    generator = np.random.default_rng(SEED)
    return [_random(function, type_, generator) for type_ in _input_types(function)]


def _input_types(function: FuncOp) -> Sequence[Attribute]:
    types = list(function.function_type.inputs)
    count = function.attributes.get("num_outputs")
    outputs = count.value.data if isinstance(count, IntegerAttr) else 0
    return types[: len(types) - outputs]


def _is_model(function: FuncOp) -> bool:
    """Return whether a function can become a program with tensors as inputs and outputs."""
    types = (*function.function_type.inputs, *function.function_type.outputs)
    return function.sym_name.data == "main" and all(hasattr(t, "get_shape") for t in types)


def _random(function: FuncOp, type_: Attribute, generator: np.random.Generator) -> Array:
    shape: tuple[int, ...] = ()
    if hasattr(type_, "get_shape"):
        if not is_static(type_):
            problem = f"an input has the type {type_}, so --check cannot make one up"
            raise DiagnosticError(
                complaint(
                    function, problem, hint="give the inputs fixed sizes, then run --infer-shapes"
                )
            )
        shape = shape_of(type_)
    dtype = numpy_dtype(element_type(type_))
    if is_integer(dtype) or dtype == np.bool_:
        return generator.integers(0, 2, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


@dataclass(frozen=True)
class Difference:
    """Where two arrays differ first, and by how much."""

    element: tuple[int, ...]
    before: Any
    after: Any
    count: int
    size: int

    def __str__(self) -> str:
        numbers = f"{self.before} before, {self.after} after"
        return f"{numbers}, at element {list(self.element)} ({self.count} of {self.size} differ)"


def difference(before: Array, after: Array, rtol: float) -> Difference | None:
    """Return the first element that differs by more than `rtol` times the largest one, if any.

    Integers must be equal. NaN equals NaN. Half floats get at least eight units of rounding.
    """
    if before.dtype != after.dtype and before.dtype.itemsize == after.dtype.itemsize:
        if before.dtype.name in SMALL:  # f8 above, i8 below the graph level
            after = after.view(before.dtype)
        before = before.view(after.dtype)  # ui8 above, i8 below it
    if before.shape != after.shape:
        return Difference((), f"shape {before.shape}", f"shape {after.shape}", 1, 1)
    wrong = np.atleast_1d(_wrong_elements(before, after, rtol))
    if not wrong.any():
        return None
    where = tuple(int(index) for index in np.argwhere(wrong)[0])[: before.ndim]
    return Difference(where, before[where], after[where], int(wrong.sum()), wrong.size)


def _wrong_elements(before: Array, after: Array, rtol: float) -> Array:
    if is_integer(before.dtype) or before.dtype == np.bool_:
        return before != after
    with np.errstate(all="ignore"):
        a, b = before.astype(np.float64), after.astype(np.float64)
        largest = np.max(np.abs(a), where=np.isfinite(a), initial=0.0)
        finfo = cast(Any, ml_dtypes.finfo(before.dtype))
        rounding = 8 * float(finfo.eps)
        near = np.abs(a - b) <= max(rtol, rounding) * largest
    return ~(near | (a == b) | (np.isnan(a) & np.isnan(b)))


@dataclass
class Trace(Interpreter.Listener):
    """The results of the operations directly in functions and fused kernels, by location."""

    values: dict[LocationAttr, tuple[Operation, list[Array]]] = field(
        default_factory=dict[LocationAttr, tuple[Operation, list[Array]]]
    )
    repeated: set[LocationAttr] = field(default_factory=set[LocationAttr])
    _seen: set[Operation] = field(default_factory=set[Operation])

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        parent = op.parent_op()
        if parent is None or parent.name not in ("func.func", "graph.fused"):
            return
        if not results or isinstance(op.location, UnknownLoc):
            return
        if op in self._seen:  # a kernel that is called twice: which call is meant is unknown
            self.repeated.add(op.location)
        self._seen.add(op)
        self.values[op.location] = (op, [np.array(result) for result in results])


@dataclass
class Check(Instrument):
    """Run the module before and after each pass on the same inputs; refuse a pass that differs.

    rtol: how much floats may differ, as a part of the largest; sums in another order differ by
      about 1e-6.
    inputs: what the entry function is given; None stands for seeded random numbers.

    >>> import nn_opt
    >>> from xdsl.dialects import arith
    >>> @nn_opt.rewrite("wrong-sums")
    ... def wrong_sums(op: arith.AddfOp, rewriter):
    ...     rewriter.replace(op, arith.SubfOp(*op.operands))
    >>> module = nn_opt.parse('''func.func @main(%x: f32) -> f32 {
    ...   %y = arith.addf %x, %x : f32
    ...   func.return %y : f32
    ... }''')
    >>> try:
    ...     nn_opt.Pipeline("cse,wrong-sums").run(module, instruments=[nn_opt.Check()])
    ... except nn_opt.DiagnosticError as error:
    ...     print(str(error).split(": ")[3])
    --wrong-sums changed result #0
    """

    rtol: float = 1e-5
    inputs: Sequence[Array] | None = None
    _inputs: list[Array] = field(default_factory=list[Array])
    _expected: list[Array] | None = None
    _previous: ModuleOp | None = None
    _manifest: Manifest | None = None

    def before_pass(self, step: ModulePass, module: ModuleOp) -> None:
        if self._expected is None and can_run(module):
            given = self.inputs
            self._inputs = seeded_inputs(module) if given is None else list(given)
            self._expected = run(module, self._inputs)
            if _is_model(entry_function(module)):
                self._manifest = signature_of(module)
        self._previous = module.clone()

    def after_pass(self, step: ModulePass, module: ModuleOp) -> None:
        actual = self._run(step, module)
        if actual is None or self._expected is None:
            return
        if is_lowered(module):
            self._compare_code(step, actual)
            return
        if len(actual) != len(self._expected):
            problem = f"--{step.name} left {len(actual)} results of {len(self._expected)}"
            raise DiagnosticError(complaint(entry_function(module), problem))
        for index, (old, new) in enumerate(zip(self._expected, actual, strict=True)):
            found = difference(old, new, self.rtol)
            if found is not None:
                self._refuse(step, module, index, found)

    def _run(self, step: ModulePass, module: ModuleOp) -> list[Array] | None:
        """Return what a module computes; a note says why, where that cannot be told."""
        why = ""
        if self._expected is not None and can_run(module):
            return run(module, self._inputs)
        if self._manifest is not None and is_lowered(module):
            why = cannot_run(module)
            if not why:
                return run_code(module, self._manifest, self._inputs)
        reason = f" ({why})" if why else ""
        note = f"note: --check cannot run what --{step.name} left{reason}: not compared\n"
        sys.stderr.write(note)
        return None

    def _compare_code(self, step: ModulePass, actual: Sequence[Array]) -> None:
        for index, (old, new) in enumerate(zip(self._expected or (), actual, strict=True)):
            found = difference(old, new, self.rtol)
            if found is not None:
                problem = f"--{step.name} changed result #{index}: {found}"
                raise DiagnosticError(f"error: {problem}\n  note: machine code was compared")

    def _refuse(self, step: ModulePass, module: ModuleOp, index: int, found: Difference) -> None:
        problem = f"--{step.name} changed result #{index}: {found}"
        text = complaint(producer(entry_function(module), index), problem)
        raise DiagnosticError(text + self._first_difference(module))

    def _first_difference(self, module: ModuleOp) -> str:
        """Return a note on the first operation in program order whose values differ, if any."""
        old, new = Trace(), Trace()
        assert self._previous is not None, "a pass was seen before it ended"
        run(self._previous, self._inputs, listeners=[old])
        run(module, self._inputs, listeners=[new])
        for place, (op, values) in new.values.items():
            if place not in old.values or place in old.repeated | new.repeated:
                continue
            pairs = zip(old.values[place][1], values, strict=False)
            for number, (before, after) in enumerate(pairs):
                found = difference(before, after, self.rtol)
                if before.shape == after.shape and found is not None:
                    where = f"{op.name} at {locate(op)}, its result #{number}"
                    return f"\n  note: the first operation that differs is {where}: {found}"
        return ""


def producer(function: FuncOp, index: int) -> Operation:
    """Return the operation that makes a result of a function: yields it or writes its buffer."""
    block = function.body.blocks.first
    assert block is not None, "the entry function has a body"
    last = block.last_op
    if last is not None and last.operands:
        owner = last.operands[index].owner
        return owner if isinstance(owner, Operation) else last
    outputs = len(block.args) - len(_input_types(function))
    buffer: SSAValue = block.args[len(block.args) - outputs + index]
    users = [block.find_ancestor_op_in_block(use.operation) for use in buffer.uses]
    writers = [op for op in block.ops if op in users]
    return writers[-1] if writers else function
