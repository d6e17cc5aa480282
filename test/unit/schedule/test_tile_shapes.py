"""The register tiles of matrix products: they fit, and products of all sizes compute."""

import re

import numpy as np
import pytest

import nn_opt
from nn_opt.build import level_text
from nn_opt.ir.parsing import make_context, parse_module
from nn_opt.ir.target import TARGETS, target_named
from nn_opt.schedule.defaults.tile_shapes import even, product_tile

PRODUCT = """
func.func @main(%x: tensor<{m}x{k}xf32>, %w: tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %y = graph.matmul %x, %w : (tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32>
  func.return %y : tensor<{m}x{n}xf32>
}}"""
JUMP = re.compile(r"\s(?:j\w+|b\.\w+|cbn?z|tbn?z)\s(?:.*,\s*)?(\.L\w+)")
STACK = re.compile(r"[xyz]mm\d+.*\(%rsp|\(%rsp.*[xyz]mm\d+|\b(?:ld|st)[rp]\s+[qv]\d.*\[sp")


@pytest.mark.parametrize("name", list(TARGETS))
def test_sums_and_what_feeds_them_fit_in_registers(name: str):
    target = target_named(name)
    for rows in (1, 2, 3, 5, 7, 8, 13, 64, 1000):
        for columns in (1, 7, 17, 100, 1000, 4096):
            r, v = product_tile(rows, columns, target)
            assert r * v + v < target.vector_registers
            assert 1 <= r <= rows
            assert r == even(rows, r), "tiles of near-equal height"


def test_the_shapes_that_measure_best():
    target = target_named("x86-64-v4")
    assert product_tile(1024, 1024, target) == (8, 3)
    assert product_tile(1, 4096, target) == (1, 8)
    assert product_tile(2, 768, target) == (2, 8), "as many sums as hide an addition's latency"
    assert product_tile(1024, 1024, target_named("x86-64-v3")) == (6, 2)


def spills_in_loops(assembly: str) -> int:
    """Return how many lines between a label and a jump back to it use vectors on the stack."""
    lines = assembly.splitlines()
    labels = {line.partition(":")[0]: k for k, line in enumerate(lines) if line.startswith(".L")}
    jumps = [(k, match[1]) for k, line in enumerate(lines) if (match := JUMP.search(line))]
    inside = {i for k, label in jumps for i in range(labels.get(label, k), k)}
    return sum(bool(STACK.search(lines[i])) for i in inside)


@pytest.mark.parametrize("target", ["x86-64-v4", "x86-64-v3", "neon"])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 7, 8, 13])
def test_no_tile_spills(rows: int, target: str):
    text = PRODUCT.format(m=rows, k=96, n=200)
    assembly = level_text(parse_module(make_context(), text, "t.mlir"), target, "asm")
    assert spills_in_loops(assembly) == 0


@pytest.mark.parametrize(
    ("m", "k", "n"),
    [
        (1, 1, 1),
        (2, 5, 17),
        (3, 33, 100),
        (5, 8, 129),
        (7, 17, 47),
        (29, 4, 1),
        (33, 100, 1),
        (20, 9, 3),
    ],
)
def test_products_of_odd_sizes(m: int, k: int, n: int):
    rng = np.random.default_rng(m)
    x = rng.standard_normal((m, k)).astype(np.float32)
    w = rng.standard_normal((k, n)).astype(np.float32)
    module = parse_module(make_context(), PRODUCT.format(m=m, k=k, n=n), "t.mlir")
    result = nn_opt.compile(module, threads=1, cache=False)(x, w)
    np.testing.assert_allclose(result, x.astype(np.float64) @ w, rtol=1e-5, atol=1e-4)


def text_of(level: str, **sizes: int) -> str:
    """Return the module of a product at a level."""
    module = parse_module(make_context(), PRODUCT.format(**sizes), "t.mlir")
    return level_text(module, "x86-64-v4", level)


def test_few_columns_are_lanes_too():
    assert "vector<3xf32>" in text_of("vectorize-loops", m=64, k=64, n=3)


def test_rows_of_a_matrix_that_serve_one_result_are_summed_in_vectors():
    text = text_of("loop", m=64, k=512, n=1)
    assert 'loop.block "matmul.parts"' in text


def test_strips_of_many_rows_stay_in_cache_while_all_panels_pass():
    heads = [
        line for line in text_of("loop", m=4096, k=768, n=96).splitlines() if "loop.for" in line
    ]
    trips = [line.split("= 0 to ")[1].split()[0] for line in heads[:3]]
    assert trips == ["25", "2", "21"], "strips, panels, tiles of a strip: 25 * 21 * 8 rows"
    heads = [
        line for line in text_of("loop", m=256, k=768, n=96).splitlines() if "loop.for" in line
    ]
    assert [line.split("= 0 to ")[1].split()[0] for line in heads[:2]] == ["2", "32"]
