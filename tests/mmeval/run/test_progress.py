from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval.content.parts import Interleaved
from mmeval.records.response import FinishReason, Response
from mmeval.records.trial import Exchange
from mmeval.run import progress
from mmeval.run.options import BackendSpec, RunOutcome
from mmeval.run.progress import MAX_KINDS, Remarks, left_to_judge, opening
from tests.support.toy import Toy, registered, run_toy, task


def answer(*warnings: str, reason: FinishReason = "stop", role: str = "model") -> Exchange:
    return Exchange("0", role, "d", Response(Interleaved.from_text("a"), finish_reason=reason, warnings=warnings))


def told(*trials: tuple[Exchange, ...]) -> list[str]:
    made = Remarks()
    for exchanges in trials:
        made.add(exchanges)
    return list(made.told())


def test_nothing_is_said_of_answers_that_are_whole() -> None:
    assert told((answer(),), (answer(),)) == []


def test_a_trial_is_cut_off_once_however_many_of_its_answers_are_and_never_by_another_role() -> None:
    cut = answer(reason="length")
    (said,) = told((cut, cut), (answer(), answer(reason="length", role="helper")))
    assert said == "1 of 2 answers was cut off by the limit of tokens; --gen_kwargs max_gen_toks=N sets the limit"


def test_warnings_that_differ_by_digits_are_told_as_one_in_the_words_of_the_first() -> None:
    assert told((answer("took 8 of 90 frames"), answer("took 8 of 70 frames")), (answer("took 8 of 31 frames"),)) == [
        "2 of 2 answers were given with warnings; --log_samples writes them beside the answers",
        "a warning of 2: took 8 of 90 frames",
    ]


def test_three_warnings_are_told_the_most_frequent_first() -> None:
    lines = told(*((answer(name),) for name in "abbcccdddd"))
    assert lines[1:] == ["a warning of 4: d", "a warning of 3: c", "a warning of 2: b"]


def test_warnings_without_end_take_no_memory_without_end() -> None:
    made = Remarks()
    for number in range(3 * MAX_KINDS):
        made.add((answer("w" + "x" * number),))
    assert (made.warned, len(made.kinds), len(made._words)) == (3 * MAX_KINDS, MAX_KINDS, MAX_KINDS)


def test_a_long_warning_is_told_in_one_short_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "MAX_WARNING_CHARS", 5)
    assert told((answer("one\ntwo three"),))[1] == "a warning of 1: one t..."


@pytest.fixture
def _toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with registered(tmp_path / "site", monkeypatch):
        yield


@pytest.mark.usefixtures("_toys")
def test_a_run_tells_of_new_and_of_kept_answers_alike_and_its_exit_code_stays_0(tmp_path: Path) -> None:
    def outcome() -> RunOutcome:
        toy = Toy(answers=lambda _: answer("w", reason="length").response)
        return run_toy(tmp_path, task(rows=2), model=BackendSpec("toy", instance=toy))

    first, again = outcome(), outcome()

    assert (first.counts.new, again.counts.kept) == (2, 2)
    assert first.notes == again.notes
    assert [note.partition(";")[0] for note in first.notes] == [
        "2 of 2 answers were cut off by the limit of tokens",
        "2 of 2 answers were given with warnings",
        "a warning of 2: w",
    ]
    assert (first.exit_code, first.complaints) == (0, ())


@pytest.mark.parametrize(
    ("kept", "new", "said"),
    [
        (0, 30, "asking 30 answers"),
        (0, 1, "asking 1 answer"),
        (120, 30, "kept 120 answers from 2026-01-31 12:00:00, asking 30 new"),
        (120, 0, "kept 120 answers from 2026-01-31 12:00:00, nothing new to ask"),
    ],
)
def test_the_first_line_says_what_is_kept_since_when_and_what_is_new(kept: int, new: int, said: str) -> None:
    assert opening(kept=kept, new=new, since="2026-01-31 12:00:00") == said


def test_where_some_are_known_as_bad_the_number_is_the_most_that_are_asked() -> None:
    said = [opening(kept=kept, new=3, since="", bad=True) for kept in (0, 2)]
    assert said == ["asking up to 3 answers: some samples cannot be asked", "kept 2 answers, asking 3 new"]


@pytest.mark.parametrize(("count", "said"), [(1, "1 answer is"), (1200, "1,200 answers are")])
def test_what_is_left_to_judge_is_counted(count: int, said: str) -> None:
    assert left_to_judge(count) == f"the model is done; {said} still to be judged"
