"""Names that a reader knows from the IR, and that no language takes for something else."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_ODD = re.compile(r"\W+", re.ASCII)


@dataclass
class Names:
    """The names in one scope, each given once."""

    taken: set[str] = field(default_factory=set[str])

    def fresh(self, wish: str | None, otherwise: str) -> str:
        """Return a name like the wish, or like another one if the wish is no name."""
        base = _plain(wish or "")
        if not base or base[0].isdigit():
            base = f"{_plain(otherwise)}{base}"
        name, number = base, 1
        while name in self.taken:
            name, number = f"{base}_{number}", number + 1
        self.taken.add(name)
        return name


def _plain(text: str) -> str:
    return _ODD.sub("_", text).strip("_")
