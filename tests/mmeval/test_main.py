import errno
import gc
import os
import subprocess
import sys

import pytest

from mmeval import errors
from mmeval.__main__ import main
from mmeval.cli import verbs
from mmeval.system import signals, threads


def fails_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def dispatch(argv: object) -> int:
        raise error

    monkeypatch.setattr(verbs, "dispatch", dispatch)


@pytest.mark.parametrize(
    ("error", "code", "named"),
    [
        (errors.UsageError("no such flag"), 2, "no such flag"),
        (errors.MissingExtraError("av"), 4, "av"),
        (errors.StorageError("disk full"), 1, "disk full"),
        (errors.Interrupted("stopped; saved"), 130, "stopped; saved"),
        (KeyboardInterrupt(), 130, ""),
        (ZeroDivisionError("oops"), 1, "ZeroDivisionError: oops"),
        (OSError(errno.ENOSPC, "No space", "/runs/m"), 1, "/runs/m: No space"),
        (OSError(errno.ENOSPC, "No space"), 1, "No space"),
        (OSError(errno.ENOENT, "No file"), 1, "FileNotFoundError: "),
    ],
    ids=[
        "usage",
        "missing",
        "storage",
        "stopped",
        "ctrl-c",
        "unexpected",
        "disk",
        "a disk",
        "file",
    ],
)
def test_every_end_has_its_exit_code_and_one_line(
    error: BaseException,
    code: int,
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fails_with(monkeypatch, error)
    assert main(["ls"]) == code
    shown = capsys.readouterr().err
    assert (shown.count("\n"), named in shown, shown.startswith("error: ")) == (
        1,
        True,
        code != 130,
    )


@pytest.mark.parametrize(
    ("words", "variable", "traced"),
    [
        *(
            ([*words], "", True)
            for words in (
                ("-v", "DEBUG"),
                ("--verbosity", "debug"),
                ("--verbosity=DEBUG",),
            )
        ),
        *(([], name, True) for name in ("MMEVAL_LOG_LEVEL", "MMEVAL_VERBOSITY")),
        (["DEBUG", "-v"], "", False),
        ([], "", False),
    ],
)
def test_debugging_shows_the_traceback(
    words: list[str],
    variable: str,
    traced: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if variable:
        monkeypatch.setenv(variable, "DEBUG")
    for error, code in ((ZeroDivisionError("oops"), 1), (errors.UsageError("oops"), 2)):
        fails_with(monkeypatch, error)
        assert main(words) == code
        shown = capsys.readouterr().err
        assert ("Traceback" in shown, "error: " in shown) == (
            traced,
            not traced or code == 2,
        )


SIGNALLED = """
import os, signal, sys


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "uuid":  # which an extension imports, and crashes without
            os.kill(os.getpid(), signal.SIGINT)


from mmeval.__main__ import main

sys.meta_path.insert(0, Finder())
sys.argv = ["mmeval", "report", "nothing"]
sys.exit(main())
"""


def test_a_signal_while_an_extension_is_imported_ends_the_process() -> None:
    words = [sys.executable, "-c", SIGNALLED]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == errors.EXIT_INTERRUPTED, ended.stderr
    assert ended.stderr.startswith("interrupted; ")


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a command does to the collector of its process, in place of that of the
    tests."""
    done: list[str] = []
    monkeypatch.setattr("mmeval.__main__.settle", lambda: done.append("settle"))
    monkeypatch.setattr(gc, "freeze", lambda: done.append("freeze"))
    monkeypatch.setattr(signals, "ENDING", ())  # of this process, which goes on
    return done


def test_a_command_of_this_process_alone_sets_the_collector(
    collector: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (main(["ls", "nothing"]), collector) == (2, [])
    monkeypatch.setattr(sys, "argv", ["mmeval", "ls", "nothing"])
    assert (main(), collector) == (2, ["settle", "freeze"])


@pytest.mark.usefixtures("collector")
def test_a_process_is_not_taken_apart_around_a_thread_that_is_still_at_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(sys, "argv", ["mmeval", "ls", "nothing"])
    assert (main(), ended) == (2, [])
    monkeypatch.setattr(threads, "any_at_work", lambda: True)
    assert (main(["ls", "nothing"]), ended) == (2, [])
    assert (main(), ended) == (2, [2])
    assert [
        main(words)
        for words in (["--help"], ["ls", "--help"], ["run", "--no-such-flag"])
    ] == [0, 0, 2]
