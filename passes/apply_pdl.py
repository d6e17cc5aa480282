"""apply-pdl: rewrites that a file states in the PDL dialect, run like those written in Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import get_all_dialects, pdl
from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import PassFailedException

from nn_opt.ir.diagnostics import DiagnosticError, complaint
from nn_opt.ir.files import read_text
from nn_opt.ir.parsing import parse_module
from nn_opt.ir.remarks import remark
from nn_opt.ir.rewriting import rewrite
from nn_opt.ir.statistics import Statistic
from nn_opt.ir.verify import verify
from nn_opt.passes.pdl_checks import require_supported, root_of
from nn_opt.passes.pdl_match import Matcher, definition
from nn_opt.passes.pdl_rewrite import Rewriting

APPLIED = Statistic("apply-pdl", "patterns-applied", "matches that were rewritten")
MOST_FOR_EACH = 20  # rewrites for each operation that is there at first; more look like a cycle
MOST_BESIDES = 1000


@dataclass
class Budget:
    """How many rewrites are left before they are taken for a cycle."""

    left: int
    whole: int = field(init=False)

    def __post_init__(self) -> None:
        self.whole = self.left


@dataclass(frozen=True)
class PdlPattern(RewritePattern):
    """One `pdl.pattern`."""

    pattern: pdl.PatternOp
    matcher: Matcher
    roots: tuple[type[Operation], ...]  # for the driver: what need not be tried
    ctx: Context
    budget: Budget

    @property
    def name(self) -> str:
        """The symbol of the pattern, or what stands for one."""
        symbol = self.pattern.sym_name
        return f"@{symbol.data}" if symbol is not None else "a pattern without a name"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
        bound = next(self.matcher.matches(op), None)
        if bound is None:
            return
        if self.budget.left == 0:
            problem = f"still fires after {self.budget.whole} rewrites: patterns undo each other"
            hint = "max-rewrites=N allows for more"
            raise PassFailedException(complaint(self.pattern, problem, hint=hint))
        self.budget.left -= 1
        remark(op, "apply-pdl", f"{self.name} applied")
        APPLIED.add()
        last = self.pattern.body.block.last_op
        assert isinstance(last, pdl.RewriteOp), "the verifier of pdl.pattern wants it"
        Rewriting(self.ctx, rewriter, op, bound).run(last)


@dataclass(frozen=True)
class ApplyPdlPass(ModulePass):
    """Rewrite whatever the patterns of a PDL file match, until none does.

    At each operation the pattern of the highest benefit comes first; of equals, the first in the
    file. New operations carry the location of the matched one. Pure operations that nobody reads
    are erased. Options: file is the text with the patterns, and the first word may be left out:
    --apply-pdl=FILE; max-rewrites ends patterns that undo each other.

    Needs: nothing. Keeps: what the patterns make. Order: any.
    """

    name: ClassVar[str] = "apply-pdl"  # pyright: ignore[reportIncompatibleVariableOverride]
    statistics: ClassVar = (APPLIED,)
    positional: ClassVar[str] = "file"

    file: str
    max_rewrites: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        count = sum(1 for _ in op.walk())
        most = self.max_rewrites
        budget = Budget(MOST_FOR_EACH * count + MOST_BESIDES if most is None else most)
        rewrite(op, *read_patterns(self.file, ctx, budget))


def read_patterns(path: str, ctx: Context, budget: Budget) -> list[RewritePattern]:
    """Return the patterns of a file, those of the highest benefit first.

    Raises: DiagnosticError or VerifyException at a place in the file.
    """
    module = parse_module(ctx, read_text(path), path)
    verify(module)
    found = list(_patterns(module))
    if not found:
        raise DiagnosticError(f"{path}:1:1: error: there is no pdl.pattern in this file")
    found.sort(key=lambda pattern: -pattern.benefit.value.data)
    return [_pattern(pattern, root_of(pattern), ctx, budget) for pattern in found]


def _pattern(
    pattern: pdl.PatternOp, root: SSAValue, ctx: Context, budget: Budget
) -> RewritePattern:
    require_supported(pattern, root)
    return PdlPattern(pattern, Matcher(pattern, root), _roots(root, ctx), ctx, budget)


def _roots(root: SSAValue, ctx: Context) -> tuple[type[Operation], ...]:
    """Return the classes of the operations that a root may match: ours, and xDSL's of its name."""
    pdl_op = definition(root)
    assert isinstance(pdl_op, pdl.OperationOp), "a root is an operation"
    if pdl_op.opName is None:
        return (Operation,)
    name = pdl_op.opName.data
    found = ctx.get_optional_op(name)
    theirs = get_all_dialects().get(name.partition(".")[0])
    known = [] if found is None or theirs is None else [*theirs().operations]
    same = [op_type for op_type in known if op_type.name == name]
    return (UnregisteredOp, *([] if found is None else [found]), *same)


def _patterns(module: ModuleOp) -> Iterator[pdl.PatternOp]:
    """Yield the patterns of a module and of the modules in it."""
    for op in module.ops:
        if isinstance(op, pdl.PatternOp):
            yield op
        elif isinstance(op, ModuleOp):
            yield from _patterns(op)
        else:
            raise DiagnosticError(complaint(op, "is no pdl.pattern", hint="patterns stand alone"))
