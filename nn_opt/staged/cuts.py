"""Where a model is cut: names of values, as they are kept on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Part:
    """A part of a model by the names of what goes in and out."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Cut:
    """Where a model is cut, and its two parts; the first is None where nothing is to compute.

    value: what the rest holds as a constant, "" if there is none.
    node: the first result of a node that runs on the host between the parts, "" for none.
    choices: branches of Ifs that are taken, by the first result of the If.
    move: the first result of the node that needs the value, if it only moves elements; "" if not.
    """

    value: str
    node: str
    choices: Mapping[str, bool]
    first: Part | None
    rest: Part
    move: str = ""

    def to_json(self) -> str:
        """Return the cut as text."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Cut:
        """Return the cut of a text that `to_json` returned."""
        record = json.loads(text)
        first, rest = (entry and _part(entry) for entry in (record["first"], record["rest"]))
        return Cut(record["value"], record["node"], record["choices"], first, rest, record["move"])


def _part(record: Mapping[str, Sequence[str]]) -> Part:
    return Part(tuple(record["inputs"]), tuple(record["outputs"]))
