from typing import Any

import pytest

from mmeval.metric import bind
from mmeval.metrics.text.constraints import (
    MAX_CHARS,
    MAX_ITEMS,
    constraints_of,
    parsed_condition,
    text_constraints,
)
from mmeval.records import Score
from tests.support.trials import score_of, trial

FAULTY: list[tuple[Any, str]] = [
    ([], "not []"),
    ("start", "not 'start'"),
    ([[]], "''"),
    (["strat", "we"], '"start"'),
    (["start"], "one text"),
    (["start", "a", "b"], "one text"),
    (["start", " "], "list of non-empty strings"),
    (["start", 3], "list of non-empty strings"),
    ([["start", "a"], "end"], "list of non-empty strings"),
    (["keyword_include"], "needs keywords"),
    (["keyword_count", "== 2"], "keyword_count needs"),
    (["length_word", "word", "== 2"], "length_word needs"),
    (["length_word", "== 10 or 1"], "'== 10'"),
    (["length_word", "< 1" + "0" * 9], "'== 10'"),
    (["length_word", ">= 1 and"], "'== 10'"),
    ([["start", "a"]] * (MAX_ITEMS + 1), "101 constraints"),
    (["keyword_include", *"a" * MAX_ITEMS], "100 texts"),
    (["start", "a" * (MAX_CHARS + 1)], "10000 characters"),
]


def score(
    answer: str | None, constraint: Any, profile: str = "standard", **switches: Any
) -> Score:
    return score_of(
        text_constraints,
        trial(answer, metadata={"constraint": constraint}),
        profile,
        **switches,
    )


@pytest.mark.parametrize(
    ("answer", "constraint", "met"),
    [
        ("green power is the future", ["keyword_include", "power", "future"], True),
        ("green power", ["keyword_include", "power", "future"], False),
        ("peace for all", ["keyword_exclude", "war", "hunger"], True),
        ("peace after war", ["keyword_exclude", "war", "hunger"], False),
        ("aaaa", ["keyword_count", "aa", "== 2"], True),
        ("one two three", ["length_word", "< 3"], False),
        ("We grow together.", ["start", "We grow"], True),
        ("we grow", ["end", "We GROW."], True),
        ("we grow", ["end", "we"], False),
        ("the old man is not here", ["exact_match", "The old man isn't here!"], True),
        ("together we grow", [["start", "together"], ["length_word", "== 4"]], False),
    ],
)
def test_a_constraint_is_met_or_not_in_both_profiles(
    answer: str, constraint: Any, met: bool
) -> None:
    assert [
        score(answer, constraint, profile).value for profile in ("standard", "official")
    ] == [met, met]


def test_evidence_has_each_constraint() -> None:
    found = score(
        "one two",
        [
            ["keyword_include", "two"],
            ["length_word", "== 3"],
            ["keyword_count", "o", "> 1"],
        ],
    )
    assert found.evidence["constraints"] == [
        {"constraint": ["keyword_include", "two"], "met": True},
        {"constraint": ["length_word", "== 3"], "met": False, "found": 2},
        {"constraint": ["keyword_count", "o", "> 1"], "met": True, "found": 2},
    ]


@pytest.mark.parametrize(("label", "words"), FAULTY, ids=lambda value: str(value)[:40])
def test_a_label_that_is_no_constraint_is_found_before_the_run_and_unscored(
    label: Any, words: str
) -> None:
    found = score("words", label)
    fault = bind(text_constraints).sample_fault(
        trial("", metadata={"constraint": label}).sample
    )
    assert found.status == "unscored"
    assert found.reason == fault
    assert "'constraint'" in fault and words in fault


def test_labels_at_their_limits_are_constraints_and_a_number_is_compared() -> None:
    assert len(constraints_of([["start", "a" * MAX_CHARS]] * MAX_ITEMS)) == 100
    assert (
        len(constraints_of(["keyword_include", *"a" * (MAX_ITEMS - 1)])[0].words) == 99
    )
    constraint = ["exact_match", "It is twenty-one."]
    assert [
        score("It's 21!", constraint, normalise=it).value for it in ("none", "speech")
    ] == [0, 1]
    assert score(None, ["start", "we"]).status == "unscored"
    holding = {
        "== 2": [2],
        "!= 2": [0, 1, 3, 4],
        "<2": [0, 1],
        "<= 2": [0, 1, 2],
        " > 2 ": [3, 4],
        "count == 4": [4],
    }
    holding |= {">= 1 and count <= 3": [1, 2, 3], "> 0 and < 2": [1]}
    found = {
        written: [count for count in range(5) if parsed_condition(written).holds(count)]
        for written in holding
    }
    assert found == holding


@pytest.mark.parametrize(
    ("answer", "constraint", "switch", "standard"),
    [
        ("NATO met today", ["keyword_exclude", "NATO"], {"lower_keywords": False}, 0),
        ("NATO met today", ["keyword_include", "NATO"], {"lower_keywords": False}, 1),
        (
            "NATO met today",
            ["keyword_count", "NATO", "== 1"],
            {"lower_keywords": False},
            1,
        ),
        (" \n", ["keyword_exclude", "war"], {"missing": "empty_text"}, 0),
        ("<<audio1>>", ["length_word", "< 20"], {"missing": "empty_text"}, 0),
    ],
)
def test_the_release_finds_no_capitals(
    answer: str, constraint: Any, switch: dict[str, Any], standard: int
) -> None:
    found = (
        score(answer, constraint),
        score(answer, constraint, **switch),
        score(answer, constraint, "official"),
    )
    assert [one.value for one in found] == [standard, 1 - standard, 1 - standard]
    assert ("reason" in found[0].evidence) == ("missing" in switch)
