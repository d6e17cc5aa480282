"""Machines and systems on which compiled models do not run, and what is asked too early."""

import platform

import pytest

from nn_opt.runtime import pool
from nn_opt.runtime.loader import RuntimeFault


def test_other_machines():
    with pytest.raises(
        RuntimeFault, match="no thread pool for s390x, only x86_64, aarch64, riscv64"
    ):
        pool.pool_text("s390x")


def test_other_systems(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    with pytest.raises(RuntimeFault, match="compiled models run on Linux, not on Darwin"):
        pool._load.__wrapped__()
