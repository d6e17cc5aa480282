"""backends.source: the loop level as text in languages that people read."""

from nn_opt.backends.source.c_program import print_c
from nn_opt.backends.source.js_program import print_js
from nn_opt.backends.source.program import SourceProgram

__all__ = ["SourceProgram", "print_c", "print_js"]
