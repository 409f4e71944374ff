import errno
import os
import sys
from pathlib import Path

import pytest

from mmeval import errors
from mmeval.__main__ import main
from mmeval.cli import verbs
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.system import threads
from tests.support.tiny_benchmark import write_benchmark
from tests.support.toy import Toy, registered


def fails_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def dispatch(argv: object) -> int:
        raise error

    monkeypatch.setattr(verbs, "dispatch", dispatch)


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (errors.UsageError("no such flag"), 2, "error: no such flag"),
        (errors.MissingExtraError("av"), 4, "error: av is not"),
        (errors.StorageError("disk full"), 1, "error: disk full"),
        (errors.Interrupted("stopped; saved"), 130, "stopped; saved"),
        (KeyboardInterrupt(), 130, "interrupted; "),
        (ZeroDivisionError("oops"), 1, "error: unexpected ZeroDivisionError: oops; "),
        (OSError(errno.ENOSPC, "No space", "/runs/m"), 1, "error: /runs/m: No space. "),
        (OSError(errno.ENOSPC, "No space"), 1, "error: No space. "),
        (OSError(errno.ENOENT, "No file"), 1, "error: unexpected FileNotFoundError: "),
        (errors.UsageError("odd \x1b[2J"), 2, "error: odd \\x1b[2J"),
    ],
    ids=["usage", "missing", "storage", "stopped", "ctrl-c", "unexpected", "disk", "a disk", "file", "escape"],
)
def test_every_end_has_its_exit_code_and_one_line(
    error: BaseException, code: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails_with(monkeypatch, error)
    assert main(["ls"]) == code
    shown = capsys.readouterr().err
    assert (shown.count("\n"), shown.startswith(line)) == (1, True)


@pytest.mark.parametrize(
    ("words", "variable", "traced"),
    [
        (["-v", "DEBUG"], "", True),
        (["--verbosity", "debug"], "", True),
        (["--verbosity=DEBUG"], "", True),
        (["DEBUG", "-v"], "", False),
        ([], "MMEVAL_LOG_LEVEL", True),
        ([], "MMEVAL_VERBOSITY", True),
        ([], "", False),
    ],
)
@pytest.mark.parametrize("error", [ZeroDivisionError("oops"), errors.UsageError("oops")], ids=["unexpected", "ours"])
def test_debugging_shows_the_traceback(
    words: list[str],
    variable: str,
    traced: bool,
    error: Exception,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fails_with(monkeypatch, error)
    if variable:
        monkeypatch.setenv(variable, "DEBUG")
    assert main(words) == (1 if isinstance(error, ZeroDivisionError) else 2)
    shown = capsys.readouterr().err
    assert ("Traceback" in shown, "error: " in shown) == (traced, not traced or isinstance(error, errors.UsageError))


@pytest.mark.parametrize("code", [0, "bye"])
def test_a_backend_that_leaves_the_process_does_not_choose_the_exit_code(
    code: int | str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leaves(self: Toy, asked: Request) -> Response:
        raise SystemExit(code)

    folder = write_benchmark(tmp_path / "tasks", rows=2)
    words = ["--tasks", str(folder / "tiny.yaml"), "--model", "toy", "--output_path", str(tmp_path / "runs")]
    monkeypatch.setattr(Toy, "_usual", leaves)
    with registered(tmp_path / "site", monkeypatch):
        assert main([*words, "--score_workers", "0"]) == errors.EXIT_INCOMPLETE


@pytest.mark.parametrize(
    ("words", "code"), [(["--help"], 0), (["ls", "--help"], 0), (["run", "--no-such-flag"], 2)], ids=str
)
def test_the_parser_ends_a_command_with_its_own_code(words: list[str], code: int) -> None:
    assert main(words) == code


def test_a_process_is_not_taken_apart_around_a_thread_that_is_still_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(sys, "argv", ["mmeval", "ls", "nothing"])
    assert (main(), ended) == (2, [])
    monkeypatch.setattr(threads, "any_at_work", lambda: True)
    assert (main(["ls", "nothing"]), ended) == (2, [])
    assert (main(), ended) == (2, [2])
