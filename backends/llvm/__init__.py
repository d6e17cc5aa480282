"""backends.llvm: from the llvm dialect to text that LLVM parses."""

from nn_opt.backends.llvm.printer import print_module

__all__ = ["print_module"]
