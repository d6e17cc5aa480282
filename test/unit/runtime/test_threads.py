"""What a process sees of the threads: how many there are, whom they disturb, how they end."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

START = """
import os, signal, sys, threading, time
import numpy as np
sys.path.insert(0, sys.argv[1])
from tiny_models import scale_artifact
from nn_opt.runtime.program import Program

x = np.ones(1000, np.float32)
first, second = Program(scale_artifact((1000,))), Program(scale_artifact((1000,), 5.0))

def run(program, threads):
    y = np.empty_like(x)
    program.run([x], [y], threads)
    return float(y[0])

def tasks():
    return len(os.listdir("/proc/self/task"))

def forever(program, threads):
    def loop():
        while True:
            run(program, threads)
    threading.Thread(target=loop, daemon=True).start()

before = tasks()
"""


def told(script: str) -> list[str]:
    """Return what a script prints in a process of its own, line by line."""
    here = os.path.dirname(__file__)
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", START + script, here],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_call_on_one_thread_starts_none():
    assert told("run(first, 1); print(tasks() - before)") == ["0"]


def test_workers_are_as_many_as_the_widest_call_wants():
    script = "for n in (3, 2, 1, 4, 3): run(first, n); print(tasks() - before)"
    assert told(script) == ["2", "2", "2", "3", "3"]


def test_a_second_model_shares_the_workers():
    script = "print(run(first, 3), run(second, 3), tasks() - before)"
    assert told(script) == ["3.0", "6.0", "2"]


def test_callers_at_once_share_the_workers():
    script = """
callers = [threading.Thread(target=run, args=(p, 3)) for p in (first, second) * 8]
for caller in callers: caller.start()
for caller in callers: caller.join()
for wait in range(500):  # a thread that has been joined may still be about to end
    if tasks() - before > 2: time.sleep(0.01)
print(tasks() - before)
"""
    assert told(script) == ["2"]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity on this system")
def test_cores_of_the_caller_and_of_later_threads_are_left_alone():
    script = """
allowed = os.sched_getaffinity(0)
run(first, 3)
seen = []
other = threading.Thread(target=lambda: seen.append(os.sched_getaffinity(0)))
other.start(); other.join()
print(os.sched_getaffinity(0) == allowed, seen == [allowed])
"""
    assert told(script) == ["True", "True"]


def test_between_calls_no_worker_takes_time_from_numpy():
    script = """
run(first, 4)
time.sleep(0.02)
total, own = time.process_time(), time.thread_time()
a = np.ones((300, 300), np.float32)
while time.thread_time() - own < 0.2: a = a @ a * 0
spent = time.process_time() - total - (time.thread_time() - own)
print(spent < 0.02)
"""
    assert told(script) == ["True"]


def test_a_fork_amid_the_calls_of_another_thread_leaves_a_child_that_computes():
    script = """
forever(first, 3)
for _ in range(10):
    child = os.fork()
    if not child:
        signal.alarm(20)
        os._exit(0 if [run(second, 3), run(first, 2)] == [6.0, 3.0] else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(run(second, 3))
"""
    assert told(script) == ["0"] * 10 + ["6.0"]


def test_the_child_of_a_fork_ends_as_programs_do():
    script = """
run(first, 3)
child = os.fork()
if not child:
    signal.alarm(20)
    run(first, 3)
    sys.exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert told(script)[-1] == "0"


def test_an_interrupt_ends_a_program_with_busy_workers():
    script = """
forever(first, 3)
time.sleep(0.05)
try:
    threading.Timer(0.05, lambda: signal.raise_signal(signal.SIGINT)).start()
    while True: run(second, 3)
except KeyboardInterrupt:
    print("interrupted")
"""
    assert told(script) == ["interrupted"]
