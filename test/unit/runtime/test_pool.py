"""The thread pool: every element once, whoever calls, also after a fork and at the end."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from tiny_models import assemble

from nn_opt.runtime.loader import LoadedCode, RuntimeFault
from nn_opt.runtime.pool import pool
from nn_opt.runtime.threads import available_threads, thread_count

# Runs `regions` parallel loops of `extent`; step i of each adds `inner` to element i of an array,
# itself by a parallel loop.
COUNT = """
declare void @nn_parallel(ptr, ptr, i64)
define internal void @add(i64 %b, i64 %e, ptr %p) {
entry:
  %n = sub i64 %e, %b
  %o = atomicrmw add ptr %p, i64 %n monotonic
  ret void
}
define internal void @body(i64 %begin, i64 %end, ptr %context) {
entry:
  %array = load ptr, ptr %context
  %np = getelementptr i64, ptr %context, i64 1
  %inner = load i64, ptr %np
  br label %loop
loop:
  %i = phi i64 [%begin, %entry], [%i1, %loop]
  %p = getelementptr i64, ptr %array, i64 %i
  call void @nn_parallel(ptr @add, ptr %p, i64 %inner)
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %loop, label %out
out:
  ret void
}
define void @nn_main(ptr %sizes, ptr %array, ptr %none, ptr %none2) {
entry:
  %regions = load i64, ptr %sizes
  %ep = getelementptr i64, ptr %sizes, i64 1
  %extent = load i64, ptr %ep
  %ip = getelementptr i64, ptr %sizes, i64 2
  %inner = load i64, ptr %ip
  %context = alloca [2 x i64]
  store ptr %array, ptr %context
  %np = getelementptr i64, ptr %context, i64 1
  store i64 %inner, ptr %np
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%i1, %loop]
  call void @nn_parallel(ptr @body, ptr %context, i64 %extent)
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %regions
  br i1 %more, label %loop, label %out
out:
  ret void
}
"""


@pytest.fixture(scope="module")
def count():
    pool()
    code = LoadedCode([assemble(COUNT)])
    entry = code.address("nn_main")

    def run(regions: int, extent: int, inner: int, threads: int) -> np.ndarray:
        sizes = np.array([regions, extent, inner], np.int64)
        array = np.zeros(max(extent, 1), np.int64)
        pool().call(entry, sizes.ctypes.data, array.ctypes.data, None, None, threads)
        assert code is not None
        return array

    return run


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 40, 1000])
@pytest.mark.parametrize("extent", [0, 1, 2, 3, 8, 9, 161])
def test_each_element_is_visited_once_a_region(count, threads, extent):
    array = count(5, extent, 1, threads)
    assert array[:extent].tolist() == [5] * extent
    assert array[extent:].tolist() == [0] * (len(array) - extent)


def test_nested_regions_run_in_the_thread_that_meets_them(count):
    assert count(20, 50, 3, 4).tolist() == [60] * 50


def test_many_short_regions(count):
    assert count(20_000, 16, 1, 4).tolist() == [20_000] * 16


def test_sleeping_workers_are_woken(count):
    for _ in range(20):
        time.sleep(0.002)  # well beyond the 30 us that workers spin
        assert count(1, 64, 1, 4).tolist() == [1] * 64


def test_several_callers_at_once(count):
    wrong: list[int] = []

    def call(seed: int) -> None:
        for k in range(30):
            extent = 5 + (seed * 31 + k) % 50
            if count(20, extent, 1, 3).tolist() != [20] * extent:
                wrong.append(seed)

    callers = [threading.Thread(target=call, args=(seed,)) for seed in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=60)
    assert not wrong
    assert not any(caller.is_alive() for caller in callers)


def test_workers_sleep_when_idle(count):
    count(1, 64, 1, 3)
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.2)
    # Three spinning workers would take up to 0.4 s of two cores.
    assert time.process_time() - before < 0.05


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking a process with threads
def test_the_child_of_a_fork_has_its_own_pool(count):
    count(1, 64, 1, 3)
    child = os.fork()
    if child == 0:
        ok = count(10, 64, 1, 3).tolist() == [10] * 64
        os._exit(0 if ok else 1)
    assert _wait(child, seconds=20) == 0
    assert count(10, 64, 1, 3).tolist() == [10] * 64


def _wait(child: int, seconds: float) -> int:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    pytest.fail("the child did not end")


def test_the_process_ends_with_workers_running():
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from tiny_models import scale_artifact\n"
        "from nn_opt.runtime.program import Program\n"
        "import numpy as np, threading\n"
        "program = Program(scale_artifact((1000,)))\n"
        "x = np.ones(1000, np.float32)\n"
        "def forever():\n"
        "    while True: program.run([x], [np.empty_like(x)], 4)\n"
        "threading.Thread(target=forever, daemon=True).start()\n"
        "program.run([x], [np.empty_like(x)], 4)\n"
        "print('end')\n"
    )
    here = os.path.dirname(__file__)
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", script, here], capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


def test_thread_counts(monkeypatch):
    allowed = len(os.sched_getaffinity(0))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert available_threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "4096,2")
    assert 1 <= available_threads() <= allowed
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert 1 <= available_threads() <= allowed
    assert thread_count(3) == 3
    for wrong in (0, -1, 257):
        with pytest.raises(RuntimeFault, match=f"threads is {wrong}, expected 1 to 256"):
            thread_count(wrong)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "max 100000\n"}, 256),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 256),
        ({"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"}, 1),
        ({}, 256),
        ({"cpu.max": "max 100000", "a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000"}, 3),
        ({"a/cpu.max": "300000 100000", "a/b/cpu.max": "100000 100000"}, 1),
        ({"other/cpu.max": "100000 100000"}, 256),
        ({"cpu/c/cpu.cfs_quota_us": "400000", "cpu/c/cpu.cfs_period_us": "100000"}, 4),
    ],
)
def test_quota_of_control_groups(tmp_path, files, expected):
    from nn_opt.runtime.threads import _quota

    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "own").write_text("3:cpu,cpuacct:/c\n0::/a/b\n")
    assert _quota(tmp_path, tmp_path / "own") == expected


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core alone")
def test_affinity_bounds_the_number_of_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert available_threads() == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_the_pool_is_one_of_the_process():
    assert pool() is pool()
    assert ctypes.sizeof(ctypes.c_void_p) == 8
