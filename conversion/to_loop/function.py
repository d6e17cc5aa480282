"""Functions of tensors as functions of buffers: destinations, calls, constants, views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    TensorType,
    UnknownLoc,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.to_loop.nest import Nest, Number
from nn_opt.conversion.to_loop.updates import Update, find_updates
from nn_opt.dialects import loop, tensor
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.literals import scalar_attr
from nn_opt.ir.resources import array_of
from nn_opt.ir.sidecar import let_go
from nn_opt.ir.types import element_type, memref_type, shape_of


def convert_function(function: func.FuncOp) -> None:
    """Give a function of tensors one buffer for each argument and each result, in that order."""
    types = function.function_type
    if not any(isinstance(t, TensorType) for t in (*types.inputs, *types.outputs)):
        return
    inputs = [buffer_type(type_) for type_ in types.inputs]
    outputs = [result_type(function, type_) for type_ in types.outputs]
    function.function_type = FunctionType.from_lists([*inputs, *outputs], [])
    function.attributes["num_outputs"] = IntegerAttr(len(outputs), i64)
    function.res_attrs = None
    if function.arg_attrs is not None:
        none = [DictionaryAttr({})] * len(outputs)
        function.arg_attrs = ArrayAttr([*function.arg_attrs, *none])
    if not function.body.blocks:
        return
    old = function.body.detach_block(0)
    new = Block(arg_types=[*inputs, *outputs])
    function.body.add_block(new)
    fill_function(old, new)


def buffer_type(type_: Attribute) -> Attribute:
    """Return the memref type of a tensor type; any other type stays."""
    if not is_tensor(type_):
        return type_
    return memref_type(shape_of(type_), element_type(type_))


def is_tensor(type_: Attribute) -> bool:
    """Return whether a value needs a buffer."""
    return isinstance(type_, TensorType)


def result_type(function: func.FuncOp, type_: Attribute) -> Attribute:
    """Return the type of the buffer of a result.

    Raises: PassFailedException for a result that no buffer can hold.
    """
    if is_tensor(type_):
        return buffer_type(type_)
    problem = f"returns {type_} beside tensors"
    raise PassFailedException(complaint(function, problem, hint="return a rank-0 tensor"))


def fill_function(old: Block, new: Block) -> None:
    """Convert the ops of `old` into `new`, whose last arguments are the results' buffers."""
    last = old.last_op
    assert isinstance(last, func.ReturnOp), "a verified function ends in func.return"
    inputs, outputs = new.args[: len(old.args)], new.args[len(old.args) :]
    for argument, buffer in zip(old.args, inputs, strict=True):
        buffer.name_hint = argument.name_hint
    for result, buffer in zip(last.operands, outputs, strict=True):
        buffer.name_hint = result.name_hint or "out"
    converter = Converter(dict(zip(old.args, inputs, strict=True)))
    converter.fill(old, new, list(zip(last.operands, outputs, strict=True)))
    new.add_op(_located(func.ReturnOp(), last))


@dataclass
class Converter:
    """Converts blocks of one function; `buffers` says where each tensor lives."""

    buffers: dict[SSAValue, SSAValue]
    scalars: dict[SSAValue, Number] = field(default_factory=dict[SSAValue, Number])
    stages: Counter[str] = field(default_factory=Counter[str])
    places: dict[Operation, list[SSAValue]] = field(
        default_factory=dict[Operation, list[SSAValue]]
    )  # of each part of a join
    updates: dict[Operation, Update] = field(default_factory=dict[Operation, Update])

    def fill(self, old: Block, new: Block, wanted: Sequence[tuple[SSAValue, SSAValue]]) -> None:
        """Move the work of `old` to the end of `new`, each wanted value into its buffer."""
        for value, target in wanted:
            self.claim(old, new, value, target)
        for op in reversed(list(old.ops)):  # what joins several joins comes first
            if isinstance(op, tensor.JoinOp):
                self.claim_parts(op, old, new)
        for op in list(old.ops):
            if op is not old.last_op:
                self.convert(op, new)
        for value, target in wanted:
            if self.buffers[value] is not target:
                new.add_op(_located(loop.CopyOp(self.buffers[value], target), old.last_op))
        last = old.last_op
        assert last is not None
        for op in reversed(list(old.ops)):
            op.detach()
            op.drop_all_references()
            let_go([op])

    def claim(self, old: Block, new: Block, value: SSAValue, target: SSAValue) -> None:
        """Let the op behind `value` write `target` itself, if it is here and free to do so."""
        root = value
        while isinstance(root.owner, tensor.ViewOp) and root.owner.parent is old:
            root = root.owner.source
        if value in self.buffers or root in self.buffers or not _writes(root, old):
            return
        self.buffers[value] = target
        if root is not value:
            view = loop.ViewOp(target, buffer_type(root.type))
            new.add_op(_located(view, value.owner))
            self.buffers[root] = view.result

    def claim_parts(self, join: tensor.JoinOp, old: Block, new: Block) -> None:
        """Let the op behind each part write its place in the whole, if it is free to do so."""
        whole = self.place(join.result, "joined", new)
        places: list[SSAValue] = []
        for part, offset in zip(join.parts, join.offsets, strict=True):
            view = loop.ViewOp(whole, buffer_type(part.type), offset)
            new.add_op(_located(view, join))
            places.append(view.result)
            self.claim(old, new, part, view.result)
        self.places[join] = places

    def convert_join(self, op: Operation, new: Block) -> None:
        """tensor.join  ->  loop.copy of each part that is not in its place already"""
        assert isinstance(op, tensor.JoinOp)
        for part, place in zip(op.parts, self.places[op], strict=True):
            if self.buffers[part] is not place:
                new.add_op(_located(loop.CopyOp(self.buffers[part], place), op))

    def convert(self, op: Operation, new: Block) -> None:
        """Add to `new` what an op becomes; an op of no tensor moves as it is."""
        rule = RULES.get(type(op))
        if rule is not None:
            rule(self, op, new)
            return
        if any(isinstance(value.type, TensorType) for value in (*op.operands, *op.results)):
            problem = "takes or returns a tensor, and convert-tensor-to-loop has no rule for it"
            raise PassFailedException(
                complaint(op, problem, hint="run --convert-graph-to-tensor first")
            )
        op.detach()
        new.add_op(op)

    def place(self, value: SSAValue, name: str, new: Block) -> SSAValue:
        """Return the buffer that the op behind `value` writes: claimed, or a new one."""
        if value not in self.buffers:
            alloc = loop.AllocOp(name, buffer_type(value.type))
            alloc.result.name_hint = value.name_hint
            new.add_op(_located(alloc, value.owner))
            self.buffers[value] = alloc.result
        return self.buffers[value]

    def convert_compute(self, op: Operation, new: Block) -> None:
        """tensor.compute "s"  ->  loop.for ... { loop.block "s" }"""
        assert isinstance(op, tensor.ComputeOp)
        stage = self.unique(op.stage.data)
        targets = [self.place(result, stage, new) for result in op.result]
        maker, update = Nest(op, stage, targets, self.buffers, self.scalars), self.updates.get(op)
        nest = maker.build() if update is None else update.build(maker)
        for inner in nest.walk():
            _located(inner, op)
        new.add_op(nest)

    def unique(self, stage: str) -> str:
        """Return the stage's name, numbered from its second use in the function on."""
        self.stages[stage] += 1
        count = self.stages[stage] - 1
        return self.unique(f"{stage}_{count}") if count else stage

    def convert_constant(self, op: Operation, new: Block) -> None:
        """tensor.constant  ->  loop.constant, unless it has one element and is only read"""
        assert isinstance(op, tensor.ConstantOp)
        array = array_of(op.value, op.result.type) if _has_one_element(op) else None
        if array is not None:
            number = array.reshape(()).item()
            self.scalars[op.result] = scalar_attr(number, element_type(op.result))
            if all(_is_plain_read(use.operation) for use in op.result.uses):
                return
        constant = loop.ConstantOp(op.value, buffer_type(op.result.type))
        self.define(op, constant, new)

    def convert_view(self, op: Operation, new: Block) -> None:
        """tensor.view  ->  loop.view"""
        assert isinstance(op, tensor.ViewOp)
        if op.result in self.buffers:  # it is the place that its source writes
            return
        view = loop.ViewOp(self.buffers[op.source], buffer_type(op.result.type))
        self.define(op, view, new)

    def define(self, old: Operation, op: Operation, new: Block) -> None:
        """Add `op`, whose result stands for the one result of `old`."""
        op.results[0].name_hint = old.results[0].name_hint
        self.buffers[old.results[0]] = op.results[0]
        new.add_op(_located(op, old))

    def convert_call(self, op: Operation, new: Block) -> None:
        """%y = func.call @f(%x)  ->  func.call @f(%x, %y)"""
        assert isinstance(op, func.CallOp)
        name = op.callee.string_value()
        outputs = [self.place(result, name, new) for result in op.res]
        inputs = [self.buffers.get(argument, argument) for argument in op.arguments]
        call = func.CallOp(op.callee, [*inputs, *outputs], [])
        call.attributes |= op.attributes
        new.add_op(_located(call, op))

    def convert_scan(self, op: Operation, new: Block) -> None:
        """tensor.scan  ->  a serial loop over time that overwrites the states' buffers"""
        assert isinstance(op, tensor.ScanOp)
        states = [self.place(value, "state", new) for value in op.outputs[: op.states]]
        stacked = [self.place(value, "outputs", new) for value in op.outputs[op.states :]]
        for value, state in zip(op.inputs, states, strict=False):
            new.add_op(_located(loop.CopyOp(self.buffers[value], state), op))
        scanned = [self.buffers[value] for value in op.inputs[op.states :]]
        assert scanned or stacked, "a scan has something to scan or to stack"
        steps = shape_of([*scanned, *stacked][0])[0]
        time = loop.ForOp(steps, name_hint="t")
        new.add_op(_located(time, op))
        self.fill_step(op, time, states, scanned, stacked)

    def fill_step(
        self,
        scan: tensor.ScanOp,
        time: loop.ForOp,
        states: Sequence[SSAValue],
        scanned: Sequence[SSAValue],
        stacked: Sequence[SSAValue],
    ) -> None:
        """Fill the body of a scan's loop: one step from `states` to `states`."""
        body, old = time.body.block, scan.body.block
        last = old.last_op
        assert last is not None
        self.buffers |= zip(old.args, states, strict=False)
        updates = find_updates(scan)
        self.updates |= updates
        for value, state in zip(last.operands, states, strict=False):
            if value.owner in updates:
                self.buffers[value] = state
        for argument, source in zip(old.args[len(states) :], scanned, strict=True):
            if argument.uses:  # nothing may read what only says how many steps there are
                self.buffers[argument] = step_view(source, time, scan)
        results = [step_view(target, time, scan) for target in stacked]
        yielded = list(last.operands)
        nexts, outputs = yielded[: len(states)], yielded[len(states) :]
        self.fill(old, body, list(zip(outputs, results, strict=True)))
        moves = [
            (self.buffers[value], state)
            for value, state in zip(nexts, states, strict=True)
            if self.buffers[value] is not state
        ]
        for copy in copies(moves, states):
            body.add_op(_located(copy, last))


def copies(
    moves: Sequence[tuple[SSAValue, SSAValue]], states: Sequence[SSAValue]
) -> list[Operation]:
    """Return ops that make all moves at once: a state that is moved is saved before any changes."""
    first: list[Operation] = []
    second: list[Operation] = []
    for source, target in moves:
        if _origin(source) in states:
            saved = loop.AllocOp("saved", source.type)
            first += [saved, loop.CopyOp(source, saved.result)]
            source = saved.result
        second.append(loop.CopyOp(source, target))
    return first + second


def _origin(buffer: SSAValue) -> SSAValue:
    """Return the buffer that a view is part of."""
    while isinstance(buffer.owner, loop.ViewOp):
        buffer = buffer.owner.source
    return buffer


def step_view(buffer: SSAValue, time: loop.ForOp, scan: tensor.ScanOp) -> SSAValue:
    """Add to the loop's body, and return, the slice of `buffer` at this step."""
    steps, *shape = shape_of(buffer)
    size = 1
    for extent in shape:
        size *= extent
    step = AffineExpr.dimension(0) * size
    offset = step * -1 + (steps - 1) * size if scan.reverse else step
    view = loop.ViewOp(buffer, memref_type(shape, element_type(buffer)), offset, [time.index])
    time.body.block.add_op(_located(view, scan))
    return view.result


def _writes(value: SSAValue, block: Block) -> bool:
    """Return whether an op of the block computes the value into any buffer it is given."""
    owner = value.owner
    writers = (tensor.ComputeOp, tensor.ScanOp, tensor.JoinOp, func.CallOp)
    return isinstance(owner, writers) and owner.parent is block


def _has_one_element(op: tensor.ConstantOp) -> bool:
    return all(size == 1 for size in shape_of(op.result))


def _is_plain_read(op: Operation) -> bool:
    return isinstance(op, tensor.ReadOp) and op.default is None


def _located(op: Operation, source: Operation | Block | None) -> Operation:
    """Give `op` the location of what it is made from, unless it has its own."""
    if isinstance(op.location, UnknownLoc) and isinstance(source, Operation):
        op.location = source.location
    return op


RULES: dict[type[Operation], Callable[[Converter, Operation, Block], None]] = {
    tensor.ComputeOp: Converter.convert_compute,
    tensor.ConstantOp: Converter.convert_constant,
    tensor.ViewOp: Converter.convert_view,
    tensor.JoinOp: Converter.convert_join,
    tensor.ScanOp: Converter.convert_scan,
    func.CallOp: Converter.convert_call,
}
