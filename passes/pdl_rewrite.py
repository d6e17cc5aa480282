"""The right side of a PDL pattern: new operations, replacements, erasures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import pdl
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.utils.exceptions import PassFailedException, VerifyException

from nn_opt.ir.diagnostics import Complaints, diagnose, diagnostics_of, name_of, note_at
from nn_opt.passes.pdl_functions import REWRITES
from nn_opt.passes.pdl_inference import inferred_types, segment_sizes
from nn_opt.passes.pdl_match import Bindings, value_of


@dataclass
class Rewriting:
    """One match of a pattern that becomes what its right side says."""

    ctx: Context
    rewriter: PatternRewriter
    root: Operation
    bound: Bindings
    erased: list[Operation] = field(default_factory=list[Operation])

    def run(self, rewrite: pdl.RewriteOp) -> None:
        """Do what a `pdl.rewrite` says."""
        if rewrite.name_ is not None:
            args = [self._value(v, rewrite) for v in rewrite.external_args]
            root = () if rewrite.root is None else (self._value(rewrite.root, rewrite),)
            self._call(rewrite, rewrite.name_.data, [*root, *args])
            return
        for op in rewrite.body.block.ops:
            self._step(op)

    def _step(self, op: Operation) -> None:
        match op:
            case pdl.OperationOp():
                self.bound[op.op] = self._create(op)
            case pdl.RangeOp():
                items = [self._value(value, op) for value in op.arguments]
                self.bound[op.result] = cast(tuple[SSAValue, ...], _flat(items))
            case pdl.ReplaceOp():
                self._replace(op)
            case pdl.EraseOp():
                self._erase(op)
            case pdl.ApplyNativeRewriteOp():
                given = self._call(
                    op, op.constraint_name.data, [self._value(v, op) for v in op.args]
                )
                self.bound.update(zip(op.res, given, strict=True))
            case _:
                pass  # constants and results are looked up where they are read

    def _value(self, value: SSAValue, user: Operation) -> Any:
        found = value_of(value, self.bound)
        if found is None:
            raise self._failure(user, "reads a result that the operation does not have")
        return found

    def _failure(self, op: Operation, problem: str, hint: str = "") -> PassFailedException:
        """Return an error at an operation of the pattern, with the place where it is applied."""
        notes = (note_at(self.root, f"applied to this {name_of(self.root)}"),)
        return PassFailedException(Complaints([diagnose(op, problem, hint=hint, notes=notes)]))

    def _create(self, pdl_op: pdl.OperationOp) -> Operation:
        assert pdl_op.opName is not None, "the verifier of pdl.operation wants it"
        name = pdl_op.opName.data
        op_type = self.ctx.get_optional_op(name)
        if op_type is None:
            hint = "--allow-unregistered-dialect lets it make any"
            raise self._failure(pdl_op, f"makes an unknown operation '{name}'", hint)
        groups = [self._value(value, pdl_op) for value in pdl_op.operand_values]
        operands = cast(Sequence[SSAValue], _flat(groups))
        named = self._attributes(pdl_op)
        named = {**segment_sizes(op_type, groups), **named}
        types = self._types(pdl_op, op_type, operands, named)
        op = make(op_type, operands, types, named)
        try:
            op.verify_()
        except VerifyException as error:
            raise self._refusal(pdl_op, error) from error
        self.rewriter.insert(op)
        return op

    def _refusal(self, pdl_op: pdl.OperationOp, error: Exception) -> PassFailedException:
        name = "" if pdl_op.opName is None else pdl_op.opName.data
        reason = diagnostics_of(error)[0].message
        return self._failure(pdl_op, f"makes a {name} that is refused: {reason}")

    def _attributes(self, pdl_op: pdl.OperationOp) -> dict[str, Attribute]:
        names = (name.data for name in pdl_op.attributeValueNames)
        values = (self._value(value, pdl_op) for value in pdl_op.attribute_values)
        return dict(zip(names, values, strict=True))

    def _types(
        self,
        pdl_op: pdl.OperationOp,
        op_type: type[Operation],
        operands: Sequence[SSAValue],
        named: dict[str, Attribute],
    ) -> Sequence[Attribute]:
        """Return the result types: as written, of what is replaced, or as the definition says."""
        if pdl_op.type_values:
            types = [self._value(value, pdl_op) for value in pdl_op.type_values]
            return cast(Sequence[Attribute], _flat(types))
        for use in pdl_op.op.uses:
            user = use.operation
            if isinstance(user, pdl.ReplaceOp) and user.repl_operation is pdl_op.op:
                return [result.type for result in self._value(user.op_value, user).results]
        try:
            types = inferred_types(op_type, operands, named)
        except (VerifyException, ValueError) as error:
            raise self._refusal(pdl_op, error) from error
        if types is None:
            problem = f"does not say the result types of {op_type.name}"
            raise self._failure(pdl_op, problem, "add `-> (%type : !pdl.type)`")
        return types

    def _replace(self, op: pdl.ReplaceOp) -> None:
        old = self._value(op.op_value, op)
        if op.repl_operation is not None:
            values = self._value(op.repl_operation, op).results
        else:
            values = _flat([self._value(value, op) for value in op.repl_values])
        if len(values) != len(old.results):
            problem = f"replaces {len(old.results)} results by {len(values)} values"
            raise self._failure(op, problem)
        self._once(old, op)
        self.rewriter.replace(old, (), list(values))

    def _erase(self, op: pdl.EraseOp) -> None:
        old = self._value(op.op_value, op)
        if any(result.uses for result in old.results):
            raise self._failure(op, f"erases a {name_of(old)} that is still read")
        self._once(old, op)
        self.rewriter.erase(old)

    def _once(self, old: Operation, op: Operation) -> None:
        if any(old is other for other in self.erased):
            raise self._failure(op, "names an operation that is gone already")
        self.erased.append(old)

    def _call(self, op: Operation, name: str, args: Sequence[Any]) -> tuple[Any, ...]:
        given: Any = REWRITES[name](self.rewriter, *args)
        wanted = len(op.results)
        if not wanted:
            return ()
        many = cast(tuple[Any, ...], given) if wanted > 1 and type(given) is tuple else (given,)
        if len(many) != wanted:
            raise self._failure(op, f"expects {wanted} values of the function '{name}'")
        return many


def make(
    op_type: type[Operation],
    operands: Sequence[SSAValue],
    types: Sequence[Attribute],
    named: dict[str, Attribute],
) -> Operation:
    """Return a new operation; what its definition calls a property becomes one."""
    known = op_type.get_irdl_definition().properties if issubclass(op_type, IRDLOperation) else {}
    return op_type.create(
        operands=operands,
        result_types=types,
        properties={name: value for name, value in named.items() if name in known},
        attributes={name: value for name, value in named.items() if name not in known},
    )


def _flat(items: Sequence[Any]) -> tuple[Any, ...]:
    """Return items with those of ranges among them."""
    flat: list[Any] = []
    for item in items:
        flat += item if isinstance(item, tuple) else [item]
    return tuple(flat)
