"""What is going to run: passes, in the pipelines and anchors that they were named in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.pass_specs import short_spec, spec_of
from nn_opt.pipeline_text import FUNCTION, MODULE, Call, Entry, parse_text
from nn_opt.pipelines import PIPELINES, expand
from nn_opt.registry import runs_on_functions


@dataclass(frozen=True)
class Group:
    """A named pipeline, or `func.func`, and what runs in it."""

    title: str
    members: tuple[Member, ...]


Member: TypeAlias = ModulePass | Group


@dataclass(frozen=True)
class OnFunctions(ModulePass):
    """Runs a pass on each function that has a body, as if no other were in the module."""

    step: ModulePass

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The name of the pass that is run."""
        return self.step.name

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.ops if isinstance(f, FuncOp) and f.body.blocks]:
            after = function.next_op
            function.detach()
            alone = ModuleOp([function], attributes=dict(op.attributes))
            self.step.apply(ctx, alone)
            for changed in list(alone.ops):
                changed.detach()
                if after is None:
                    op.body.block.add_op(changed)
                else:
                    op.body.block.insert_op_before(changed, after)


def make_plan(entries: Iterable[Entry]) -> tuple[Member, ...]:
    """Return the passes that entries stand for.

    Raises: DiagnosticError for an unknown name or option, or a pass that cannot run there.
    """
    return tuple(_member(entry) for entry in entries)


def _member(entry: Entry) -> Member:
    if isinstance(entry, Call):
        steps = _steps(entry)
        return Group(entry.name, steps) if entry.name in PIPELINES else steps[0]
    calls = [inner for inner in entry.entries if isinstance(inner, Call)]
    return Group(FUNCTION, tuple(_on_functions(call) for call in calls))


def _steps(call: Call) -> tuple[ModulePass, ...]:
    try:
        return tuple(expand(call.name, call.options))
    except DiagnosticError as error:
        raise (call.place.complaint(str(error)) if call.place else error) from error


def _on_functions(call: Call) -> Member:
    steps = _steps(call)
    for step in steps:
        if not runs_on_functions(step.name) and call.place is not None:
            hint = f"\n  hint: name it outside of {FUNCTION}(...)"
            raise call.place.complaint(f"--{step.name} needs the whole module{hint}")
    members = tuple(OnFunctions(step) for step in steps)
    return Group(call.name, members) if call.name in PIPELINES else members[0]


def parse_pipeline(text: str) -> list[ModulePass]:
    """Return the passes of a text such as `canonicalize,fuse-ops{max-depth=4}`."""
    return list(steps_of(make_plan(parse_text(text))))


def steps_of(plan: Sequence[Member]) -> Iterator[ModulePass]:
    """Yield the passes of a plan in order."""
    for member in plan:
        if isinstance(member, Group):
            yield from steps_of(member.members)
        else:
            yield member


def print_plan(plan: Sequence[Member]) -> str:
    """Return the text of a plan, with all options; it is read back as the same passes."""
    return f"{MODULE}(\n{_lines(plan, '  ')}\n)\n" if plan else f"{MODULE}()\n"


def plan_text(plan: Sequence[Member]) -> str:
    """Return the text of a plan in one line."""
    return "".join(line.strip() for line in print_plan(plan).splitlines())


def short_text(plan: Sequence[Member]) -> str:
    """Return a text for people: named pipelines by name, options only where one is set."""
    return ",".join(map(_short, plan))


def _short(member: Member) -> str:
    if isinstance(member, OnFunctions):
        return short_spec(member.step)
    if isinstance(member, ModulePass):
        return short_spec(member)
    if member.title in PIPELINES:
        steps = [m.step if isinstance(m, OnFunctions) else m for m in steps_of([member])]
        return member.title if steps == expand(member.title) else short_text(member.members)
    return f"{member.title}({short_text(member.members)})"


def _lines(plan: Sequence[Member], indent: str) -> str:
    return ",\n".join(_line(member, indent) for member in plan)


def _line(member: Member, indent: str) -> str:
    if isinstance(member, OnFunctions):
        return indent + spec_of(member.step)
    if isinstance(member, ModulePass):
        return indent + spec_of(member)
    if member.title in PIPELINES and member.members:
        return _lines(member.members, indent)
    inner = f"\n{_lines(member.members, indent + '  ')}\n{indent}" if member.members else ""
    return f"{indent}{member.title}({inner})"
