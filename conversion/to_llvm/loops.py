"""loop.for and loop.if: rolled, expanded, or skipped."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import PassFailedException

from nn_opt.conversion.to_llvm.addressing import (
    both,
    compare,
    evaluate_expr,
    in_order,
    loop_range,
    not_negative,
)
from nn_opt.conversion.to_llvm.code import NO_WRAP, Chunk, Code
from nn_opt.conversion.to_llvm.indices import Form, constant_form
from nn_opt.conversion.to_llvm.parallel import lower_parallel
from nn_opt.conversion.to_llvm.registers import Place, changed_in, held
from nn_opt.dialects import loop
from nn_opt.ir.diagnostics import complaint


def lower_for(code: Code, op: loop.ForOp) -> None:
    """loop.for  ->  blocks with a back edge, or its body once an iteration"""
    if op.how is loop.ForKind.VECTOR:
        problem = "is still a loop over lanes"
        raise PassFailedException(complaint(op, problem, hint="run --vectorize-loops first"))
    if op.trips <= 1 or op.how is loop.ForKind.UNROLL:
        for iteration in range(op.trips):
            code.indices[op.index] = constant_form(iteration)
            code.lower(op.body.block)
    elif op.how is loop.ForKind.PARALLEL and code.may_outline:
        lower_parallel(code, op)
    else:
        lower_rolled(code, op)


def lower_rolled(code: Code, op: loop.ForOp) -> None:
    """Run the body at least once, then jump back while iterations are left."""
    carried = changed_in(code, op)
    initial = [held(code, registers, place) for registers, place in carried]
    before = code.current
    header = code.enter([code.index, *(registers.types[place] for registers, place in carried)])
    index, *arguments = header.block.args
    name_index(code, op, index)
    for (registers, place), argument in zip(carried, arguments, strict=True):
        registers.values[place] = argument
    code.lower(op.body.block)
    code.location = op.location
    results = [held(code, registers, place) for registers, place in carried]
    kept = drop_unchanged(header, initial, results)
    step = code.emit(llvm.AddOp, (index, code.integer(1)), code.index, NO_WRAP)
    more = compare(code, "ult", step, code.integer(op.trips))
    latch = code.current
    code.leave()
    first = [code.integer(0), *(initial[k] for k in kept)]
    code.jump(before, header.block, first)
    after = code.start(())
    again = [step, *(results[k] for k in kept)]
    code.branch(latch, more, header.block, again, after.block, [])
    settle(code, carried, initial, results, kept)


def name_index(code: Code, op: loop.ForOp, index: SSAValue) -> None:
    """Let the loop's variable be a machine value with a known range."""
    index.name_hint = op.index.name_hint
    label = f"loop %{op.index.name_hint or op.index}"
    atom = code.atom(index, loop_range(op.trips), label)
    code.indices[op.index] = in_order(op, Form(((atom, 1),), 0))


def drop_unchanged(header: Chunk, initial: list[SSAValue], results: list[SSAValue]) -> list[int]:
    """Return which carried values change; the others become what they were before the loop."""
    kept: list[int] = []
    for k, argument in reversed(list(enumerate(header.block.args[1:]))):
        if results[k] is not argument:
            kept.append(k)
            continue
        results[:] = [initial[k] if result is argument else result for result in results]
        argument.replace_all_uses_with(initial[k])
        header.block.erase_arg(argument)
    return kept[::-1]


def settle(
    code: Code,
    carried: list[Place],
    initial: list[SSAValue],
    results: list[SSAValue],
    kept: list[int],
) -> None:
    """Let each register hold what the loop left in it."""
    for (registers, place), value in zip(carried, initial, strict=True):
        registers.values[place] = value
    for k in kept:
        registers, place = carried[k]
        registers.values[place] = results[k]
        code.places[results[k]] = (code.depth, True)


def lower_if(code: Code, op: loop.IfOp) -> None:
    """loop.if  ->  a branch around its body; nothing if the answer is known"""
    forms = [evaluate_expr(code, expr, op.indices) for expr in op.conditions.data.results]
    condition = both(code, [not_negative(code, form) for form in forms])
    if condition is False:
        return
    if condition is True:
        code.lower(op.body.block)
        return
    assert not isinstance(condition, bool)
    changed = changed_in(code, op)
    old = [held(code, registers, place) for registers, place in changed]
    before = code.current
    then = code.enter(())
    code.lower(op.body.block)
    code.location = op.location
    new = [held(code, registers, place) for registers, place in changed]
    last = code.current
    code.leave()
    merged = [k for k in range(len(changed)) if new[k] is not old[k]]
    after = code.start([changed[k][0].types[changed[k][1]] for k in merged])
    code.branch(before, condition, then.block, [], after.block, [old[k] for k in merged])
    code.jump(last, after.block, [new[k] for k in merged])
    for k, argument in zip(merged, after.block.args, strict=True):
        registers, place = changed[k]
        registers.values[place] = argument
        code.places[argument] = (code.depth, True)


def lower_apply(code: Code, op: loop.ApplyOp) -> None:
    """loop.apply  ->  nothing: the index is folded into what uses it"""
    code.indices[op.result] = evaluate_expr(code, op.map.data.results[0], op.indices)
