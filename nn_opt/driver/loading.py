"""`--load=FILE.py`: a program of the user that adds passes and dialects."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import walk_tb

from nn_opt.ir.diagnostics import DiagnosticError

FLAG = "--load"
_files: set[str] = set()


def load_all(argv: Sequence[str]) -> None:
    """Load what a command line says, in order.

    Raises: DiagnosticError for what cannot be loaded, with the line where it fails.
    """
    for source in _sources(argv):
        load(source)


def _sources(argv: Sequence[str]) -> Iterator[str]:
    pending = iter(argv)
    for argument in pending:
        flag, assigned, value = argument.partition("=")
        if flag == FLAG:
            source = value if assigned else next(pending, "")
            if not source:
                raise DiagnosticError(f"error: argument {FLAG}: expected one argument")
            yield source


def load(source: str) -> None:
    """Run a file, or import a module by its name.

    Raises: DiagnosticError if it fails.
    """
    is_file = source.endswith(".py") or os.sep in source
    path = _file(source) if is_file else _module_file(source)
    _files.add(path)
    try:
        if is_file:
            _run(Path(path))
        else:
            import_module(source)
    except SyntaxError as error:
        place = f"{_shown(error.filename or path)}:{error.lineno}:{error.offset}"
        raise DiagnosticError(f"{place}: error: {error.msg}") from error
    except (Exception, SystemExit) as error:  # any: the file is the user's
        raise DiagnosticError(f"{place_of(error)}: error: {_worded(error)}") from error


def _file(source: str) -> str:
    if not Path(source).is_file():
        raise DiagnosticError(f"{source}: error: No such file")
    return str(Path(source).resolve())


def _module_file(name: str) -> str:
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:  # of the package that the name begins with
        spec = None
    except (ImportError, ValueError) as error:
        raise DiagnosticError(f"error: {FLAG}: {error}") from error
    if spec is None or spec.origin is None:
        hint = f"a file ends in .py, as in {FLAG}=FILE.py"
        raise DiagnosticError(f"error: {FLAG}: there is no module '{name}'\n  hint: {hint}")
    return spec.origin


def _run(path: Path) -> None:
    """Execute a file as a module of its stem's name; files beside it can be imported."""
    name = path.stem.replace("-", "_")
    if name in sys.modules and getattr(sys.modules[name], "__file__", None) != str(path):
        name = f"nn_opt_loaded_{name}"
    spec = spec_from_file_location(name, path)
    assert spec is not None, "the suffix is one of Python's"
    assert spec.loader is not None, "a file has a loader"
    module = sys.modules[name] = module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec.loader.exec_module(module)


def place_of(error: BaseException) -> str | None:
    """Return the innermost line of a loaded file on the way to an error, if there is any."""
    places = [
        f"{_shown(frame.f_code.co_filename)}:{line}"
        for frame, line in walk_tb(error.__traceback__)
        if frame.f_code.co_filename in _files
    ]
    return places[-1] if places else None


def _worded(error: BaseException) -> str:
    if isinstance(error, DiagnosticError):
        return str(error).removeprefix("error: ")
    first = str(error).split("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _shown(path: str) -> str:
    short = os.path.relpath(path)
    return path if short.startswith("..") else short
