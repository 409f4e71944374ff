"""Why groups have no value, or stand on fewer tasks, and which rows only repeat
others."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from mmeval.records.score import Key, Result
from mmeval.results.notes import (
    NumberReasons,
    missing,
    no_interval,
    no_option,
    refused,
    repeated,
)
from mmeval.results.numbers import number_rows
from tests.support.outcomes import result
from tests.support.stored_runs import document

KNOWN = result("a", 0.5)
LOST = result("b", None, failed=4, unscored=6, bounds=(0.0, 1.0))
FAILED = [result(name, None, failed=10) for name in "bcdef"]


@pytest.mark.parametrize(
    ("members", "value", "weighed", "words"),
    [
        ([KNOWN, LOST], None, "ab", ["b (4 failed, 6 unscored)"]),
        ([result("a", None, unscored=10), LOST], None, "ab", []),
        ([KNOWN, result("b", None, failed=10, faulty=10)], 0.5, "a", ["bad: b"]),
        (
            [KNOWN, result("b", None, failed=8, faulty=8, unsupported=2)],
            0.5,
            "a",
            ["bad: b"],
        ),
        (
            [KNOWN, replace(result("b", None, unscored=10), refused_verdicts=10)],
            0.5,
            "a",
            ["all refused: b"],
        ),
        ([KNOWN, result("b", None, unsupported=10)], 0.5, "a", []),
        ([KNOWN, result("b", None, unsupported=10)], 0.25, "ab", ["as 0: b"]),
        (
            [KNOWN, result("b", None, unsupported=10)],
            None,
            "abc",
            ["without c", "as 0: b"],
        ),
        (
            [KNOWN, *FAILED],
            None,
            "abcdef",
            ["b (10 failed), c (10 failed), d (10 ", "and 2 more"],
        ),
    ],
    ids=[
        "a task without a value",
        "none has one",
        "all samples bad",
        "bad or not asked",
        "all refused",
        "not asked",
        "counted as 0",
        "counted as 0 beside one not asked",
        "only a few",
    ],
)
def test_tasks_without_a_value_are_named(
    members: Sequence[Result], value: float | None, weighed: str, words: list[str]
) -> None:
    group = result("g", value, weights=dict.fromkeys(weighed, 0.5))
    note = NumberReasons(
        (*members, group), {"g": [one.task for one in members]}, {}
    ).of(group)
    assert (bool(note), [one for one in words if one not in note]) == (bool(words), [])


def test_a_number_has_the_counts_of_what_it_leaves_out() -> None:
    left_out: list[tuple[dict[str, Any], list[str]]] = [
        ({"inapplicable": 10}, ["10 inapplicable"]),
        ({"inapplicable": 9, "failed": 1}, ["1 failed", "9 inapplicable"]),
        ({"inapplicable": 8, "unsupported": 2}, ["8 inapplicable", "2 unsupported"]),
        ({"unsupported": 3, "bounds": (0.5, 0.5)}, ["3 unsupported"]),
        (
            {"suspended": True, "unscored": 4, "bounds": (0.3, 0.7)},
            ["4 unscored", "0.3000", "0.7000"],
        ),
        ({"failed": 2, "unavailable": 1}, ["2 failed", "1 unavailable"]),
    ]
    for counts, found in left_out:
        assert (
            re.findall(r"\d+ \w{5,}|\d\.\d+", missing(result("a", None, **counts)))
            == found
        )
    assert missing(result("a", None)) == ""


def test_lost_trials_say_whether_the_interval_covers_them() -> None:
    lost = result("a", 0.5, failed=2, bounds=(0.4, 0.6))
    assert "interval" not in missing(lost)
    assert "interval covers" in missing(replace(lost, bounds_ci95=(0.2, 0.8)))


@pytest.mark.parametrize(
    ("number", "note"),
    [
        (result("a", no_interval="one cluster"), "no interval: one cluster"),
        (result("a", slice="l=1", no_interval="one cluster"), ""),
        (result("a", None, no_interval="one cluster"), ""),
        (result("a", ci95=(0.0, 1.0)), ""),
        (result("a"), ""),
    ],
    ids=["whole", "slice", "no value", "an interval", "an older results file"],
)
def test_a_value_without_an_interval_says_why(number: Result, note: str) -> None:
    assert no_interval(number) == note


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, ""), (1200, "no option 1,200/1,500")],
)
def test_answers_that_name_no_option_are_noted(count: int, words: str) -> None:
    assert no_option(result("a", n=1500, no_option=count)) == words


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({}, ""),
        (
            {"refused": 1200, "refused_verdicts": 2, "n": 3000},
            "refused 1,200/3,000, judge refused 2/3,000",
        ),
    ],
)
def test_what_is_refused_is_noted(counts: dict[str, Any], words: str) -> None:
    assert refused(replace(result("a"), **counts)) == words


def test_a_number_and_its_groups_name_the_pieces_that_they_are_without() -> None:
    without = {("a", "half"): ["text", "code"], ("b", "half"): ["text", "film"]}
    inner, outer = result("g", 0.5, weights={"a": 0.5, "b": 0.5}), result("h", 0.5)
    members = {"g": ["a", "b"], "h": ["g"]}
    reasons = NumberReasons((KNOWN, result("b", 0.5), inner, outer), members, without)
    ends = [
        reasons.of(one).partition("without ")[2]
        for one in (KNOWN, inner, outer, replace(KNOWN, slice="x=y"))
    ]
    assert ends == ["text, code", "text, code, film", "text, code, film", ""]
    assert NumberReasons([LOST], {}, {("b", "half"): ["text"]}).of(LOST) == ""
    assert NumberReasons([KNOWN], {"g": ["a"]}, {}).of(KNOWN) == ""


PIECE = replace(result("a", 0.5), metric="piece")
WHOLE = replace(PIECE, metric="overall")
MADE = {"a": {"overall": {"outputs": ["overall"], "pieces": ["piece"]}}}
PIECES = {("a", "overall"): ["piece"]}
UNAVAILABLE = result("a", None, unavailable=8, unsupported=2)
SILENT = result("a", None, inapplicable=8, unsupported=2)
EASY = Key("a", "half", "level=easy")


def slice_of(whole: Result, **counts: Any) -> Result:
    return replace(whole, slice="level=easy", n=2, **counts)


@pytest.mark.parametrize(
    ("results", "pieces", "found"),
    [
        ([PIECE, WHOLE], PIECES, {Key("a", "piece")}),
        ([replace(PIECE, unscored=1), WHOLE], PIECES, set()),
        ([PIECE, WHOLE], {("a", "overall"): ["piece", "other"]}, set()),
        (
            [UNAVAILABLE, slice_of(UNAVAILABLE, unavailable=0, unsupported=2)],
            PIECES,
            {EASY},
        ),
        ([replace(UNAVAILABLE, scored=1), slice_of(UNAVAILABLE)], PIECES, set()),
        ([replace(UNAVAILABLE, unscored=1), slice_of(UNAVAILABLE)], PIECES, set()),
        (
            [replace(UNAVAILABLE, unavailable=0, failed=9), slice_of(UNAVAILABLE)],
            PIECES,
            set(),
        ),
        ([SILENT, slice_of(SILENT, inapplicable=2, unsupported=0)], PIECES, {EASY}),
        ([replace(SILENT, scored=1, inapplicable=7), slice_of(SILENT)], PIECES, set()),
    ],
    ids=[
        "the only piece",
        "another count",
        "two pieces",
        "unavailable",
        "some scored",
        "some unscored",
        "failed",
        "nothing to score",
        "something to score",
    ],
)
def test_a_row_that_repeats_another_is_found(
    results: list[Result], pieces: Any, found: set[Key]
) -> None:
    assert repeated(results, pieces) == found


def rows(*runs: Sequence[Result], **options: Any) -> list[str]:
    documents = [
        document(*(one.to_json() for one in run), metrics=MADE) for run in runs
    ]
    return [
        row.metric
        for row in number_rows(
            documents, [str(at) for at in range(len(runs))], **options
        )
    ]


def test_tables_leave_it_out_in_all_runs_alike_and_files_for_scripts_do_not() -> None:
    assert rows([PIECE, WHOLE]) == ["overall"]
    assert rows([PIECE, WHOLE], every_slice=True) == ["piece", "overall"]
    assert rows([PIECE, WHOLE], every_slice=True, repeats=False) == ["overall"]
    assert rows([PIECE, WHOLE], [replace(PIECE, value=0.1), WHOLE]) == [
        "piece",
        "overall",
    ]
