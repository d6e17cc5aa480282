"""What the definition of an operation says about what a PDL pattern leaves out."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    OpDef,
    OptPropertyDef,
    VerificationContext,
)
from xdsl.irdl.operations import VariadicDef
from xdsl.utils.exceptions import VerifyException

from nn_opt.dialects.graph import GraphOp
from nn_opt.passes.pdl_match import Bound


def segment_sizes(op_type: type[Operation], groups: Sequence[Bound]) -> dict[str, Attribute]:
    """Return the attribute with the sizes of groups of operands, if each was written as one.

    Operands at the end may be left out. Anything else has to be said by the pattern.
    """
    if not issubclass(op_type, IRDLOperation):
        return {}
    known = op_type.get_irdl_definition()
    if not any(isinstance(option, AttrSizedOperandSegments) for option in known.options):
        return {}
    if len(groups) > len(known.operands):
        return {}
    sizes = [len(group) if isinstance(group, tuple) else 1 for group in groups]
    sizes += [0] * (len(known.operands) - len(groups))
    return {AttrSizedOperandSegments.attribute_name: DenseArrayBase.from_list(i32, sizes)}


def inferred_types(
    op_type: type[Operation], operands: Sequence[SSAValue], named: dict[str, Attribute]
) -> Sequence[Attribute] | None:
    """Return the result types that follow from operands and attributes; None if none do.

    An operation without a definition has no results, as in MLIR.
    Raises: VerifyException or ValueError for what the definition refuses.
    """
    if not issubclass(op_type, IRDLOperation):
        return ()
    known = op_type.get_irdl_definition()
    if not known.results:
        return ()
    if issubclass(op_type, GraphOp):
        return _by_shapes(op_type, known, operands, named)
    return _by_constraints(known, operands, named)


def _by_shapes(
    op_type: type[GraphOp],
    known: OpDef,
    operands: Sequence[SSAValue],
    named: dict[str, Attribute],
) -> Sequence[Attribute] | None:
    """Return what an op of `graph` infers, unless it wants its own result type for that."""
    for name, definition in known.properties.items():
        if name not in named and not isinstance(definition, OptPropertyDef):
            raise VerifyException(f"property '{name}' is missing")
    properties = {name: named[name] for name in named if name in known.properties}
    draft = op_type.create(operands=operands, properties=properties)
    try:
        return draft.infer_result_types()
    except IndexError:  # it has no result yet
        return None
    finally:
        draft.drop_all_references()


def _by_constraints(
    known: OpDef, operands: Sequence[SSAValue], named: dict[str, Attribute]
) -> Sequence[Attribute] | None:
    """Return the types that constraints with variables shared by operands and results give."""
    groups = (*known.operands, *known.results)
    if any(isinstance(group, VariadicDef) for _, group in groups):
        return None
    if len(operands) != len(known.operands):
        return None
    context = VerificationContext()
    for (_, group), operand in zip(known.operands, operands, strict=True):
        group.constr.verify((operand.type,), context)
    for name, definition in known.properties.items():
        if name in named:
            definition.constr.verify(named[name], context)
    types: list[Attribute] = []
    for _, group in known.results:
        if not group.constr.can_infer(context.attr_variables, length_known=True):
            return None
        types += group.constr.infer(context, length=1)
    return types
