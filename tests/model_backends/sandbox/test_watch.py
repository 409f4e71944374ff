import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mmeval.model_backends.sandbox.watch import measure_below
from tests.support.cli import wait_for

MIB = 2**20
NO_LIMIT = 1 << 40
HOLDS = "held = bytearray(os.urandom(1 << 20)) * 64\nprint('held', flush=True)\ninput()"
LEADERLESS = f"""
def hold():
{"".join(f"    {line}{chr(10)}" for line in HOLDS.splitlines())}
threading.Thread(target=hold).start()
ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)
"""


@contextmanager
def process(code: str) -> Iterator[int]:
    """A process that runs a program which prints when it is ready and waits then."""
    command = [sys.executable, "-c", f"import ctypes, os, threading\n{code}"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        running.stdout.readline()
        yield running.pid
        running.kill()


def test_the_memory_of_process_1_counts() -> None:
    with process(HOLDS) as first:
        load = measure_below(first, NO_LIMIT, {})
    assert load.memory > 64 * MIB
    assert load.threads == 0


def test_the_memory_of_threads_counts_whose_first_one_has_ended() -> None:
    with process(LEADERLESS) as first:
        wait_for(lambda: _is_zombie(first), "the end of the first thread")
        load = measure_below(first, NO_LIMIT, {})
    assert load.memory > 64 * MIB


def test_such_memory_counts_where_each_page_counts_once() -> None:
    with process(LEADERLESS) as first:
        wait_for(lambda: _is_zombie(first), "the end of the first thread")
        load = measure_below(first, 0, {})
    assert load.memory > 64 * MIB


def _is_zombie(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "Z"
