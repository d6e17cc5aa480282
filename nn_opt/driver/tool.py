"""One run of nn-opt, from arguments to output; nothing is printed unless all went well."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, InterpretationError

from nn_opt.driver.arguments import Options, parse_arguments
from nn_opt.driver.instruments import Observers, Reports
from nn_opt.driver.reproducer import internal_error, recorded_arguments
from nn_opt.driver.sources import SPLIT, Chunk, load, numbered_text, read_chunks
from nn_opt.driver.streams import write_output
from nn_opt.instruments.remarks import Remarks, report
from nn_opt.ir.diagnostics import Diagnostic, DiagnosticError, diagnostics_of, read_diagnostics
from nn_opt.ir.parsing import make_context
from nn_opt.ir.printing import print_module
from nn_opt.ir.remarks import Remark
from nn_opt.ir.verify import verify
from nn_opt.ir.watching import attempt_of
from nn_opt.pipeline import Pipeline
from nn_opt.plans import print_plan

USER_ERRORS = (DiagnosticError, DiagnosticException, InterpretationError)


def run_tool(argv: list[str]) -> int:
    """Do what a command line says; return the exit status."""
    debug = "--debug" in argv
    options = None
    try:
        if argv[:1] == ["completion"]:
            from nn_opt.driver.completion import script

            sys.stdout.write(script(*argv[1:2] or [""]))
            return 0
        if argv[:1] == ["lsp"]:
            return _serve_editor()
        options = parse_arguments(argv)
        if options.run_reproducer:
            options = parse_arguments([*recorded_arguments(options.input), *argv])
        information = _information(options)
        if information is not None:
            sys.stdout.write(information)
            return 0
        if options.reduce is not None and options.output.endswith(".onnx"):
            from nn_opt.driver.reduce_onnx import reduce_file

            reduce_file(options)
            return 0
        return _run(options)
    except USER_ERRORS as error:
        if debug:
            raise
        _report([diagnostics_of(error)], [], options)
        return 1


def _serve_editor() -> int:
    try:
        from nn_opt.language_server.server import main
    except ImportError as error:
        problem = f"error: the language server cannot start: {error}"
        raise DiagnosticError(f"{problem}\n  hint: pip install 'nn-opt[lsp]'") from error
    main()
    return 0


def _information(options: Options) -> str | None:
    """Return the answer to an option that only asks."""
    if options.report:
        return _model_report(options)
    if not (options.list_passes or options.pass_help or options.show_dialects):
        return None
    from nn_opt.driver import listing

    if options.list_passes:
        return listing.list_passes()
    if options.pass_help:
        return listing.pass_help(options.pass_help)
    return listing.show_dialects(options.show_dialects or "all")


def _model_report(options: Options) -> str:
    if not options.input.endswith(".onnx"):
        raise DiagnosticError(f"{options.input}: error: --report takes a model, expected FILE.onnx")
    from nn_opt.driver.model_report import report_of, text_of

    return text_of(report_of(options.input, options.dims))


@dataclass(frozen=True)
class Outcome:
    """What became of one part of the input: its text, or diagnostics; and the remarks made."""

    text: str
    errors: Sequence[Diagnostic]
    remarks: list[Remark]


def _run(options: Options) -> int:
    pipeline = Pipeline.from_entries(options.passes)
    if options.dump_pass_pipeline:
        sys.stderr.write(print_plan(pipeline.plan))
    reports = Reports(options)
    outcomes: list[Outcome] = []
    problems: list[Sequence[Diagnostic]] = []
    chunks = read_chunks(options)
    for chunk in chunks:
        observers = Observers(options, reports)
        outcome = _process(chunk, options, pipeline, observers)
        outcomes.append(outcome)
        problems.append(_problems(chunk, outcome, options))
    if options.remarks is not None or options.remarks_format:
        _report_remarks(outcomes, options)
    sys.stderr.write(str(reports))
    if any(problems):
        _report(problems, chunks, options)
        return 1
    _write(f"{SPLIT}\n".join(outcome.text for outcome in outcomes), options)
    return 0


def _report_remarks(outcomes: Sequence[Outcome], options: Options) -> None:
    all_remarks = Remarks(options.remarks or "")
    all_remarks.remarks += [remark for outcome in outcomes for remark in outcome.remarks]
    sys.stderr.write(report(all_remarks, options.remarks_format or "text"))


def _report(
    problems: Sequence[Sequence[Diagnostic]], chunks: Sequence[Chunk], options: Options | None
) -> None:
    """Show the errors of each part of the input."""
    from nn_opt.driver.diagnostics import show

    sources = [
        {} if chunk.text is None else {chunk.filename: numbered_text(chunk)} if found else {}
        for chunk, found in zip(chunks, problems, strict=False)
    ]
    if options is None:
        sys.stderr.write(show(problems))
        return
    form, colour, limit = options.diagnostics_format, options.color, options.error_limit
    sys.stderr.write(show(problems, sources, form=form, colour=colour, limit=limit))


def _problems(chunk: Chunk, outcome: Outcome, options: Options) -> Sequence[Diagnostic]:
    """Return the diagnostics to show: the errors, or what differs from what the file expects."""
    if options.verify_diagnostics is None:
        return outcome.errors
    from nn_opt.driver.expectations import expected_messages, messages_of, mismatches

    remarks = [remark.diagnostic for remark in outcome.remarks]
    said = messages_of([*remarks, *outcome.errors], chunk.filename)
    expected = expected_messages(chunk.text or "", chunk.filename, chunk.first_line)
    return mismatches(expected, said, chunk.filename, options.verify_diagnostics)


def _process(chunk: Chunk, options: Options, pipeline: Pipeline, observers: Observers) -> Outcome:
    """Load, transform and print one part."""
    text = ""
    errors: Sequence[Diagnostic] = ()
    try:
        text = _transform(chunk, options, pipeline, observers)
    except Exception as caught:  # any: what is no user's mistake is ours, and is said so
        if options.debug and options.verify_diagnostics is None:
            raise
        errors = _worded(caught, chunk, observers)
    return Outcome(text, errors, observers.remarks.remarks)


def _worded(error: Exception, chunk: Chunk, observers: Observers) -> list[Diagnostic]:
    """Return the diagnostics of an error, each with a place."""
    if isinstance(error, USER_ERRORS):
        *others, last = diagnostics_of(error)
    else:
        step, kept = observers.progress.step, bool(observers.note)
        others, last = [], internal_error(chunk.filename, error, step, kept=kept)
    notes = list(last.notes)
    if attempt := attempt_of(error):
        notes += read_diagnostics(attempt)
    if note := observers.note:
        notes.append(Diagnostic("note", "", note))
    last = replace(last, notes=tuple(notes))
    return [replace(found, place=found.place or chunk.filename) for found in (*others, last)]


def _transform(chunk: Chunk, options: Options, pipeline: Pipeline, observers: Observers) -> str:
    ctx = make_context(allow_unregistered=options.allow_unregistered_dialect)
    timing = observers.reports.timing
    with timing.phase("(read)"):
        module = load(ctx, chunk, options)
    with timing.phase("(verify)"):
        verify(module)
    if options.target is not None:
        from nn_opt.ir.target import set_target, target_named

        set_target(module, target_named(options.target).name)
    instruments = observers.instruments(chunk.part)
    if options.explore:
        from nn_opt.explorer.command import explore_module

        return explore_module(ctx, module, pipeline, chunk, options, instruments)
    if options.bisect is not None:
        passes = [step for step in pipeline if observers.disabled.should_run(step, module)]
        return _bisect(ctx, module, options, passes, observers)
    pipeline.apply(ctx, module, instruments)
    if options.reduce is not None:
        from nn_opt.driver.reduce import reduce_module, save_weights_beside

        module = reduce_module(module, options.reduce)
        if options.emit_weights is None and not options.inline_weights:
            save_weights_beside(module, options.output)
    with timing.phase("(print)"):
        return _emit(module, options)


def _bisect(
    ctx: Context,
    module: ModuleOp,
    options: Options,
    passes: Sequence[ModulePass],
    observers: Observers,
) -> str:
    from nn_opt.driver.bisect import bisect

    assert options.bisect is not None
    if options.debug_counter:
        raise DiagnosticError("error: --bisect sets the counters itself: leave out --debug-counter")
    output = "bisect" if options.output == "-" else options.output
    return bisect(ctx, module, passes, options.bisect, output, [observers.progress])


def _emit(module: ModuleOp, options: Options) -> str:
    """Return the text of a module in the form asked for; write its weights where asked."""
    if options.emit not in ("mlir", "llvm-ir"):
        from nn_opt.driver.emit import emit_source

        return emit_source(module, options)
    if options.emit_weights is not None or options.inline_weights:
        from nn_opt.ir.weights import inline_weights, save_weights

        if options.emit_weights is not None:
            save_weights(module, options.emit_weights)
        if options.inline_weights:
            inline_weights(module)
    if options.emit == "llvm-ir":
        from nn_opt.backends import llvm

        return llvm.print_module(module, debug_info=options.debug_info)
    return print_module(module, generic=options.print_op_generic, locations=options.print_locations)


def _write(text: str, options: Options) -> None:
    if options.output == "-":
        write_output(text)
        return
    from nn_opt.ir.files import write_text

    write_text(options.output, text)
