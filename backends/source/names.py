"""Names that a reader knows from the IR, and that no language takes for something else."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_ODD = re.compile(r"\W+", re.ASCII)


@dataclass
class Names:
    """The names in one scope, each given once."""

    taken: set[str] = field(default_factory=set[str])
    stems: set[str] = field(default_factory=set[str])  # of names with any number behind

    def fresh(self, wish: str | None, otherwise: str) -> str:
        """Return a name like the wish, or like another one if the wish is no name."""
        base = _plain(wish or "")
        if not base or base[0].isdigit():
            base = f"{_plain(otherwise)}{base}"
        name, number = base, 1
        while name in self.taken or self._is_numbered(name):
            name, number = f"{base}_{number}", number + 1
        self.taken.add(name)
        return name

    def _is_numbered(self, name: str) -> bool:
        """Return whether a name is one of those that a stem stands for."""
        stem = name.rstrip("0123456789")
        return stem != name and stem in self.stems

    def fresh_stem(self, wish: str | None, otherwise: str) -> str:
        """Return the beginning of names, to be followed by numbers: `tile_at` of tile_at0, ..."""
        stem = f"{self.fresh(wish, otherwise)}_at"
        while any(re.fullmatch(rf"{re.escape(stem)}\d+", name) for name in self.taken):
            stem += "_"
        self.stems.add(stem)
        return stem


def _plain(text: str) -> str:
    return _ODD.sub("_", text).strip("_")
