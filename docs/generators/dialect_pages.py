"""A page for each dialect, from the definitions of its ops and the files that test them."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    VectorType,
)
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import IRDLOperation, OptionalDef, VariadicDef

from nn_opt.dialects.gpu import Gpu
from nn_opt.dialects.graph import Graph, layouts, shapes
from nn_opt.dialects.llvm import LLVM
from nn_opt.dialects.loop import Loop
from nn_opt.dialects.sched import Sched
from nn_opt.dialects.tensor import Tensor

ROOT = Path(__file__).resolve().parents[2]
DIALECTS = (Graph, Tensor, Loop, Gpu, Sched, LLVM)
WRITTEN = "Written by `docs/generate.py` from the definitions of the ops"
INDEX = f"""# Dialects

A module mixes ops of several dialects; each level of lowering has one of its own.

| Dialect | What its ops are |
|---|---|
{{rows}}

Beside them stand the dialects of xDSL that mean what they mean in MLIR: `builtin`, `func`, `arith`,
`math`, `memref`, `vector`, `scf`, `cf`, and `gpu` and `llvm`, which have some ops more here.
`nn-opt --show-dialects` lists them, `nn-opt --show-dialects=graph` the ops of one. [The syntax of
the IR](ir-syntax.md) is MLIR's.

{WRITTEN}.
"""
KINDS: dict[type[Attribute], str] = {
    AffineMapAttr: "affine map",
    AnyFloat: "float",
    ArrayAttr: "array",
    DenseArrayBase: "numbers",
    FloatAttr: "number",
    IndexType: "index",
    IntegerAttr: "integer",
    IntegerType: "integer",
    MemRefType: "buffer",
    StringAttr: "string",
    SymbolRefAttr: "symbol",
    TensorType: "tensor",
    UnitAttr: "flag",
    VectorType: "vector",
}


def own_ops(dialect: Dialect) -> list[type[IRDLOperation]]:
    """Return the ops that are defined here and not in xDSL."""
    ops = [op for op in dialect.operations if op.__module__.startswith("nn_opt.")]
    return [op for op in ops if issubclass(op, IRDLOperation)]


def index_page() -> str:
    """Return the text of docs/dialects.md."""
    rows = [
        f"| [`{d.name}`](dialects/{d.name}.md) | {first_line(package_doc(d)).partition(': ')[2]} |"
        for d in DIALECTS
    ]
    return INDEX.format(rows="\n".join(rows))


def dialect_page(dialect: Dialect) -> str:
    """Return the text of docs/dialects/NAME.md: families of ops as the source has them."""
    parts = [
        f"# The dialect {dialect.name}\n",
        f"{capital(package_doc(dialect).partition(': ')[2])}\n",
    ]
    if types := [a for a in dialect.attributes if a.__module__.startswith("nn_opt.")]:
        parts.append("## Attributes and types\n")
        parts += [f"- `{attribute.name}`: {item(document(attribute))}" for attribute in types]
        parts.append("")
    examples = example_lines(dialect)
    families: dict[str, list[type[IRDLOperation]]] = {}
    for op in own_ops(dialect):
        families.setdefault(op.__module__, []).append(op)
    for module, ops in families.items():
        source = module.removeprefix("nn_opt.").replace(".", "/") + ".py"
        parts.append(f"## {family_title(module)}\n\nDefined in [`{source}`](../../{source}).\n")
        parts += [op_entry(op, examples) for op in sorted(ops, key=lambda op: op.name)]
    if dialect is Graph:
        parts += shape_rules()
    return "\n".join([*parts, f"{WRITTEN}; the examples are from the tests.\n"])


def item(text: str) -> str:
    """Return a text as it stands in a list: its further lines belong to the item."""
    return text.replace("\n", "\n  ").replace("\n  \n", "\n\n")


def shape_functions() -> dict[str, str]:
    """Return the rules by which ops of graph infer shapes, and what they say."""
    return {
        name: inspect.cleandoc(rule.__doc__ or "")
        for name, rule in sorted((vars(layouts) | vars(shapes)).items())
        if name.endswith("_shape") and inspect.isfunction(rule)
    }


def shape_rules() -> Iterator[str]:
    """Yield the section of the rules for shapes."""
    yield "## Rules for shapes\n"
    yield (
        "An op infers its result's shape, and verifies it, by a function of integers, in"
        " [shapes.py](../../dialects/graph/shapes.py) or"
        " [layouts.py](../../dialects/graph/layouts.py).\n"
    )
    for name, text in shape_functions().items():
        yield f"### {name}\n\n```text\n{text}\n```\n"


def family_title(module: str) -> str:
    """Return the first words of a module's docstring, as a heading."""
    title = first_line(sys.modules[module].__doc__ or module)
    return capital(re.split(r"[:;.]", title)[0])


def op_entry(op: type[IRDLOperation], examples: Sequence[str]) -> str:
    """Return the section of one op: what it means, how it is written, what its parts are."""
    lines = [f"### {op.name}\n", f"{linked(document(op))}\n"]
    rule = f"{op.name.partition('.')[2]}_shape"
    if rule in shape_functions() and rule not in document(op) and op.name.startswith("graph."):
        lines.append(f"Shapes: [`{rule}`](#{rule}).\n")
    example = "\n".join(example_of(op.name, examples))
    lines.append(f"<!-- fragment -->\n```mlir\n{example}\n```\n")
    definition = op.get_irdl_definition()
    kinds = {
        "Operands": [part(n, d, types(d)) for n, d in definition.operands],
        "Attributes": [part(n, d, types(d)) for n, d in definition.properties.items()],
        "Results": [part(n, d, types(d)) for n, d in definition.results],
        "Regions": [part(n, d, "") for n, d in definition.regions],
        "Traits": sorted(type(trait).__name__ for trait in op.traits.traits),
    }
    lines.append(". ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names))
    return "\n".join([*lines, ""])


def linked(text: str) -> str:
    """Return a text whose names of rules for shapes lead to them."""
    return re.sub(
        r"`(\w+_shape)`",
        lambda m: f"[{m[0]}](#{m[1]})" if m[1] in shape_functions() else m[0],
        text,
    )


def part(name: str, definition: object, kind: str) -> str:
    """Return one operand, attribute or result: its name, what it is, how many there may be."""
    words = [kind] if kind else []
    if isinstance(definition, OptionalDef) or type(definition).__name__ == "OptPropertyDef":
        words += [] if kind == "flag" else ["optional"]
    elif isinstance(definition, VariadicDef):
        words.append("any number")
    return f"`{name}` ({', '.join(words)})" if words else f"`{name}`"


def types(definition: object) -> str:
    """Return what an operand, attribute or result may be, if it is one of few things."""
    constraint = getattr(definition, "constr", None)
    constraint = getattr(constraint, "constraint", constraint)  # of one
    constraint = getattr(constraint, "constr", constraint)  # of a range
    bases = constraint.get_bases() if hasattr(constraint, "get_bases") else None
    words = sorted({KINDS.get(base, f"`{base.name}`") for base in bases or ()})
    return " or ".join(words) if len(words) < 4 else ""


def example_lines(dialect: Dialect) -> list[str]:
    """Return the IR of the tests of a dialect's syntax, without comments."""
    files = sorted((ROOT / "test" / "lit" / "dialects").glob(f"{dialect.name}*.mlir"))
    text = "".join(path.read_text() for path in files if "invalid" not in path.name)
    return [line for line in text.split("\n") if not line.strip().startswith("//")]


def example_of(name: str, lines: Sequence[str]) -> list[str]:
    """Return the first use of an op: its line, and those of its regions or types."""
    named = re.compile(rf'(?<![\w."]){re.escape(name)}(?![\w.])')
    start = next(k for k, line in enumerate(lines) if named.search(line))
    indent = len(lines[start]) - len(lines[start].lstrip())
    return [line[indent:].partition("  //")[0] for line in whole(lines[start:])]


def whole(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines until all brackets are closed and no type follows."""
    depth = 0
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        yield line
        text = re.sub(r'"[^"]*"|->', "", line)
        depth += sum(text.count(mark) for mark in "([{<") - sum(text.count(m) for m in ")]}>")
        if depth <= 0 and not after.strip().startswith(":"):
            return


def package_doc(dialect: Dialect) -> str:
    """Return the docstring of the package of a dialect, which says `name: what it is`."""
    return inspect.cleandoc(sys.modules[f"nn_opt.dialects.{dialect.name}"].__doc__ or "")


def document(thing: type[Operation] | type[Attribute]) -> str:
    return inspect.cleandoc(thing.__doc__ or "")


def first_line(text: str) -> str:
    return text.split("\n")[0].rstrip(".")


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
