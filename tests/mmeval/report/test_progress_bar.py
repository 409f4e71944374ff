import pytest

from mmeval.report.progress_bar import ProgressBar, ProgressLines, for_stderr

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


def test_without_a_terminal_a_short_run_has_notes_alone(capsys: Captured) -> None:
    progress = for_stderr()
    progress.start(2, 0)
    progress.note("asking 2 answers")
    progress.advance(ok=True)
    progress.waiting("the judge")
    progress.judging(2)
    progress.judged()
    progress.close()
    assert isinstance(progress, ProgressLines)
    assert capsys.readouterr().err == "asking 2 answers\n"
    for seconds in (None, 1.26, 99.9):
        progress.loading("m", seconds)
    progress.loading("", None)
    assert (
        capsys.readouterr().err == "loading m\nloaded m in 1.3 s\nloaded m in 100 s\n"
    )


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def test_without_a_terminal_each_minute_has_a_line_and_the_end_has_the_totals(
    capsys: Captured,
) -> None:
    clock = Clock()
    progress = ProgressLines(60, clock)
    progress.costs(lambda: 1.5)
    progress.start(1010, 10)
    for second in range(1, 151):
        clock.seconds += 1
        progress.advance(ok=second != 3)
        if second % 2:
            progress.judged()
    progress.close()
    progress.close()
    assert capsys.readouterr().err.splitlines() == [
        "answered 70/1,010   1.00/s  15:40 left, judged 30, failed 1, 1.50 USD",
        "answered 130/1,010   1.00/s  14:40 left, judged 60, failed 1, 1.50 USD",
        "answered 160/1,010   1.00/s  14:10 left, judged 75, failed 1, 1.50 USD",
    ]


def test_without_a_terminal_a_run_that_waits_has_a_line_each_minute_too(
    capsys: Captured,
) -> None:
    clock = Clock()
    progress = ProgressLines(60, clock)
    progress.start(4, 0)
    progress.waiting("the model")
    for _ in range(12):
        clock.seconds += 10
        progress.tick()
    line = "answered 0/4  ?/s  ? left, waiting for the model"
    assert capsys.readouterr().err.splitlines() == [line] * 2


def test_without_a_terminal_judging_after_the_model_is_counted_by_itself(
    capsys: Captured,
) -> None:
    clock = Clock()
    progress = ProgressLines(60, clock)
    progress.start(2, 0)
    clock.seconds += 60
    progress.advance(ok=True)
    progress.advance(ok=True)
    progress.judging(4)
    clock.seconds += 60
    progress.judged()
    progress.close()
    words = [line.split()[:2] for line in capsys.readouterr().err.splitlines()]
    assert words == [
        ["answered", "1/2"],
        ["answered", "2/2"],
        ["judged", "1/4"],
        ["judged", "1/4"],
    ]


def test_scoring_for_less_than_the_interval_has_no_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = ProgressLines(60, lambda: 5000.0)
    progress.judging(1)
    progress.judged()
    progress.close()
    assert capsys.readouterr().err == ""
