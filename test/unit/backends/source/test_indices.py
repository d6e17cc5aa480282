"""Conditions on indices as text: as few minus signs as they can have, and the same truth."""

from __future__ import annotations

import pytest
from xdsl.ir.affine import AffineExpr

from nn_opt.backends.source.gpu_languages import language_named
from nn_opt.backends.source.indices import Indices

X, Y = AffineExpr.dimension(0), AffineExpr.dimension(1)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (-X, "i <= 0"),
        (-X + 15, "i < 16"),
        (-X - X + 7, "2 * i < 8"),
        (X * -4 - Y * 2 + 9, "4 * i + 2 * j < 10"),
        (-X + -3, "i < -2"),
        (X - 3, "i - 3 >= 0"),
        (-X + Y + 3, "-i + j + 3 >= 0"),
    ],
)
def test_a_condition_has_its_negative_terms_on_the_other_side(expr: AffineExpr, text: str):
    indices = Indices(language_named("opencl"), ["i", "j"], [(-20, 20), (-20, 20)])
    assert indices.conditions([expr]) == [text]
    for i in range(-20, 21):
        for j in (-20, -3, 0, 1, 20):
            assert eval(text, {"i": i, "j": j}) == (expr.eval([i, j], []) >= 0)
