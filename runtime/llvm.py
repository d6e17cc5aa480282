"""LLVM through llvmlite, which states no types."""

from __future__ import annotations

from typing import Any

import llvmlite.binding  # pyright: ignore[reportMissingTypeStubs]

llvm: Any = llvmlite.binding
