"""How nodes of each operator are made, a file for each family."""

from fuzz.graphs.recipes import (
    attention,
    control,
    elementwise,
    movement,
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
    "movement",
    "products",
    "quantised",
    "recurrent",
    "reductions",
    "selection",
    "signals",
    "windows",
]
