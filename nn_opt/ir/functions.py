"""Functions of a module, by name."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.traits import SymbolTable


def main_function(module: ModuleOp) -> FuncOp | None:
    """Return @main with its body, if there is one."""
    main = SymbolTable.lookup_symbol(module, "main")
    return main if isinstance(main, FuncOp) and not main.is_declaration else None
