"""Artifacts and the cache: what was written is read; nothing else is."""

from __future__ import annotations

import errno
import multiprocessing
import os
import time
from dataclasses import replace

import numpy as np
import pytest
from tiny_models import scale_artifact, store_many

from nn_opt.runtime.artifact import ArtifactError, Draft, read, write
from nn_opt.runtime.cache import Cache, key_of, open_cache
from nn_opt.runtime.manifest import ManifestError, from_json, to_json
from nn_opt.runtime.program import Program
from nn_opt.runtime.weights import PIECE, pack_weights, pieces

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def run(artifact) -> np.ndarray:
    y = np.empty_like(X)
    Program(artifact).run([X], [y], 1)
    return y


def test_what_was_written_runs(tmp_path):
    write(scale_artifact((2, 3), factor=3), tmp_path / "a")
    assert os.listdir(tmp_path) == ["a"]
    artifact = read(tmp_path / "a")
    assert artifact.weights.address % 4096 == 0
    np.testing.assert_array_equal(run(artifact), 3 * X + 1)


def test_every_changed_byte_is_noticed(tmp_path):
    path = tmp_path / "a"
    write(scale_artifact((2, 3)), path)
    whole = path.read_bytes()
    used = [*range(0, 2000, 7), *range(len(whole) - 64, len(whole))]
    for place in used:
        damaged = bytearray(whole)
        damaged[place] ^= 0x40
        path.write_bytes(damaged)
        with pytest.raises(ArtifactError):
            read(path)


@pytest.mark.parametrize("keep", [0, 1, 15, 100, 500, 4096, -1])
def test_cut_and_grown_files(tmp_path, keep):
    path = tmp_path / "a"
    write(scale_artifact((2, 3)), path)
    whole = path.read_bytes()
    for content in (whole[:keep], whole + b"\0", b"foreign" * 100):
        path.write_bytes(content)
        with pytest.raises(ArtifactError):
            read(path)


def test_manifests():
    manifest = scale_artifact((2, 3)).manifest
    assert from_json(to_json(manifest)) == manifest
    text = to_json(manifest)
    for old, new in (
        (b'"arena_bytes": 24', b'"arena_bytes": -1'),
        (b'"arena_bytes": 24', b'"arena_bytes": 1e3'),
        (b'"format": 1', b'"format": 99'),
        (b'"float32"', b'"no such type"'),
        (b"[2, 3]", b"[2, -3]"),
        (b'"target"', b'"other"'),
    ):
        assert old in text
        with pytest.raises(ManifestError):
            from_json(text.replace(old, new))
    for text in (b"", b"[]", b"1", b"{}", b"[" * 100_000):
        with pytest.raises(ManifestError):
            from_json(text)


def test_the_fault_of_a_file_is_said(tmp_path):
    path = tmp_path / "a"
    write(scale_artifact((2, 3)), path)
    whole = path.read_bytes()
    faults = {
        b"foreign" * 100: "the header is not one of this version",
        whole[:-1]: "the file is cut or has grown",
        whole[:9]: "the file ends after 9 of",
        whole[:1000] + b"x" + whole[1001:]: "the gap before the weights is not empty",
        whole[:-1] + bytes([whole[-1] ^ 1]): "a part does not match its checksum",
    }
    for content, reason in faults.items():
        path.write_bytes(content)
        with pytest.raises(ArtifactError, match=reason):
            read(path)


def test_the_fault_of_a_manifest_is_said():
    text = to_json(scale_artifact((2, 3)).manifest)
    faults = {
        text.replace(b'"format": 1', b'"format": 99'): "written by another version",
        text.replace(b"[2, 3]", b"[2, -3]"): r"not a tensor: 'x' \[2, -3\]",
        text.replace(b'"arena_bytes": 24', b'"arena_bytes": -1'): (
            "arena_bytes is -1, expected a number of bytes"
        ),
        text.replace(b'"launches": 0', b'"launches": "2"'): (
            "launches is '2', expected a number of launches"
        ),
        b"1": "not a manifest: ",
    }
    for content, reason in faults.items():
        with pytest.raises(ManifestError, match=reason):
            from_json(content)


def test_weights_keep_their_places():
    arrays = [np.arange(3, dtype=np.int64), np.zeros((0, 2), np.float32), np.array(True)]
    block = pack_weights(arrays, [0, 64, 128], 192)
    assert block.address % 64 == 0
    np.testing.assert_array_equal(block.bytes[:24].view(np.int64), [0, 1, 2])
    assert block.bytes[128] == 1
    with pytest.raises(AssertionError, match="outside its block"):
        pack_weights([np.zeros(9, np.int64)], [0], 64)


def test_cache_round_trip(tmp_path):
    cache = open_cache(tmp_path / "cache")
    key = key_of(["a", b"b"])
    assert cache.load(key) is None
    cache.store(key, scale_artifact((2, 3)))
    np.testing.assert_array_equal(run(cache.load(key)), 2 * X + 1)
    (path,) = cache.folder.iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    assert cache.load(key) is None


def test_keys_know_where_parts_end():
    assert len({key_of(p) for p in (["ab"], ["a", "b"], ["", "ab"], ["ab", ""], [])}) == 5


def test_a_folder_that_others_may_write_is_not_used(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.warns(UserWarning, match="writable by nobody else"):
        cache = open_cache(tmp_path)
    cache.store("k", scale_artifact((2, 3)))
    assert os.listdir(tmp_path) == []


def test_an_entry_that_others_may_write_is_not_used(tmp_path):
    cache = open_cache(tmp_path / "cache")
    cache.store("k", scale_artifact((2, 3)))
    (path,) = cache.folder.iterdir()
    path.chmod(0o622)
    assert cache.load("k") is None
    path.chmod(0o600)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert cache.load("k") is None


def test_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("NN_OPT_CACHE", str(tmp_path / "env"))
    assert open_cache().folder == tmp_path / "env"
    assert (tmp_path / "env").stat().st_mode & 0o777 == 0o700
    assert open_cache(False).folder is None
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="no cache"):
        assert open_cache(tmp_path / "file" / "sub").folder is None


def test_old_entries_go_when_the_cache_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr("nn_opt.runtime.cache._LIMIT_BYTES", 12_000)
    cache = Cache(tmp_path)
    for age, key in enumerate("abcd"):
        cache.store(key, scale_artifact((2, 3)))
        for path in tmp_path.glob(f"{key}*"):
            os.utime(path, (1000 + age, 1000 + age))
    assert cache.load("a") is None
    assert cache.load("d") is not None


def test_files_that_a_killed_process_left_go(tmp_path):
    for name, age in (("old", 4000), ("new", 0)):
        (tmp_path / f".new-{name}").write_bytes(b"half")
        os.utime(tmp_path / f".new-{name}", times=(time.time() - age,) * 2)
    Cache(tmp_path).store("a", scale_artifact((2, 3)))
    assert {path.name for path in tmp_path.iterdir()} == {".new-new", "a.nnopt"}


def test_processes_share_a_cache(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=store_many, args=(str(tmp_path / "c"),)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=120)
        assert worker.exitcode == 0
    assert len(os.listdir(tmp_path / "c")) == 2


def test_pieces_are_the_block():
    random = np.random.default_rng(0)
    whole = random.standard_normal((64, 48, 7, 33)).astype(np.float32)
    arrays = [whole.transpose(2, 0, 3, 1), np.array(7, np.int8), whole[:0], whole[3:5]]
    offsets = [0]
    for array in arrays[:-1]:
        offsets.append(-(-(offsets[-1] + array.nbytes) // 64) * 64)
    size = offsets[-1] + arrays[-1].nbytes + 60
    assert arrays[0].nbytes > PIECE
    block = pack_weights(arrays, offsets, size)
    assert np.array_equal(np.concatenate(list(pieces(arrays, offsets, size))), block.bytes)


def test_a_draft_that_is_not_finished_leaves_nothing(tmp_path):
    artifact = scale_artifact((2, 3))
    draft = Draft(tmp_path / "a")
    block = draft.pack([artifact.weights.bytes], [0], artifact.weights.bytes.nbytes)
    assert np.array_equal(block.bytes, artifact.weights.bytes)
    draft.close()
    assert os.listdir(tmp_path) == []


def test_a_disk_that_is_full_midway_is_no_reason_to_fail(tmp_path, monkeypatch):
    def refuse(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    artifact = scale_artifact((2, 3), factor=5)
    cache = Cache(tmp_path)
    monkeypatch.setattr(Draft, "pack", refuse)

    def make(pack):
        return replace(artifact, weights=pack([artifact.weights.bytes], [0], 64))

    with pytest.warns(UserWarning, match="not cached: .*No space left"):
        made = cache.fill(key_of(["k"]), make)
    np.testing.assert_array_equal(run(made), 5 * X + 1)
    assert os.listdir(tmp_path) == []
