"""Vector loops become straight code on vectors, one lane an iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    ModuleOp,
)
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from nn_opt.dialects import loop
from nn_opt.ir.affine import compact, linear, range_of, same_sign_in
from nn_opt.ir.diagnostics import complaint
from nn_opt.ir.literals import scalar_value
from nn_opt.ir.types import element_type, vector_type
from nn_opt.ir.vector_arith import lanes_of, width_of
from nn_opt.passes.lanes import Lanes, erase, flat_step, is_one_dimensional, lane_type

MAX_LANES = 256  # 16 registers of 16 lanes: more would only spill
Flag = vector.CombiningKindFlag

COMBINERS: dict[type[Operation], vector.CombiningKindFlag] = {
    arith.AddfOp: Flag.ADD,
    arith.AddiOp: Flag.ADD,
    math.FmaOp: Flag.ADD,
    arith.MulfOp: Flag.MUL,
    arith.MuliOp: Flag.MUL,
    arith.MaximumfOp: Flag.MAXIMUMF,
    arith.MinimumfOp: Flag.MINIMUMF,
    arith.MaxnumfOp: Flag.MAXNUMF,
    arith.MinnumfOp: Flag.MINNUMF,
    arith.MaxSIOp: Flag.MAXSI,
    arith.MinSIOp: Flag.MINSI,
    arith.MaxUIOp: Flag.MAXUI,
    arith.MinUIOp: Flag.MINUI,
    arith.AndIOp: Flag.AND,
    arith.OrIOp: Flag.OR,
    arith.XOrIOp: Flag.XOR,
}


@dataclass(frozen=True)
class VectorizeLoopsPass(ModulePass):
    """Needs: loop without blocks. Leaves: loop without vector loops. Order: after lower-blocks.

    Fails on a vector loop that has no straight form on vectors: the schedule asked for it.
    """

    name = "vectorize-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nest in list(op.walk()):
            if isinstance(nest, loop.ForOp) and nest.how is loop.ForKind.VECTOR:
                Vectorizer(nest).run()


@dataclass
class Vectorizer(Lanes):
    """Rewrites one loop; `sums` are ops that combine a value with what one place holds."""

    sums: dict[Operation, SSAValue] = field(default_factory=dict[Operation, SSAValue])

    def run(self) -> None:
        """Put the vector form of the loop's body in the place of the loop."""
        if self.lanes > MAX_LANES:
            problem = f"has {self.lanes} iterations, at most {MAX_LANES} can be lanes"
            self.fail(self.nest, problem, hint="split the loop and vectorize the inner part")
        parent = self.nest.parent_op()
        while parent is not None:
            if isinstance(parent, loop.ForOp):
                self.ranges[parent.index] = (0, parent.trips - 1)
            parent = parent.parent_op()
        body, block = self.nest.body.block, self.nest.parent
        assert block is not None
        self.visit_block(body)
        for op in list(body.ops):
            op.detach()
            block.insert_op_before(op, self.nest)
        erase(self.nest)

    def fail(self, op: Operation, reason: str, *, hint: str = "") -> NoReturn:
        """Raise PassFailedException: the loop cannot be vectorised, for a reason at `op`."""
        name = f"%{self.lane.name_hint}" if self.lane.name_hint else "loop"
        what = "" if op is self.nest else f"{op.name} "
        problem = f"cannot vectorize {name}: {what}{reason}"
        raise PassFailedException(complaint(self.nest, problem, hint=hint))

    def visit_block(self, block: Block) -> None:
        """Vectorise each op of a block in place."""
        for op in block.ops:
            if isinstance(op, loop.StoreOp):
                self.find_combination(op)
        with self.nested():
            for op in list(block.ops):
                rule = RULES.get(type(op), Vectorizer.visit_other)
                rule(self, op)

    def visit_other(self, op: Operation) -> None:
        """arith.addf %a, %b : f32  ->  arith.addf %va, %vb : vector<16xf32>"""
        if op in self.sums:
            self.combine_lanes(op, self.sums[op])
            return
        if op.dialect_name() not in ("arith", "math") or op.regions:
            self.fail(op, "has no form on vectors")
        if not self.varies(op):
            return
        operands = [self.as_vector(value, op) for value in op.operands]
        self.emit_lanewise(op, operands)

    def visit_index_cast(self, op: Operation) -> None:
        """index_cast  ->  extsi, trunci or nothing: an index on lanes is an i64"""
        assert isinstance(op, arith.IndexCastOp)
        if not self.varies(op):
            return
        value = self.as_vector(op.input, op)
        source, target = width_of(element_type(value)), width_of(lane_type(op.result.type))
        if source == target:
            self.vectors[op.result] = value
            erase(op)
            return
        kind = arith.ExtSIOp if target > source else arith.TruncIOp
        type_ = vector_type(self.lanes, lane_type(op.result.type))
        self.replace(op, kind.create(operands=[value], result_types=[type_]))

    def visit_apply(self, op: Operation) -> None:
        """loop.apply f(%lane)  ->  f on a vector of indices"""
        assert isinstance(op, loop.ApplyOp)
        if self.varies(op):
            self.vectors[op.result] = self.indices(op.map.data.results[0], op.indices, op)
            erase(op)

    def visit_load(self, op: Operation) -> None:
        """load %m[..., %lane]  ->  load %m[..., 0] : vector<16xf32>, strided, or a gather"""
        assert isinstance(op, loop.LoadOp)
        if lanes_of(op.accessed) is not None:
            self.fail(op, "is on vectors already")
        if not self.varies(op):
            return
        steps = self.steps(op)
        if steps is None or (op.default is not None and not is_one_dimensional(op, steps)):
            self.visit_gather(op)
            return
        step = flat_step(op.memref, steps)
        values, exprs = self.at_lane_0(op)
        default = None if op.default is None else scalar_value(op.default)
        if step == 0:
            op.operands = [op.memref, *values]
            op.map = AffineMapAttr(AffineMap(len(values), 0, tuple(exprs)))
            return
        type_ = vector_type(self.lanes, op.accessed)
        new = loop.LoadOp(op.memref, values, exprs, default=default, type_=type_, stride=step)
        new.attributes |= op.attributes
        self.replace(op, new)

    def visit_gather(self, op: loop.LoadOp) -> None:
        """load %m[f(%lane)]  ->  gather 16 %m[f on a vector of indices]"""
        indices = [self.indices(expr, op.indices, op) for expr in op.map.data.results]
        default = None if op.default is None else scalar_value(op.default)
        self.replace(op, loop.GatherOp(self.lanes, op.memref, indices, default=default))

    def visit_store(self, op: Operation) -> None:
        """store %v, %m[..., %lane]  ->  store %vector, %m[..., 0] : vector<16xf32>"""
        assert isinstance(op, loop.StoreOp)
        if lanes_of(op.accessed) is not None:
            self.fail(op, "is on vectors already")
        steps = self.steps(op)
        if steps is None:
            self.fail(op, "goes to places that are not a fixed distance apart")
        step = flat_step(op.memref, steps)
        values, exprs = self.at_lane_0(op)
        if step == 0:
            self.visit_single_store(op)
        else:
            value = self.as_vector(op.value, op)
            self.insert(loop.StoreOp(value, op.memref, values, exprs, stride=step), op)
            erase(op)

    def visit_single_store(self, op: loop.StoreOp) -> None:
        """Leave a store of one value to one place, if it may run once instead of every time."""
        if op.value is self.lane or op.value in self.vectors:
            self.fail(op, "of different values goes to one place", hint="reorder the loops")
        combined = isinstance(op.value.owner, Operation) and op.value.owner in self.sums
        block = op.parent
        assert block is not None
        reads = [o for o in block.walk() if isinstance(o, loop.LoadOp) and o.memref is op.memref]
        if reads and not combined and self.depends(op.value, reads):
            self.fail(op, "of a value that the iteration before it stored has no vector form")
        values, exprs = self.at_lane_0(op)
        op.operands = [op.value, op.memref, *values]
        op.map = AffineMapAttr(AffineMap(len(values), 0, tuple(exprs)))

    def depends(self, value: SSAValue, sources: Sequence[Operation]) -> bool:
        """Return whether a value is computed from the result of one of the ops."""
        owner = value.owner
        if not isinstance(owner, Operation):
            return False
        return owner in sources or any(self.depends(v, sources) for v in owner.operands)

    def steps(self, op: loop.LoadOp | loop.StoreOp) -> list[int] | None:
        """Return how far each index moves from lane to lane; None if that is no constant."""
        if any(value in self.vectors for value in op.indices):
            return None
        if self.lane not in op.indices:
            return [0] * len(op.map.data.results)
        dim = list(op.indices).index(self.lane)
        forms = [linear(expr) for expr in op.map.data.results]
        atoms = [atom for form in forms for atom in form.terms]
        if any(dim in a.used_dims() and not isinstance(a, AffineDimExpr) for a in atoms):
            return None
        return [form.coefficient(dim) for form in forms]

    def at_lane_0(self, op: loop.LoadOp | loop.StoreOp) -> tuple[list[SSAValue], list[AffineExpr]]:
        """Return the indices of an access where the loop's variable is 0."""
        return self.without_lane(op.map.data.results, op.indices)

    def without_lane(
        self, exprs: Sequence[AffineExpr], values: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[AffineExpr]]:
        """Return expressions with 0 for the loop's variable, over the values that remain."""
        zeroed = [
            AffineExpr.constant(0) if value is self.lane else AffineExpr.dimension(position)
            for position, value in enumerate(values)
        ]
        return compact([expr.replace_dims_and_symbols(zeroed, ()) for expr in exprs], values)

    def find_combination(self, store: loop.StoreOp) -> None:
        """Note an op that combines a value with what a single place holds, to be stored there."""
        combine = store.value.owner
        if type(combine) not in COMBINERS or not store.value.has_one_use():
            return
        assert isinstance(combine, Operation)
        steps = self.steps(store)
        if steps is None or any(steps) or combine.parent is not store.parent:
            return
        candidates = combine.operands[2:] if isinstance(combine, math.FmaOp) else combine.operands
        for value in candidates:
            load = value.owner
            if not isinstance(load, loop.LoadOp) or not value.has_one_use():
                continue
            if same_place(load, store):
                self.sums[combine] = value
                return

    def combine_lanes(self, op: Operation, held: SSAValue) -> None:
        """add %held, %v  ->  add %held, (sum of all lanes of %v)"""
        others = [self.as_vector(v, op) for v in op.operands if v is not held]
        if isinstance(op, math.FmaOp):
            left, right = others
            others = [self.insert(arith.MulfOp(left, right), op).results[0]]
        flags = [FastMathFlag.REASSOC] if isinstance(held.type, AnyFloat) else []
        reduction = vector.ReductionOp.create(
            operands=others,
            result_types=[held.type],
            properties={
                "kind": vector.CombiningKindAttr(COMBINERS[type(op)]),
                "fastmath": arith.FastMathFlagsAttr(flags),
            },
        )
        total = self.insert(reduction, op).results[0]
        kind = arith.AddfOp if isinstance(op, math.FmaOp) else type(op)
        result = op.results[0]
        joined = kind.create(
            operands=[held, total], result_types=[held.type], properties=op.properties
        )
        new = self.insert(joined, op)
        result.replace_all_uses_with(new.results[0])
        self.sums[new] = held
        erase(op)

    def visit_for(self, op: Operation) -> None:
        """Vectorise the body of a loop inside."""
        assert isinstance(op, loop.ForOp)
        if op.how is loop.ForKind.VECTOR:
            self.fail(op, f"%{op.index.name_hint or 'i'} inside it is a vector loop too")
        self.ranges[op.index] = (0, op.trips - 1)
        self.visit_block(op.body.block)

    def visit_if(self, op: Operation) -> None:
        """Vectorise the body of a guard that is the same on all lanes, or holds on lane 0 alone."""
        assert isinstance(op, loop.IfOp)
        self.drop_lane(op)
        if not self.varies(op):
            self.visit_block(op.body.block)
            return
        if not self.only_lane_0(op):
            hint = "split the loop with a tail that is peeled, not guarded"
            self.fail(op, "holds on some lanes only", hint=hint)
        for inner in list(op.body.block.walk()):
            self.run_once(inner)
        values, exprs = self.without_lane(op.conditions.data.results, op.indices)
        ranges = [self.range(value) for value in values]
        open_ = [expr for expr in exprs if range_of(expr, ranges)[0] < 0]
        if open_:
            op.operands, open_ = compact(open_, values)
            op.conditions = AffineMapAttr(AffineMap(len(op.operands), 0, tuple(open_)))
            return
        for inner in list(op.body.block.ops):
            inner.detach()
            self.insert(inner, op)
        erase(op)

    def drop_lane(self, guard: loop.IfOp) -> None:
        """if (15 - 4 * %i - %lane)  ->  if (15 - 4 * %i), where lanes make no difference"""
        if self.lane not in guard.indices:
            return
        position, exprs = list(guard.indices).index(self.lane), guard.conditions.data.results
        if all(same_sign_in(expr, position, self.lanes) for expr in exprs):
            guard.operands, exprs = self.without_lane(exprs, guard.indices)
            guard.conditions = AffineMapAttr(AffineMap(len(guard.operands), 0, tuple(exprs)))

    def only_lane_0(self, guard: loop.IfOp) -> bool:
        """Return whether one of the conditions excludes every lane but the first."""
        if any(value in self.vectors for value in guard.indices):
            return False
        ranges = [
            (1, self.lanes - 1) if value is self.lane else self.range(value)
            for value in guard.indices
        ]
        return any(range_of(expr, ranges)[1] < 0 for expr in guard.conditions.data.results)

    def run_once(self, op: Operation) -> None:
        """Let an op that runs on lane 0 alone stay as it is, with 0 for the loop's variable."""
        if any(value in self.vectors for value in op.operands):
            self.fail(op, "under a guard that holds on lane 0 reads a value of every lane")
        if isinstance(op, loop.LoadOp | loop.StoreOp):
            fixed = len(op.operands) - len(op.indices)
            values, exprs = self.at_lane_0(op)
            op.operands = [*op.operands[:fixed], *values]
            op.map = AffineMapAttr(AffineMap(len(values), 0, tuple(exprs)))
        elif self.lane in op.operands:
            self.fail(op, "under a guard that holds on lane 0 reads the loop's variable")

    def visit_uniform(self, op: Operation) -> None:
        """Leave an op that is the same on all lanes."""
        if self.varies(op):
            self.fail(op, "differs from lane to lane")


def same_place(load: loop.LoadOp, store: loop.StoreOp) -> bool:
    """Return whether both accesses name one place in the same words."""
    return (
        load.memref is store.memref
        and load.default is None
        and list(load.indices) == list(store.indices)
        and load.map == store.map
        and load.parent is store.parent
    )


RULES: dict[type[Operation], Callable[[Vectorizer, Operation], None]] = {
    loop.ForOp: Vectorizer.visit_for,
    loop.IfOp: Vectorizer.visit_if,
    loop.LoadOp: Vectorizer.visit_load,
    loop.StoreOp: Vectorizer.visit_store,
    loop.ApplyOp: Vectorizer.visit_apply,
    loop.ViewOp: Vectorizer.visit_uniform,
    arith.ConstantOp: Vectorizer.visit_uniform,
    arith.IndexCastOp: Vectorizer.visit_index_cast,
}
