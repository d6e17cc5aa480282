"""The page of the passes and pipelines, from the table of passes and their docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable
from pathlib import Path

from xdsl.passes import ModulePass
from xdsl.utils.hints import type_repr

from nn_opt.instruments.statistics import declared
from nn_opt.pass_specs import field_types
from nn_opt.pipeline_text import FUNCTION, MODULE
from nn_opt.pipelines import LOWER_TO_LLVM, LOWER_TO_LOOPS, OPTIMIZE_GRAPH, PIPELINES
from nn_opt.registry import FUNCTION_PASSES, PASSES, load_pass

ROOT = Path(__file__).resolve().parents[2]
INTRODUCTION = """# Passes and pipelines

Every pass and pipeline is a flag of `nn-opt`; they run in the order in which they are given.
`nn-opt --pass-help=NAME` says the same, [the command line](command-line.md) how options
are given, and [Write a pass](write-a-pass.md) how one is made. xDSL's own passes are flags, too:
`--xdsl-NAME`; `nn-opt --list-passes` has them all.

Written by `docs/generate.py` from the passes themselves.
"""
GROUPS = {
    "Passes on graphs": OPTIMIZE_GRAPH,
    "Passes down to loops": LOWER_TO_LOOPS,
    "Passes down to LLVM": LOWER_TO_LLVM,
}
OTHERS = "Other passes"
WORDS = re.compile(r"\b(Needs|Keeps|Leaves|Order|Fails|Raises)(?=[:, ])")


def passes_page() -> str:
    """Return the text of docs/passes.md."""
    parts = [INTRODUCTION, "## Pipelines\n"]
    parts += [pipeline_entry(name, steps) for name, steps in PIPELINES.items()]
    for title, names in groups().items():
        parts.append(f"## {title}\n")
        parts += [pass_entry(name) for name in names]
    return "\n".join(parts)


def groups() -> dict[str, list[str]]:
    """Return the passes by the pipeline in which they come first."""
    seen: set[str] = set()
    found: dict[str, list[str]] = {}
    for title, steps in (*GROUPS.items(), (OTHERS, tuple(PASSES))):
        found[title] = [name for name in dict.fromkeys(steps) if name not in seen]
        seen |= set(steps)
    return found


def pipeline_entry(name: str, steps: Iterable[str]) -> str:
    rest, links = tuple(steps), list[str]()
    while rest:
        inner = next(
            (n for n, s in PIPELINES.items() if n != name and rest[: len(s)] == s), rest[0]
        )
        links.append(f"[{inner}](#{inner})")
        rest = rest[len(PIPELINES.get(inner, (inner,))) :]
    return f"### {name}\n\n{', '.join(links)}\n"


def pass_entry(name: str) -> str:
    """Return the section of one pass."""
    cls = load_pass(name)
    lines = [f"### {name}\n", f"{described(cls)}\n"]
    if options := field_types(cls):
        lines += ["| Option | Type | Default |", "|---|---|---|"]
        lines += [
            f"| `{o}` | `{type_repr(kind)}` | {default_of(cls, o)} |" for o, kind in options.items()
        ]
        lines.append("")
    if counters := declared(cls):
        lines.append("Statistics: " + ", ".join(f"`{c.name}` ({c.text})" for c in counters) + ".\n")
    anchors = [MODULE, FUNCTION] if name in FUNCTION_PASSES else [MODULE]
    lines.append(f"Runs on {' or '.join(f'`{a}`' for a in anchors)}. {links_of(name)}\n")
    return "\n".join(lines)


def default_of(cls: type[ModulePass], option: str) -> str:
    """Return the default of an option as one writes it, or that it has none."""
    field = next(f for f in dataclasses.fields(cls) if f.name == option.replace("-", "_"))
    value = field.default
    if value is dataclasses.MISSING:
        return "has to be given"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def described(cls: type[ModulePass]) -> str:
    """Return the docstring; the words that say what a pass needs and leaves stand out."""
    text = inspect.cleandoc(cls.__doc__ or "")
    return WORDS.sub(r"**\1**", text)


def links_of(name: str) -> str:
    """Return links to the source of a pass and to its test."""
    module = PASSES[name].partition(":")[0]
    source = module.removeprefix("nn_opt.").replace(".", "/") + ".py"
    if not (ROOT / source).exists():
        source = f"nn_opt/{source}"
    links = [f"[{source}](../{source})"]
    test = f"test/lit/passes/{name}.mlir"
    if (ROOT / test).exists():
        links.append(f"[{test}](../{test})")
    return ", ".join(links)
