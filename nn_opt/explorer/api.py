"""`explore`: run passes on a source and keep what they did, as a page."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from nn_opt.explorer.code import Piece
from nn_opt.explorer.data import page_data
from nn_opt.explorer.emitters import Emitter, emitted
from nn_opt.explorer.page import page_html
from nn_opt.explorer.recorder import Recorder
from nn_opt.explorer.sources import Source, module_source, onnx_source, text_source
from nn_opt.instrument import Instrument
from nn_opt.ir.remarks import collect_remarks
from nn_opt.ir.statistics import collect_statistics
from nn_opt.pipelines import COMPILE

if TYPE_CHECKING:
    from onnx import ModelProto

    from nn_opt.pipeline import Pipeline

Word = Callable[[Exception], str]


@dataclass(frozen=True)
class Exploration:
    """What passes did, as a page; `error` is what one of them failed with."""

    html: str
    error: Exception | None = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file.

        Raises: DiagnosticError if that cannot be done.
        """
        from nn_opt.ir.files import write_text

        write_text(os.fspath(path), self.html)

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame that cannot reach the notebook."""
        page = html.escape(self.html, quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" width="100%" height="720"></iframe>'
        )


def explore(
    source: str | os.PathLike[str] | bytes | ModelProto | ModuleOp,
    pipeline: str | Pipeline | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    dims: Mapping[str, int] | None = None,
) -> Exploration:
    """Return the page of a run of passes, all of `compile` by default; write it to `path`, too.

    A pass that fails is shown with its error, which is also that of the result.

    dims: the sizes of a model's dimensions that have names.
    Raises: DiagnosticError, ParseError or VerifyException for a source that cannot be read.
    """
    from nn_opt.ir.parsing import make_context
    from nn_opt.pipeline import Pipeline

    chosen = pipeline if isinstance(pipeline, Pipeline) else Pipeline(pipeline or COMPILE)
    module, read = _read(source, dims or {})
    flags = [f"--dim={name}={size}" for name, size in (dims or {}).items()]
    explored = run_explored(make_context(), module, chosen, read, command=str(chosen), flags=flags)
    if path is not None:
        explored.save(path)
    return explored


def _read(source: Any, dims: Mapping[str, int]) -> tuple[ModuleOp, Source]:
    from nn_opt.origin import TEXT_SUFFIXES, parse

    if isinstance(source, ModuleOp):
        copy = source.clone()
        return copy, module_source(copy)
    if isinstance(source, str) and "\n" in source:
        return parse(source), text_source("<text>", source)
    if isinstance(source, str | os.PathLike):
        file = Path(cast("str | os.PathLike[str]", source))
        if file.suffix in TEXT_SUFFIXES:
            module = parse(file)
            return module, text_source(os.fspath(file), file.read_text(encoding="utf-8"))
        source = file
    from nn_opt.frontends.onnx import import_model, read_model

    model = read_model(source)
    return import_model(model, dims), onnx_source(model)


def run_explored(
    ctx: Context,
    module: ModuleOp,
    pipeline: Pipeline,
    source: Source,
    *,
    instruments: Sequence[Instrument] = (),
    command: str = "",
    flags: Sequence[str] = (),
    word: Word = str,
) -> Exploration:
    """Run a pipeline and return the page.

    command: what was asked for, to be shown.
    flags: what nn-opt needs besides passes to do the same.
    word: says what went wrong.
    """
    error: Exception | None = None
    said = ""
    with collect_remarks() as remarks, collect_statistics() as counts:
        recorder = Recorder(module, source, remarks, counts)
        try:
            pipeline.apply(ctx, module, [recorder, *instruments])
        except Exception as caught:  # any: the page says what it was, and the caller
            error, said = caught, word(caught)
            if recorder.steps:
                recorder.steps[-1].error = said
    texts: list[tuple[Emitter, Sequence[Piece]]] = []
    if error is None:
        try:
            texts = list(emitted(module, recorder.ops))
        except Exception as caught:  # any: a mistake of ours, and the rest is worth seeing
            error, said = caught, word(caught)
    data = page_data(recorder, pipeline.plan, command=command, flags=flags, error=said, texts=texts)
    return Exploration(page_html(data, f"{source.name} - nn-opt explorer"), error)
