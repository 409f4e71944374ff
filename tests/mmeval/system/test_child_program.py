import inspect
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mmeval.system.child_program import (
    ChildProgram,
    _HidingPipe,
    _passed_on,
    empty_folder,
)
from tests.support.cli import gone, wait_for

FAMILY = "sleep 1000 & own=$!; (setsid sleep 1000 & echo $$ $own $!); wait"
"""A program with a child, and an orphan in another session; writes all their ids."""
HOLDER = f"""
import os, sys
from pathlib import Path
from mmeval.system.child_program import ChildProgram

running = ChildProgram(["sh", "-c", {FAMILY!r}], errors=2, env=os.environ, scratch=Path(sys.argv[1]))
print(running.stdout.readline().decode(), end="", flush=True)
sys.stdin.read()
"""


def held(command: str) -> ChildProgram:
    return ChildProgram(["sh", "-c", command], errors=2, env=os.environ)


def test_a_program_is_spoken_with_and_ends_with_its_status(tmp_path: Path) -> None:
    running = ChildProgram(
        ["sh", "-c", "pwd; cat; exit $CODE"],
        errors=2,
        cwd=tmp_path,
        env={**os.environ, "CODE": "3"},
    )
    running.stdin.write(b"hello\n")
    assert [running.stdout.readline() for _ in range(2)] == [
        os.fsencode(tmp_path.resolve()) + b"\n",
        b"hello\n",
    ]
    assert (running.has_ended, running.end(10), running.has_ended, running.end(10)) == (
        False,
        3,
        True,
        3,
    )


def test_a_program_that_does_not_end_is_killed_with_its_children() -> None:
    running = held(FAMILY)
    family = {int(word) for word in running.stdout.readline().split()}
    assert (running.end(0.1), gone(family)) == (-signal.SIGKILL, True)


def test_the_keeper_imports_little() -> None:
    """Its imports delay the start of every program."""
    script = """if True:
        import sys
        with open(sys.argv[1]) as file:
            exec(file.read(), {"__name__": "keeper"})
        print(*sys.modules)
    """
    words = [sys.executable, "-I", "-S", "-c", script, inspect.getfile(ChildProgram)]
    modules = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    slow = {"json", "pathlib", "re", "shutil", "socket", "typing"}
    assert slow.isdisjoint(modules.split())


@pytest.mark.parametrize("session", ["", "setsid "])
def test_the_children_that_a_program_leaves_behind_are_ended(session: str) -> None:
    running = held(f"({session}sleep 1000 & echo $!); exit 4")
    child = int(running.stdout.readline())
    assert (running.end(10), gone({child})) == (4, True)


def test_a_program_has_no_child_that_it_does_not_know() -> None:
    running = ChildProgram(
        [sys.executable, "-c", "import os; os.waitpid(-1, 0)"],
        errors=subprocess.DEVNULL,
        env=os.environ,
    )
    assert running.end(10) == 1  # there is none to wait for


def test_a_program_ends_with_its_keeper() -> None:
    running = held("echo $$; exec sleep 1000")
    program = int(running.stdout.readline())
    running._process.kill()
    assert (gone({program}), running.kill()) == (True, -signal.SIGKILL)


def test_the_children_of_a_program_whose_keeper_is_killed_are_ended() -> None:
    running = held(FAMILY)
    program, child, escaped = map(int, running.stdout.readline().split())
    running._process.kill()
    status = running.kill()
    os.kill(escaped, signal.SIGKILL)  # it has left the group, so nothing finds it
    assert (gone({program, child}), status) == (True, -signal.SIGKILL)


def test_a_signal_that_a_program_sends_to_its_group_does_not_end_the_keeper() -> None:
    running = held(f"{FAMILY.replace('wait', 'kill -TERM 0')}; wait")
    family = {int(word) for word in running.stdout.readline().split()}
    assert (running.end(60), gone(family)) == (-signal.SIGTERM, True)


@pytest.mark.parametrize("number", [signal.SIGPIPE, signal.SIGXFSZ])
def test_a_signal_that_python_ignores_ends_the_program(number: signal.Signals) -> None:
    assert held(f"kill -{number} $$; exit 3").end(60) == -number


def test_a_signal_reaches_the_program() -> None:
    running = held("trap 'exit 5' TERM; echo ready; sleep 1000 & wait")
    running.stdout.readline()
    assert running.end(60, signal.SIGTERM) == 5


@pytest.mark.parametrize("refusal", [ProcessLookupError, PermissionError])
def test_a_signal_that_the_program_cannot_get_leaves_the_keeper_at_work(
    refusal: type[OSError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: int) -> None:
        raise refusal

    monkeypatch.setattr(os, "kill", refuse)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.send(bytes([signal.SIGTERM]))
        assert _passed_on(theirs.fileno(), 2**30)


def test_a_hidden_text_that_arrives_in_pieces_is_hidden(
    capfd: pytest.CaptureFixture[str],
) -> None:
    pipe = _HidingPipe(["sk-12345678"])
    for piece in (b"key sk-1234", b"5678, sk-"):
        os.write(pipe.entry, piece)
        pipe.pass_on()
    os.close(pipe.entry)
    pipe.close()
    os.close(pipe.exit)
    assert capfd.readouterr().err == "key ***, sk-"


def test_hidden_texts_do_not_reach_the_error_stream() -> None:
    words = "printf 'key sk-12345678, sk-' >&2"
    with tempfile.TemporaryFile() as errors:
        ChildProgram(
            ["sh", "-c", words], errors=errors, env=os.environ, hidden=["sk-12345678"]
        ).end(60)
        assert os.pread(errors.fileno(), 100, 0) == b"key ***, sk-"


def test_of_a_scratch_folder_that_a_link_has_replaced_nothing_else_is_removed(
    tmp_path: Path,
) -> None:
    scratch, precious = tmp_path / "scratch", tmp_path / "precious"
    for folder in (scratch, precious):
        folder.mkdir()
        (folder / "file").touch()
    words = f"mv {scratch} {tmp_path}/moved && ln -s {precious} {scratch}"
    ChildProgram(["sh", "-c", words], errors=2, env=os.environ, scratch=scratch).end(60)
    assert (precious / "file").exists()
    assert not (tmp_path / "moved" / "file").exists()


def test_what_is_nested_or_a_link_in_an_emptied_folder_is_removed_alone(
    tmp_path: Path,
) -> None:
    emptied, precious = tmp_path / "emptied", tmp_path / "precious"
    (emptied / "a" / "b").mkdir(parents=True)
    precious.mkdir()
    (precious / "file").touch()
    for place in (emptied / "link", emptied / "a" / "b" / "link"):
        place.symlink_to(precious)
    handle = os.open(emptied, os.O_RDONLY)
    empty_folder(handle)
    os.close(handle)
    assert (list(emptied.iterdir()), (precious / "file").exists()) == ([], True)


def test_what_cannot_be_started_says_so_on_its_error_stream() -> None:
    with tempfile.TemporaryFile() as errors:
        assert (
            ChildProgram(["no-such-program"], errors=errors, env=os.environ).end(10)
            == 127
        )
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
    assert (holder.wait(), len(family), gone(family)) == (-number, 3, True)
    wait_for(lambda: not scratch.exists(), "the end of the folder")
    holder.stdin.close()
    holder.stdout.close()


def test_a_program_that_another_thread_has_waited_for_has_ended() -> None:
    running = held("exit 3")
    os.waitpid(running._process.pid, 0)
    assert running.has_ended
    running.kill()
