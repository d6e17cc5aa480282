"""Index expressions: simplification keeps the value at every point and finds the plain form."""

from __future__ import annotations

from itertools import product

import pytest
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from nn_opt.ir.affine import Range, flatten, is_sum, linear, same_sign_in

A, B = AffineDimExpr(0), AffineDimExpr(1)
LANES: list[Range] = [(0, 1), (0, 15)]
FUSED = 16 * A + B  # a fused loop, split into vectors


@pytest.mark.parametrize(
    ("exprs", "shape", "offset"),
    [
        ([A, B], (2, 16), FUSED),
        ([FUSED // 4, B % 4], (8, 4), FUSED),
        # 16 divides neither 12 nor is divided by it: quotients meet only once they are merged.
        ([FUSED // 12, (4 * A + B // 4) % 3, B % 4], (3, 3, 4), FUSED),
    ],
)
def test_a_fused_loop_walks_through_the_buffer(
    exprs: list[AffineExpr], shape: tuple[int, ...], offset: AffineExpr
) -> None:
    found = flatten(exprs, shape, LANES)
    assert is_sum(found)
    assert linear(found) == linear(offset)


def test_what_is_no_single_walk_keeps_its_value() -> None:
    exprs, shape = [FUSED // 12, (4 * A + B // 4) % 3, B % 3], (3, 3, 4)
    found = flatten(exprs, shape, LANES)
    for a, b in product(range(2), range(16)):
        i, j, k = (expr.eval((a, b), ()) for expr in exprs)
        assert found.eval((a, b), ()) == 12 * i + 4 * j + k


D0, D1 = AffineExpr.dimension(0), AffineExpr.dimension(1)


@pytest.mark.parametrize(
    ("expr", "same"),
    [
        (D0 * -4 - D1 + 99, True),
        (D0 * -4 - D1 + 98, False),
        (D0 * 4 + D1 - 8, True),
        (D0 * 4 + D1 - 7, False),
        (D0 * 3 + 1, True),
        (D0 * -4 - (D0 + D1) // 2 + 99, False),
        (D0 * -6 - D1 + 99, False),
    ],
    ids=str,
)
def test_lanes_decide_nothing_where_the_rest_moves_by_whole_vectors(expr: AffineExpr, same: bool):
    assert same_sign_in(expr, 1, 4) is same
    if same:
        for place in range(-30, 31):
            signs = {expr.eval([place, lane], []) >= 0 for lane in range(4)}
            assert len(signs) == 1
