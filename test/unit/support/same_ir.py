"""Are two modules the same program, whatever names their values have?"""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue

# What MLIR writes in the generic form where nothing was said, by name.
DEFAULTS = {
    "ordering": ("0 : i64",),
    "overflowFlags": ("0 : i32", "#llvm.overflow<none>"),
    "unnamed_addr": ("0 : i64",),
    "visibility_": ("0 : i64",),
}


def difference(a: Operation, b: Operation) -> str | None:
    """Return the first difference of two operations and what is in them, or nothing."""
    values: dict[SSAValue, SSAValue] = {}
    ours, theirs = list(a.walk()), list(b.walk())
    if [op.name for op in ours] != [op.name for op in theirs]:
        return "other operations"
    for x, y in zip(ours, theirs, strict=True):
        if x.successors and len(x.successors) != len(y.successors):
            return f"{x}: other successors"
        if (problem := _own_difference(x, y)) is not None:
            return f"{problem} in {x.name}"
        values.update(zip(x.results, y.results, strict=True))
        for region, other in zip(x.regions, y.regions, strict=True):
            for block, its in zip(region.blocks, other.blocks, strict=True):
                values.update(zip(block.args, its.args, strict=True))
                if [v.type for v in block.args] != [v.type for v in its.args]:
                    return f"other block arguments in {x.name}"
    for x, y in zip(ours, theirs, strict=True):
        if [values[value] for value in x.operands] != list(y.operands):
            return f"other operands of {x.name}"
    return None


def _own_difference(x: Operation, y: Operation) -> str | None:
    if [v.type for v in x.results] != [v.type for v in y.results]:
        return "other result types"
    ours, theirs = _named(x), _named(y)
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            return f"{name}: {ours.get(name)} or {theirs.get(name)}"
    return None


def _named(op: Operation) -> dict[str, Attribute]:
    """Return properties and attributes, less what is the same as nothing."""
    found = {**op.attributes, **op.properties}
    return {
        name: value for name, value in found.items() if str(value) not in DEFAULTS.get(name, ())
    }
