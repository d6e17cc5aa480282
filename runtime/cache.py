"""Compiled models on disk, by key: safe among processes, only from the user's own folder."""

from __future__ import annotations

import hashlib
import os
import stat
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path

import platformdirs

from nn_opt.runtime.artifact import UNFINISHED, Artifact, ArtifactError, Draft, read
from nn_opt.runtime.memory import Block
from nn_opt.runtime.weights import Array, Pack, pack_weights

ENVIRONMENT = "NN_OPT_CACHE"  # another folder than the user's default one
_LIMIT_BYTES = 8 << 30  # the oldest entries beyond this go when one is added
_SUFFIX = ".nnopt"
_ABANDONED_S = 3600  # no process takes so long to write a file


class Cache:
    """A folder of artifacts; where there is none that can be trusted, nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def load(self, key: str) -> Artifact | None:
        """Return the entry of a key, or None if there is none that is whole and ours."""
        if self.folder is None:
            return None
        path = self.folder / (key + _SUFFIX)
        try:
            if not _is_ours(path.lstat()):
                return None
            entry = read(path)
            os.utime(path)  # the age that `_prune` looks at
        except (ArtifactError, OSError):
            return None
        return entry

    def fill(self, key: str, make: Callable[[Pack], Artifact]) -> Artifact:
        """Return the artifact that `make` makes, and keep it, its weights packed where they stay.

        A full or read-only disk is no reason to fail, but worth a word.
        """
        if self.folder is None:
            return make(pack_weights)
        try:
            draft = Draft(self.folder / (key + _SUFFIX))
        except OSError as error:
            _complain(error)
            return make(pack_weights)
        with closing(draft):
            packing = _Packing(draft)
            artifact = make(packing.pack)
            if packing.works:
                self._finish(draft, artifact)
        return artifact

    def _finish(self, draft: Draft, artifact: Artifact) -> None:
        assert self.folder is not None, "there is a draft"
        try:
            draft.finish(artifact.manifest, artifact.code)
            _prune(self.folder)
        except OSError as error:
            _complain(error)

    def store(self, key: str, artifact: Artifact) -> None:
        """Keep an artifact that is made already."""

        def packed(pack: Pack) -> Artifact:
            pack([artifact.weights.bytes], [0], artifact.weights.bytes.nbytes)
            return artifact

        self.fill(key, packed)


class _Packing:
    """Packs weights into a draft; in memory if the disk does not take them."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self.works = True

    def pack(self, arrays: Sequence[Array], offsets: Sequence[int], size: int) -> Block:
        try:
            return self._draft.pack(arrays, offsets, size)
        except OSError as error:
            _complain(error)
            self.works = False
            return pack_weights(arrays, offsets, size)


def _complain(error: OSError) -> None:
    warnings.warn(f"the compiled model was not cached: {error}", stacklevel=3)


def open_cache(setting: bool | str | Path = True) -> Cache:
    """Return the cache: True is the default folder, False none, a path that folder."""
    if setting is False:
        return Cache(None)
    default = os.environ.get(ENVIRONMENT) or platformdirs.user_cache_dir("nn-opt", appauthor=False)
    folder = Path(default if setting is True else setting).expanduser()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        trusted = _is_ours(folder.stat())
    except OSError as error:
        warnings.warn(f"no cache: {error}", stacklevel=2)
        return Cache(None)
    if not trusted:
        # Its files are run as code: whoever can write there could make this process do anything.
        warnings.warn(
            f"no cache: {folder} must belong to you and be writable by nobody else", stacklevel=2
        )
        return Cache(None)
    return Cache(folder)


def key_of(parts: Iterable[bytes | memoryview | str]) -> str:
    """Return one name for a sequence of parts; where one part ends matters."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def _is_ours(state: os.stat_result) -> bool:
    others_write = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return state.st_uid == os.geteuid() and not others_write and not stat.S_ISLNK(state.st_mode)


def _prune(folder: Path) -> None:
    entries: list[tuple[float, int, Path]] = []
    for path in folder.iterdir():
        try:
            state = path.stat()
        except FileNotFoundError:  # another process was quicker
            continue
        if path.suffix == _SUFFIX:
            entries.append((state.st_mtime, state.st_size, path))
        elif path.name.startswith(UNFINISHED) and time.time() - state.st_mtime > _ABANDONED_S:
            path.unlink(missing_ok=True)
    total = 0
    for _, size, path in sorted(entries, reverse=True):
        total += size
        if total > _LIMIT_BYTES:
            path.unlink(missing_ok=True)
