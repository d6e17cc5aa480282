"""nn-opt: a neural-network compiler and an instrument for compiler researchers."""

from pathlib import Path

# A checkout keeps `dialects/`, `passes/`, ... beside this folder; where symbolic links are missing, find them there.
_checkout = Path(__file__).resolve().parent.parent
if (_checkout / "pyproject.toml").is_file():
    __path__.append(str(_checkout))

__version__ = "0.1.0"
