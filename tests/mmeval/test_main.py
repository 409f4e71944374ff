import errno
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from mmeval import errors
from mmeval.__main__ import main
from mmeval.cli import verbs
from mmeval.installation import install_command
from mmeval.records.request import Request
from mmeval.records.response import Response
from tests.support.tiny_benchmark import write_benchmark
from tests.support.toy import Toy, registered

ROOT = Path(__file__).parents[2]


def fails_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def dispatch(argv: object) -> int:
        raise error

    monkeypatch.setattr(verbs, "dispatch", dispatch)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (errors.UsageError("no such flag"), 2, "error: no such flag\n"),
        (errors.MissingExtraError("av", "video"), 4, f"error: av is not installed; run: {install_command('video')}\n"),
        (errors.StorageError("disk full"), 1, "error: disk full\n"),
        (errors.Interrupted("stopped; saved"), 130, "stopped; saved\n"),
        (KeyboardInterrupt(), 130, "interrupted; what was answered is saved, and the same command continues\n"),
    ],
    ids=["usage", "missing", "storage", "stopped", "ctrl-c"],
)
def test_every_end_has_its_exit_code_and_one_message(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails_with(monkeypatch, error)

    assert main(["ls"]) == code
    assert capsys.readouterr().err == said


def test_an_unexpected_error_is_one_line_with_the_way_to_its_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails_with(monkeypatch, ZeroDivisionError("oops"))
    monkeypatch.delenv("MMEVAL_LOG_LEVEL", raising=False)

    assert main([]) == 1

    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "ZeroDivisionError: oops; run it again with --verbosity DEBUG" in said


def test_a_disk_that_is_full_is_said_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails_with(monkeypatch, OSError(errno.ENOSPC, "No space left on device", "/runs/m"))
    monkeypatch.delenv("MMEVAL_LOG_LEVEL", raising=False)

    assert main([]) == 1

    said = "error: /runs/m: No space left on device. What was written before is kept: free space, then run the same"
    assert capsys.readouterr().err == f"{said} command\n"


@pytest.mark.parametrize("words", [["-v", "DEBUG"], ["--verbosity", "debug"], ["--verbosity=DEBUG"]])
def test_debugging_shows_the_traceback(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails_with(monkeypatch, ZeroDivisionError("oops"))

    assert main(words) == 1
    assert "Traceback" in capsys.readouterr().err


def test_debugging_can_be_asked_for_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails_with(monkeypatch, errors.UsageError("oops"))
    monkeypatch.setenv("MMEVAL_LOG_LEVEL", "DEBUG")

    assert main([]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_the_help_imports_the_standard_library_only() -> None:
    script = (
        "import sys; before = set(sys.modules); from mmeval.__main__ import main; main(['--help']);"
        "new = {n.partition('.')[0] for n in set(sys.modules) - before};"
        "sys.exit(str(sorted(new - set(sys.stdlib_module_names) - {'mmeval'})) if new - set(sys.stdlib_module_names)"
        " - {'mmeval'} else 0)"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_the_help_costs_at_most_five_times_an_empty_python(flag: str) -> None:
    empty, asked = [sys.executable, "-c", "pass"], [sys.executable, "-m", "mmeval", flag]

    ratios = [_cpu(asked) / _cpu(empty) for _ in range(5)]

    assert statistics.median(ratios) <= 5, ratios


def _cpu(command: list[str]) -> float:
    """User and system seconds of three runs of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(3):
        subprocess.run(command, stdout=subprocess.DEVNULL, cwd=ROOT, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["ls", "metrics"], 0),
        (["validate", "no-such-task"], 2),
        (["metric", "exact_match", "--cases", "{cases}"], 3),
    ],
    ids=lambda value: str(value[0]) if isinstance(value, list) else "",
)
def test_a_reader_that_has_seen_enough_changes_no_exit_code(words: list[str], code: int, tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"files": ["none.png"], "target": "x"}\n' * 500)
    command = [sys.executable, "-m", "mmeval", *(word.format(cases=cases) for word in words)]
    read, write = os.pipe()
    os.close(read)  # whoever reads is gone before the first line
    with os.fdopen(write, "wb") as pipe:
        done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)

    assert done.returncode == code
    assert "BrokenPipe" not in done.stderr


def test_a_message_cannot_steer_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails_with(monkeypatch, errors.UsageError("no such file \x1b[2J.yaml"))

    assert main(["ls"]) == 2
    assert capsys.readouterr().err == "error: no such file \\x1b[2J.yaml\n"


@pytest.mark.parametrize("code", [0, None, 7, "bye"])
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


@pytest.mark.parametrize(("busy", "ending"), [(True, ""), (False, "taken apart\n")], ids=["at work", "idle"])
def test_a_process_is_not_taken_apart_around_a_thread_that_is_still_at_work(busy: bool, ending: str) -> None:
    program = (
        "import atexit, sys\n"
        "from mmeval import __main__\nfrom mmeval.system import threads\n"
        f"threads._at_work.update([object()] if {busy} else [])\n"
        "atexit.register(print, 'taken apart')\n"
        "sys.argv = ['mmeval', 'ls', 'nothing']\n"
        "sys.exit(__main__.main())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (errors.EXIT_USAGE, ending)
    assert done.stderr.startswith("error: ")
