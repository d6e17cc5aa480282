"""What every operation means, in NumPy: the judge of every pass and backend."""

from nn_opt.reference.running import entry_function, make_interpreter, run

__all__ = ["entry_function", "make_interpreter", "run"]
