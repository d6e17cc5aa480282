"""How nodes of each operator are made, a file for each family."""

from fuzz.graphs.recipes import (
    attention,
    control,
    elementwise,
    microsoft,
    microsoft_bytes,
    ml,
    movement,
    old_forms,
    old_windows,
    products,
    quantised,
    recurrent,
    reductions,
    selection,
    signals,
    windows,
)

__all__ = [
    "attention",
    "control",
    "elementwise",
    "microsoft",
    "microsoft_bytes",
    "ml",
    "movement",
    "old_forms",
    "old_windows",
    "products",
    "quantised",
    "recurrent",
    "reductions",
    "selection",
    "signals",
    "windows",
]
