"""The ratios of all models as bars."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "nn-opt"  # equal figures make equal files
INCHES_A_MODEL = 0.45


def draw(ratios: Mapping[str, Mapping[str, float]], title: str, path: Path) -> None:
    """Write bars of each model's ratio to each peer; the line at 1 is where both are as fast."""
    peers = sorted({peer for row in ratios.values() for peer in row})
    height = 0.8 / max(len(peers), 1)
    size = (7, 1.5 + INCHES_A_MODEL * len(ratios))
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    for k, peer in enumerate(peers):
        places = [row + k * height for row in range(len(ratios))]
        widths = [row.get(peer, 0.0) for row in ratios.values()]
        bars = axes.barh(places, widths, height, label=peer)
        axes.bar_label(bars, fmt="%.2f", padding=2, fontsize=8)
    middle = height * (len(peers) - 1) / 2
    axes.set_yticks([row + middle for row in range(len(ratios))], list(ratios))
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("peer's time / nn-opt's time (above 1: nn-opt is faster)")
    axes.set_title(title, fontsize=9)
    axes.legend()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
