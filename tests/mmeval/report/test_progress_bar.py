import sys

import pytest

from mmeval.report.progress_bar import ProgressBar, Quiet, for_stderr


def test_a_bar_shows_how_far_the_run_is_and_how_many_failed(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar()
    bar.start(4, 1)
    for ok in (True, False, True):
        bar.advance(ok=ok)
    bar.close()
    shown = capsys.readouterr().err
    assert "4/4" in shown
    assert "1 failed" in shown


def test_judging_has_a_bar_of_its_own_once_the_model_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar()
    bar.start(9, 0)
    bar.judged()  # while the model is still at work
    bar.judging(5)
    for _ in range(5):
        bar.judged()
    bar.close()
    shown = capsys.readouterr().err
    assert "judged: " in shown
    assert "0/9" in shown
    assert "5/5" in shown


def test_a_bar_says_whom_every_call_waits_for(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar()
    bar.start(2, 0)
    bar.advance(ok=False)
    bar.waiting("the judge")
    assert "1 failed, waiting for the judge" in capsys.readouterr().err
    bar.waiting("")
    bar.close()
    assert "waiting" not in capsys.readouterr().err


def test_a_note_is_a_line_of_its_own_above_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar()
    bar.start(2, 0)
    bar.note("something to know")
    bar.close()
    assert "something to know\n" in capsys.readouterr().err


def test_without_a_terminal_there_are_notes_and_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    progress = for_stderr()
    progress.start(2, 0)
    progress.note("asking 2 answers")
    progress.advance(ok=True)
    progress.waiting("the judge")
    progress.judging(2)
    progress.judged()
    progress.close()
    assert isinstance(progress, Quiet)
    assert capsys.readouterr().err == "asking 2 answers\n"


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert isinstance(for_stderr(), ProgressBar)


def test_a_bar_says_what_is_loaded_and_how_long_that_took(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar()
    bar.start(2, 0)
    bar.loading("my-model", None)
    assert "loading my-model" in capsys.readouterr().err
    bar.loading("my-model", 12.34)
    bar.close()
    shown = capsys.readouterr().err
    assert "loaded my-model in 12 s\n" in shown
    assert "loading" not in shown.rpartition("\n")[2]


@pytest.mark.parametrize(
    ("seconds", "said"), [(None, "loading m"), (1.26, "loaded m in 1.3 s"), (99.9, "loaded m in 100 s")]
)
def test_without_a_terminal_loading_is_a_line(
    seconds: float | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Quiet().loading("m", seconds)
    Quiet().loading("", None)
    assert capsys.readouterr().err == f"{said}\n"
