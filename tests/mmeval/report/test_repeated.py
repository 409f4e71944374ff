from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from mmeval.records.score import Key, Result
from mmeval.report.notes import is_unavailable, repeated
from mmeval.report.numbers import number_rows
from tests.support.number_documents import document
from tests.support.outcomes import result

PIECE = replace(result("a", 0.5), metric="piece")
WHOLE = replace(PIECE, metric="overall")
MADE = {"a": {"overall": {"outputs": ["overall"], "pieces": ["piece"]}}}
PIECES = {("a", "overall"): ["piece"]}


def test_the_only_piece_of_a_number_is_left_out_where_it_says_the_same() -> None:
    assert repeated([PIECE, WHOLE], PIECES) == {Key("a", "piece")}


def test_a_piece_that_says_something_else_is_shown() -> None:
    assert repeated([replace(PIECE, unscored=1), WHOLE], PIECES) == set()
    assert repeated([PIECE, WHOLE], {("a", "overall"): ["piece", "other"]}) == set()


def test_a_slice_does_not_repeat_what_is_unavailable_in_all_of_its_task() -> None:
    whole = result("a", None, unavailable=8, unsupported=2)
    part = replace(whole, slice="level=easy", n=2, unavailable=0, unsupported=2)

    assert repeated([whole, part], PIECES) == {Key("a", "half", "level=easy")}


@pytest.mark.parametrize("own", [{"scored": 1}, {"unscored": 1}, {"unavailable": 0, "failed": 9}], ids=str)
def test_a_slice_of_what_some_trial_has_or_lost_is_shown(own: dict[str, int]) -> None:
    whole = replace(result("a", None, unavailable=9), **own)  # type: ignore[arg-type]  # all of these are counts
    part = replace(whole, slice="level=easy")

    assert repeated([whole, part], PIECES) == set()


def rows(*runs: Sequence[Result], every: bool = False, repeats: bool | None = None) -> list[str]:
    documents = [document(*(one.to_json() for one in run), metrics=MADE) for run in runs]
    names = [str(at) for at in range(len(runs))]
    return [row.metric for row in number_rows(documents, names, every_slice=every, repeats=repeats)]


def test_tables_of_a_report_leave_it_out_and_files_for_scripts_do_not() -> None:
    assert rows([PIECE, WHOLE]) == ["overall"]
    assert rows([PIECE, WHOLE], every=True) == ["piece", "overall"]


def test_a_chart_of_every_slice_leaves_it_out_all_the_same() -> None:
    assert rows([PIECE, WHOLE], every=True, repeats=False) == ["overall"]


def test_of_several_runs_it_is_left_out_where_it_says_the_same_in_each() -> None:
    assert rows([PIECE, WHOLE], [replace(PIECE, value=0.1), WHOLE]) == ["piece", "overall"]


def test_a_slice_does_not_repeat_that_there_is_nothing_to_score() -> None:
    whole = result("a", None, inapplicable=8, unsupported=2)
    part = replace(whole, slice="level=easy", n=2, inapplicable=2, unsupported=0)

    assert repeated([whole, part], PIECES) == {Key("a", "half", "level=easy")}
    assert repeated([replace(whole, scored=1, inapplicable=7), part], PIECES) == set()


def test_what_is_inapplicable_to_some_and_unavailable_for_the_others_is_none_either() -> None:
    assert is_unavailable(result("a", None, inapplicable=4, unavailable=6))
    assert not is_unavailable(result("a", None, inapplicable=10))
