import pytest

from mmeval.report.progress_bar import ProgressBar, QuietProgress, for_stderr

Captured = pytest.CaptureFixture[str]


def test_a_bar_shows_how_far_the_run_is_how_many_failed_and_what_it_waits_for(
    capsys: Captured,
) -> None:
    bar = ProgressBar()
    bar.start(4, 1)
    for ok in (True, False, True):
        bar.advance(ok=ok)
    bar.waiting("the judge")
    shown = capsys.readouterr().err
    assert [
        words in shown for words in ("answered 4/4", "failed 1, ", "for the judge")
    ] == [True] * 3
    bar.waiting("")
    bar.note("something to know")
    bar.close()
    shown = capsys.readouterr().err
    assert ("waiting" in shown, "something to know\n" in shown) == (False, True)


def test_a_bar_shows_what_is_judged_and_what_is_loaded(capsys: Captured) -> None:
    bar = ProgressBar()
    bar.start(9, 0)
    bar.judged()  # while the model is still at work
    bar.judging(5)
    for _ in range(5):
        bar.judged()
    bar.close()
    shown = capsys.readouterr().err
    assert [
        words in shown for words in ("answered 0/9", "judged 5/5", "00:00 left")
    ] == [True] * 3
    bar = ProgressBar()
    bar.start(2, 0)
    bar.loading("my-model", None)
    assert "loading my-model" in capsys.readouterr().err
    bar.loading("my-model", 12.34)
    bar.close()
    shown = capsys.readouterr().err
    assert (
        "loaded my-model in 12 s\n" in shown,
        "loading" in shown.rpartition("\n")[2],
    ) == (True, False)


def test_without_a_terminal_there_are_notes_and_no_bar(capsys: Captured) -> None:
    progress = for_stderr()
    progress.start(2, 0)
    progress.note("asking 2 answers")
    progress.advance(ok=True)
    progress.waiting("the judge")
    progress.judging(2)
    progress.judged()
    progress.close()
    assert (type(progress), capsys.readouterr().err) == (
        QuietProgress,
        "asking 2 answers\n",
    )
    for seconds in (None, 1.26, 99.9):
        progress.loading("m", seconds)
    progress.loading("", None)
    assert (
        capsys.readouterr().err == "loading m\nloaded m in 1.3 s\nloaded m in 100 s\n"
    )
