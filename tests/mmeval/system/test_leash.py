import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mmeval.system.leash import Leash
from tests.support.cli import wait_for
from tests.support.processes import gone

FAMILY = "sleep 1000 & echo $$ $!; wait"
"""A program with a child; writes the ids of both."""
HOLDER = f"""
import os, sys
from pathlib import Path
from mmeval.system.leash import Leash

leash = Leash(["sh", "-c", {FAMILY!r}], errors=2, env=os.environ, scratch=Path(sys.argv[1]))
print(leash.stdout.readline().decode(), end="", flush=True)
sys.stdin.read()
"""


def held(command: str) -> Leash:
    return Leash(["sh", "-c", command], errors=2, env=os.environ)


def test_a_program_is_spoken_with_and_ends_with_its_status(tmp_path: Path) -> None:
    leash = Leash(
        ["sh", "-c", "pwd; cat; exit $CODE"],
        errors=2,
        cwd=tmp_path,
        env={**os.environ, "CODE": "3"},
    )
    leash.stdin.write(b"hello\n")
    assert [leash.stdout.readline() for _ in range(2)] == [
        os.fsencode(tmp_path.resolve()) + b"\n",
        b"hello\n",
    ]
    assert (leash.has_ended, leash.end(10), leash.has_ended, leash.end(10)) == (
        False,
        3,
        True,
        3,
    )


def test_a_program_that_does_not_end_is_killed_with_its_children() -> None:
    leash = held(FAMILY)
    family = {int(word) for word in leash.stdout.readline().split()}
    assert (leash.end(0.1), gone(family)) == (-signal.SIGKILL, True)


def test_the_children_that_a_program_leaves_behind_are_ended() -> None:
    leash = held("sleep 1000 & echo $!; exit 4")
    child = int(leash.stdout.readline())
    assert (leash.end(10), gone({child})) == (4, True)


def test_a_program_has_no_child_that_it_does_not_know() -> None:
    leash = Leash(
        [sys.executable, "-c", "import os; os.waitpid(-1, 0)"],
        errors=subprocess.DEVNULL,
        env=os.environ,
    )
    assert leash.end(10) == 1  # there is none to wait for


def test_what_cannot_be_started_says_so_on_its_error_stream() -> None:
    with tempfile.TemporaryFile() as errors:
        assert Leash(["no-such-program"], errors=errors, env=os.environ).end(10) == 127
        assert (
            os.pread(errors.fileno(), 100, 0)
            == b"no-such-program: No such file or directory\n"
        )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_program_and_its_children_end_with_the_process_that_holds_them(
    number: signal.Signals, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-c", HOLDER, str(scratch)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdin is not None
    family = {int(word) for word in holder.stdout.readline().split()}
    holder.send_signal(number)
    assert (holder.wait(), len(family), gone(family)) == (-number, 2, True)
    wait_for(lambda: not scratch.exists(), "the end of the folder")
    holder.stdin.close()
    holder.stdout.close()


def test_a_program_that_another_thread_has_waited_for_has_ended() -> None:
    leash = held("exit 3")
    os.waitpid(leash._process.pid, 0)
    assert leash.has_ended
    leash.kill()
