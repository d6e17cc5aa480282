"""The only place that puts passes in order, and the loop that runs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from nn_opt.instrument import Instrument, hears_patterns
from nn_opt.ir.diagnostics import DiagnosticError
from nn_opt.ir.watching import watching
from nn_opt.pass_specs import field_types, make_pass, split_options, suggestion
from nn_opt.registry import PASSES, SOURCES, check_name, is_pass, load_pass, names_like

OPTIMIZE_GRAPH = (
    "infer-shapes",  # every later pass wants static shapes
    "recognize-int8",  # integers stay integers; floats would be folded from them
    "canonicalize",  # fewer ops for the others to look at
    "recognize-block-weights",  # weights of few bits stay so, for the same reason
    "fold-constants",  # weights that are transposed or computed by the model become weights
    "check-indices",  # constants name elements; what inputs may hold is noted
    "simplify-scans",  # recurrences do what they can once, or for all steps
    "simplify-inference",  # BatchNorm and Dropout become arithmetic
    "recognize-gelu",  # formulas that have an op
    "combine-products",  # queries, keys and values at once
    "widen-products",  # half floats are for memory; their factors are single
    "fold-scale-axis",  # ... that moves into the weights of convolutions
    "fold-constants",  # ... and is computed now
    "unfold-conv-transpose",  # convolutions and moves of pixels
    "unsqueeze-windows",  # signals as images one pixel high
    "pack-matmuls",  # weights in the order in which a tile reads them
    "choose-layout",  # blocked layouts; their transforms of weights are constant
    "lower-precision",  # bf16 where that is asked for; its rounding of weights is constant
    "choose-convolution",  # Winograd where it is faster; it transforms weights, too
    "fold-constants",  # ... so compute them now
    "canonicalize",  # neighbouring layout transforms cancel
    "cse",  # one of each
    "dce",  # and nothing unread
    "fuse-ops",  # what becomes one kernel
    "stream-softmax",  # in attention, its division comes last
    "keep-wide",  # what stays in it need not be stored in bytes
)
LOWER_TO_LOOPS = (
    "outline-kernels",  # a function for each kernel, identical ones once
    "convert-graph-to-tensor",  # index formulas
    "convert-tensor-to-loop",  # loop nests over buffers
    "default-schedules",  # a script beside each kernel
    "apply-schedule",  # ... run on its loops
)
LOWER_TO_LLVM = (
    "alternate-scans",  # recurrences find some of their weights in cache
    "lower-blocks",  # blocks become plain loads, arithmetic and stores
    "flatten-accesses",  # fused loops walk through buffers in one step
    "partition-loops",  # tails leave the loops that need no test
    "compact-buffers",  # tiles keep only what one iteration touches
    "tensorize-loops",  # loops marked with an intrinsic become it
    "vectorize-loops",  # loops marked `vector` become vector values
    "expand-math",  # functions without an instruction become polynomials
    "plan-memory",  # temporaries become offsets in one arena
    "convert-loop-to-llvm",  # control flow and addresses
)
LOWER_TO_C = (
    "lower-blocks",
    "partition-loops",
    "compact-buffers",
    "expand-math",  # the same polynomials as everywhere
    "plan-memory",
)
LOWER_TO_JS = (
    "lower-blocks",
    "partition-loops",
    "compact-buffers",
    "unroll-loops",  # tiles become variables
    "reuse-loads",  # ... and so does what their products share
    "plan-memory",  # numbers are doubles: functions are those of the engine
)
LOWER_TO_GPU = (
    "lower-thread-reductions",  # threads that reduce together join their parts
    "lower-blocks",
    "flatten-accesses",  # fused loops walk through buffers in one step
    "compact-buffers",  # tiles keep only what a block touches
    "tensorize-loops",
    "vectorize-loops",  # loads of neighbouring elements at once
    "unroll-loops",  # tiles become variables
    "convert-loop-to-gpu",  # kernels, and the host that launches them
    "insert-barriers",  # where threads read what others wrote
    "plan-memory",  # temporaries become offsets in one arena
    "gpu-verify",  # before any driver does
)
COMPILE = "compile"
# From the first of these on, up to the second, passes look at one function at a time, unless a
# scan calls kernels: several processes may lower them.
DIVIDED = ("convert-graph-to-tensor", "plan-memory")
PIPELINES: dict[str, tuple[str, ...]] = {
    "optimize-graph": OPTIMIZE_GRAPH,
    "lower-to-loops": LOWER_TO_LOOPS,
    "lower-to-llvm": LOWER_TO_LLVM,
    "lower-to-c": LOWER_TO_C,
    "lower-to-js": LOWER_TO_JS,
    "lower-to-gpu": LOWER_TO_GPU,
    COMPILE: (*OPTIMIZE_GRAPH, *LOWER_TO_LOOPS, *LOWER_TO_LLVM),
}
# Where the pipelines of others come from.
PIPELINE_SOURCES: dict[str, str] = {}


def expand(name: str, options: str = "") -> list[ModulePass]:
    """Return the passes that a pass or pipeline name stands for; a pipeline hands options on.

    Raises: DiagnosticError for an unknown name or option.
    """
    if name in PIPELINES:
        return _expand_pipeline(name, options)
    if not is_pass(name):
        hint = suggestion(name, [*names_like(name), *PIPELINES])
        hint = hint or "\n  hint: --list-passes lists the passes"
        raise DiagnosticError(f"error: unknown pass '{name}'{hint}")
    return [make_pass(name, options)]


def _expand_pipeline(name: str, options: str) -> list[ModulePass]:
    """Return the passes of a pipeline, each with those of the options that it has."""
    given = dict(split_options(name, options))
    rows = [_split(row) for row in PIPELINES[name]]
    known = {step: field_types(load_pass(step)) for step, _ in rows if given}
    have = dict.fromkeys(key for fields in known.values() for key in fields)
    for key in given:
        if key not in have:
            hint = suggestion(key, list(have))
            raise DiagnosticError(f"error: no pass of --{name} has an option '{key}'{hint}")
    made: list[ModulePass] = []
    for step, own in rows:
        values = own | {key: value for key, value in given.items() if key in known[step]}
        made.append(make_pass(step, " ".join(f"{k}={v}" for k, v in values.items())))
    return made


def _split(row: str) -> tuple[str, dict[str, str]]:
    """Return the name and the options of a row such as `fuse-ops{max-depth=4}`."""
    name, _, options = row.partition("{")
    return name, dict(split_options(name, options.removesuffix("}")))


def pipeline_owners() -> dict[str, str]:
    """Return where each pipeline comes from."""
    return {name: PIPELINE_SOURCES.get(name, "nn-opt") for name in PIPELINES}


def add_pipeline(name: str, rows: Iterable[str], source: str) -> None:
    """Add a pipeline of others; a definition that is run again takes the place of its first.

    Raises: DiagnosticError for a name that is taken, or is no name.
    """
    check_name(name)
    if name in PASSES:
        owner = SOURCES.get(name, "nn-opt")
        raise DiagnosticError(f"error: there is a pass --{name} already, of {owner}")
    owner = pipeline_owners().get(name, source)
    if owner != source:
        raise DiagnosticError(f"error: there is a pipeline --{name} already, of {owner}")
    PIPELINES[name] = tuple(rows)
    PIPELINE_SOURCES[name] = source


def stages(passes: Sequence[ModulePass]) -> tuple[list[ModulePass], ...]:
    """Split the passes of `compile`: for the whole model, for each function, for the whole."""
    names = [step.name for step in passes]
    begin, end = map(names.index, DIVIDED)
    return list(passes[:begin]), list(passes[begin:end]), list(passes[end:])


def scheduling_at_once(passes: Sequence[ModulePass]) -> list[ModulePass]:
    """Let a pass that finds schedules apply them where the next one would: no script is seen."""
    steps = list(passes)
    for k, pair in enumerate(pairwise(passes)):
        if tuple(step.name for step in pair) == ("default-schedules", "apply-schedule"):
            steps[k] = make_pass(pair[0].name, "apply-now")
    return steps


def run_passes(
    ctx: Context,
    module: ModuleOp,
    passes: Iterable[ModulePass],
    instruments: Sequence[Instrument] = (),
) -> None:
    """Run passes in order, those that all instruments let run; `Instrument` says who hears what."""
    with watching(tuple(filter(hears_patterns, instruments))):
        for step in passes:
            if all(instrument.should_run(step, module) for instrument in instruments):
                _run_pass(ctx, module, step, instruments)


def _run_pass(
    ctx: Context, module: ModuleOp, step: ModulePass, instruments: Sequence[Instrument]
) -> None:
    try:
        for instrument in instruments:
            instrument.before_pass(step, module)
        step.apply(ctx, module)
        for instrument in reversed(instruments):
            instrument.after_pass(step, module)
    except Exception as error:  # any: it is told of, and goes on
        for instrument in reversed(instruments):
            instrument.pass_failed(step, module, error)
        raise
