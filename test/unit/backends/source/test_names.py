"""Names are like those of the IR, each given once, also beside names that carry numbers."""

from __future__ import annotations

from nn_opt.backends.source.names import Names


def test_wishes_are_kept_where_they_are_free():
    names = Names({"for"})
    assert [names.fresh(wish, "v") for wish in ("x", "x", "for", None, "0", "a.b")] == [
        "x", "x_1", "for_1", "v", "v0", "a_b",
    ]  # fmt: skip


def test_names_with_numbers_stay_free():
    names = Names()
    stem = names.fresh_stem("tile", "v")
    assert stem == "tile_at"
    assert names.fresh("tile_at3", "v") == "tile_at3_1"
    assert names.fresh("tile", "v") == "tile_1"


def test_a_stem_keeps_away_from_names_that_are_there():
    names = Names()
    assert names.fresh("tile_at3", "v") == "tile_at3"
    assert names.fresh_stem("tile", "v") == "tile_at_"
