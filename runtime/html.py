"""How a compiled model looks in a notebook: what goes in and out, its kernels, its memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from nn_opt.runtime.manifest import Kernel, Region, TensorInfo

WIDTH, HEIGHT = 640, 220  # of the picture of memory, in pixels
COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#76b7b2", "#9c755f")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts."""
    lines = [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
    lines += [f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows]
    return f"<table>{''.join(lines)}</table>"


def fold(title: str, content: str, *, is_open: bool = False) -> str:
    """Return content that a click on its title shows."""
    state = " open" if is_open else ""
    return f"<details{state}><summary>{escape(title)}</summary>{content}</details>"


def tensors_html(inputs: Sequence[TensorInfo], outputs: Sequence[TensorInfo]) -> str:
    """Return a table of what goes in and out."""
    rows = [("in", str(info)) for info in inputs] + [("out", str(info)) for info in outputs]
    return table(("", "tensor"), rows)


def kernels_html(kernels: Sequence[Kernel]) -> str:
    """Return a table of kernels, their nodes and arithmetic."""
    rows = [(k.name, ", ".join(k.nodes), f"{k.flops / 1e6:.3g}") for k in kernels]
    total = sum(kernel.flops for kernel in kernels) / 1e9
    title = f"{len(kernels)} kernels, {total:.3g} GFLOP"
    return fold(title, table(("kernel", "nodes", "MFLOP"), rows))


def plan_html(regions: Sequence[Region], arena_bytes: int) -> str:
    """Return a picture of the arena: time to the right, addresses upwards, a box a temporary."""
    if not regions or not arena_bytes:
        return "<p>no temporaries</p>"
    steps = max(region.last for region in regions) + 1
    boxes = "".join(
        _box(region, COLOURS[k % len(COLOURS)], WIDTH / steps, HEIGHT / arena_bytes)
        for k, region in enumerate(regions)
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img"'
        f' aria-label="temporaries: time by address">{boxes}</svg>'
    )


def _box(region: Region, colour: str, per_step: float, per_byte: float) -> str:
    """Return the box of one temporary, with its name and numbers on hovering."""
    height = region.size * per_byte
    top = max(0.0, HEIGHT - region.offset * per_byte - height)
    left, width = region.first * per_step, (region.last - region.first + 1) * per_step
    steps = f"steps {region.first} to {region.last}"
    what = f"{region.name}: {region.size:,} bytes at {region.offset:,}, {steps}"
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"'
        f' fill="{colour}" stroke="white" stroke-width="0.5"><title>{escape(what)}</title></rect>'
    )


def memory_html(plan: Sequence[Region], arena_bytes: int, weight_bytes: int) -> str:
    """Return the sizes, and the picture of the arena."""
    title = f"temporaries {arena_bytes / 1e6:.3g} MB, weights {weight_bytes / 1e6:.3g} MB"
    return fold(title, plan_html(plan, arena_bytes), is_open=True)
