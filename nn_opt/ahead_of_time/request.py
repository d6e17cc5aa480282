"""What a user asks nn-compile for, and what is made of it: files that are written all or none."""

from __future__ import annotations

import tempfile
from argparse import Namespace
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nn_opt import __version__
from nn_opt.driver.models import fail, parse_dims, parse_shapes
from nn_opt.driver.value_text import parse_values

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from nn_opt.runtime.manifest import Manifest

COMPILER = f"nn-opt {__version__}"


@dataclass(frozen=True)
class Request:
    """A model, the options it is compiled with, the targets, and the name of what is written."""

    options: Namespace
    output: Path  # the file that others lie beside
    stem: str  # what those are called before their suffix
    targets: tuple[str, ...]

    @cached_property
    def name(self) -> str:
        """The prefix of all functions."""
        from nn_opt.backends.llvm.library import identifier

        return identifier(self.options.name or self.stem)

    @property
    def title(self) -> str:
        """The model's file."""
        return Path(self.options.model).name

    @property
    def target(self) -> str:
        """The target, where there is one."""
        (target,) = self.targets
        return target

    @property
    def flags(self) -> str:
        """The options of the pipeline."""
        return f"winograd={self.options.winograd} precision={self.options.precision}"

    def module(self) -> ModuleOp:
        """Return the model, all sizes known; each time it is another module."""
        return self._origin.module(*self._sizes)

    def signature(self) -> Manifest:
        """Return what goes in and out, with sizes that the model does not state itself.

        Raises: DiagnosticError if sizes are not known, or the host must run nodes of the model.
        """
        signature = self._origin.signature(*self._sizes)
        if signature.hosted:
            self.module()  # says which nodes, and where they can run
        for info in signature.inputs:
            if not info.is_static:
                hint = "give them by --dim or --shape"
                fail(f"error: input {info} has unknown sizes\n  hint: {hint}")
        if all(info.is_static for info in signature.outputs):
            return signature
        from nn_opt.build import signature_of

        return replace(signature, outputs=signature_of(self.module()).outputs)

    @cached_property
    def _origin(self):
        from nn_opt.origin import origin_of

        return origin_of(self.options.model, parse_values(self.options.value))

    @cached_property
    def _sizes(self) -> tuple[dict[str, int], dict[str, list[int]]]:
        return parse_dims(self.options.dim), parse_shapes(self.options.shape)


@dataclass(frozen=True)
class Made:
    """Files by name, the one that was asked for first, and what a user is told of them."""

    files: dict[str, bytes]
    summary: tuple[str, ...] = ()
    programs: frozenset[str] = field(default_factory=frozenset[str])  # files that can be run


def size_text(size: int) -> str:
    """Return a number of bytes for people."""
    if size < 10_000:
        return f"{size:,} bytes"
    return f"{size / 1000:,.0f} kB" if size < 10_000_000 else f"{size / 1e6:,.1f} MB"


def _kind_of(header: str) -> str:
    """Return what a C header of nn-compile's belongs to, or nothing for one of somebody else's."""
    first = header.partition("\n")[0]
    if "compiled by nn-opt" not in first:
        return ""
    _, is_host, devices = first.partition(": a host for its kernels on ")
    if is_host:
        return f"kernels on {devices.removesuffix('. */')}"
    return "a library" if "_run_in(" in header else "C99"


def _require_same_kind(path: Path, content: bytes) -> None:
    """Refuse to overwrite a header that another kind of output lies beside."""
    before, after = _kind_of(path.read_text(errors="replace")), _kind_of(content.decode())
    if before and after and before != after:
        fail(
            f"{path}: error: this header is that of {before}, and {after} would overwrite it"
            "\n  hint: give -o another name or folder, or remove the header"
        )


def write_all(made: Made, folder: Path) -> None:
    """Write files that appear only once all of them are complete.

    Raises: DiagnosticError if the system refuses, or a header of another kind is there; nothing
    is left behind then.
    """
    for name, content in made.files.items():
        if (folder / name).is_dir():
            fail(f"{folder / name}: error: this is a folder, where a file is to be written")
        if name.endswith(".h") and (folder / name).is_file():
            _require_same_kind(folder / name, content)
    try:
        with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as drafts:
            for name, content in made.files.items():
                draft = Path(drafts) / name
                draft.write_bytes(content)
                if name in made.programs:
                    draft.chmod(draft.stat().st_mode | 0o111)
            for name in reversed(made.files):
                (Path(drafts) / name).replace(folder / name)
    except OSError as error:
        fail(f"{folder}: error: {error.strerror}")
