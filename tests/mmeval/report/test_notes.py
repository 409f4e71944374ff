"""Why groups have no value, or stand on fewer tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from mmeval.records.score import Key, Result
from mmeval.report.notes import NumberReasons, is_unavailable, missing, repeated
from mmeval.report.numbers import number_rows
from tests.support.number_documents import document
from tests.support.outcomes import result

KNOWN = result("a", 0.5)
LOST = result("b", None, failed=4, unscored=6, bounds=(0.0, 1.0))


def reason(*members: Result, value: float | None = None, weights: tuple[str, ...] = ("a", "b")) -> str:
    group = result("g", value, weights=dict.fromkeys(weights, 0.5))
    return NumberReasons((*members, group), {"g": [one.task for one in members]}, {}).of(group)


def test_a_group_without_a_value_names_the_task_that_has_none_and_why() -> None:
    assert reason(KNOWN, LOST) == "no value without b (4 failed, 6 unscored)"


def test_where_no_task_has_a_value_the_counts_of_the_group_tell_why() -> None:
    assert reason(result("a", None, unscored=10), LOST) == ""


def test_a_task_whose_samples_are_all_bad_is_said_to_be_left_out() -> None:
    assert reason(KNOWN, result("b", None, failed=10, faulty=10), value=0.5, weights=("a",)) == (
        "left out, all samples bad: b"
    )


def test_of_a_task_that_the_model_cannot_do_and_of_tasks_themselves_nothing_is_said() -> None:
    assert reason(KNOWN, result("b", None, unsupported=10), value=0.5, weights=("a",)) == ""
    assert NumberReasons([KNOWN], {"g": ["a"]}, {}).of(KNOWN) == ""


def test_only_a_few_tasks_are_named() -> None:
    lost = [result(name, None, failed=10) for name in "bcdef"]
    said = reason(KNOWN, *lost, weights=tuple("abcdef"))
    assert said == "no value without b (10 failed), c (10 failed), d (10 failed) and 2 more"


def test_every_table_gives_the_reason() -> None:
    group = result("g", None, weights={"a": 0.5, "b": 0.5}, n=20, failed=4, unscored=6)
    document = {
        "group_subtasks": {"g": ["a", "b"], "a": [], "b": []},
        "mmeval": {"results": [one.to_json() for one in (group, KNOWN, LOST)]},
    }
    assert "no value without b (4 failed, 6 unscored)" in number_rows([document], ["run"])[0].notes


def test_a_number_of_nothing_is_said_to_be_one() -> None:
    assert missing(result("a", None, inapplicable=10)) == "nothing to score, 10 inapplicable"
    assert (
        missing(result("a", None, inapplicable=8, unsupported=2)) == "nothing to score, 8 inapplicable, 2 unsupported"
    )
    assert missing(result("a", 0.5, inapplicable=4)) == "4 inapplicable"
    assert missing(result("a", None, inapplicable=9, failed=1)) == "1 failed, 9 inapplicable"


def test_a_number_and_its_group_say_without_which_pieces_they_are() -> None:
    without = {("a", "half"): ["text", "code"], ("b", "half"): ["text", "film"]}
    numbers = [KNOWN, result("b", 0.5)]
    group = result("g", 0.5, weights={"a": 0.5, "b": 0.5})
    reasons = NumberReasons((*numbers, group), {"g": ["a", "b"]}, without)
    assert reasons.of(KNOWN) == "partial: without text, code"
    assert reasons.of(group) == "partial: without text, code, film"
    assert NumberReasons([LOST], {}, {("b", "half"): ["text"]}).of(LOST) == ""


def test_a_group_of_groups_says_it_too() -> None:
    inner, outer = result("g", 0.5), result("h", 0.5)
    reasons = NumberReasons((KNOWN, inner, outer), {"g": ["a"], "h": ["g"]}, {("a", "half"): ["text"]})
    assert reasons.of(outer) == "partial: without text"


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
