from __future__ import annotations

from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.metric.bound import bind
from mmeval.metrics.text.constraints import LONGEST, MOST, all_met, comparison_of, constraints_of, text_constraints
from mmeval.records.score import Score
from tests.support.switch_changes import unnoticed
from tests.support.trials import score_of, trial


def score(answer: str | None, constraint: Any, profile: str = "standard", **switches: Any) -> Score:
    return score_of(text_constraints, trial(answer, metadata={"constraint": constraint}), profile, **switches)


@pytest.mark.parametrize(
    ("answer", "constraint", "met"),
    [
        ("green power is the future", ["keyword_include", "power", "future"], True),
        ("green power", ["keyword_include", "power", "future"], False),
        ("powerful", ["keyword_include", "power"], True),
        ("peace for all", ["keyword_exclude", "war", "hunger"], True),
        ("peace after war", ["keyword_exclude", "war", "hunger"], False),
        ("aba aba abababa", ["keyword_count", "aba", "== 4"], True),
        ("aaaa", ["keyword_count", "aa", "== 2"], True),
        ("one two three", ["length_word", "< 3"], False),
        ("one two three", ["length_word", ">= 3 and count <= 5"], True),
        ("We grow together.", ["start", "We grow"], True),
        ("we grow", ["end", "We GROW."], True),
        ("we grow", ["end", "we"], False),
        (" The old man isn't here ", ["exact_match", "the old man isn't here!"], False),
        ("the old man is not here", ["exact_match", "The old man isn't here!"], True),
        ("together we grow", [["start", "together"], ["length_word", "== 3"]], True),
        ("together we grow", [["start", "together"], ["length_word", "== 4"]], False),
    ],
)
def test_a_constraint_is_met_or_not_in_both_profiles(answer: str, constraint: Any, met: bool) -> None:
    assert [score(answer, constraint, profile).value for profile in ("standard", "official")] == [met, met]


def test_evidence_has_each_constraint_and_what_was_counted() -> None:
    found = score("one two", [["keyword_include", "two"], ["length_word", "== 3"], ["keyword_count", "o", "> 1"]])
    assert found.evidence["constraints"] == [
        {"constraint": ["keyword_include", "two"], "met": True},
        {"constraint": ["length_word", "== 3"], "met": False, "found": 2},
        {"constraint": ["keyword_count", "o", "> 1"], "met": True, "found": 2},
    ]


@pytest.mark.parametrize(
    ("constraint", "standard", "official"),
    [
        (["keyword_exclude", "NATO"], 0, 1),
        (["keyword_include", "NATO"], 1, 0),
        (["keyword_count", "NATO", "== 1"], 1, 0),
    ],
    ids=["exclude", "include", "count"],
)
def test_official_oddity_a_keyword_in_capitals_is_never_found(constraint: Any, standard: int, official: int) -> None:
    answer = "NATO met today"
    assert (score(answer, constraint).value, score(answer, constraint, "official").value) == (standard, official)


@pytest.mark.parametrize("answer", ["", " \n", "<<audio1>>"], ids=["empty", "blank", "a placeholder"])
def test_official_oddity_a_text_that_is_not_there_meets_what_an_empty_one_meets(answer: str) -> None:
    for constraint in (["keyword_exclude", "war"], ["length_word", "< 20"]):
        standard, official = score(answer, constraint), score(answer, constraint, "official")
        assert (standard.value, standard.evidence) == (0, {"reason": "the answer has no text"})
        assert official.value == 1


def test_the_answer_may_be_normalised_as_speech() -> None:
    constraint = ["exact_match", "It is twenty-one."]
    assert score("It's 21!", constraint).value == 0
    assert score("It's 21!", constraint, normalise="speech").value == 1


FAULTY: list[tuple[Any, str]] = [
    (None, "must be a constraint"),
    ([], "must be a constraint"),
    ("start", "must be a constraint"),
    ([[]], "unknown kind of constraint ''"),
    (["begin", "we"], "unknown kind of constraint 'begin'"),
    (["strat", "we"], 'did you mean "start"'),
    (["start"], "start takes one text"),
    (["start", "a", "b"], "start takes one text"),
    (["start", " "], "none of them empty"),
    (["start", 3], "list of texts"),
    (["keyword_include"], "keyword_include takes keywords"),
    (["keyword_count", "== 2"], "takes one keyword and how often"),
    (["keyword_count"], "takes one keyword and how often"),
    (["length_word"], "takes how many words"),
    (["length_word", "word", "== 2"], "takes how many words"),
    (["length_word", "10"], "a number is compared as in"),
    (["length_word", "== 10 or 1"], "a number is compared as in"),
    (["length_word", "== __import__('os').getpid()"], "a number is compared as in"),
    (["length_word", "< 1" + "0" * 9], "a number is compared as in"),
    (["length_word", ">= 1 and"], "a number is compared as in"),
    ([["start", "a"], "end"], "must be a list of texts"),
    ([["start", "a"]] * (MOST + 1), "are more than 100"),
    (["keyword_include", *"a" * MOST], "may have 100 texts"),
    (["start", "a" * (LONGEST + 1)], "may have 100 texts of 10000 characters"),
    ({"1": ["start", "a"]}, "must be a constraint"),
]


@pytest.mark.parametrize(("label", "reason"), FAULTY, ids=lambda value: str(value)[:40])
def test_a_label_that_is_no_constraint_is_said_beforehand_and_unscored(label: Any, reason: str) -> None:
    found = score("words", label)
    fault = bind(text_constraints).sample_fault(trial("", metadata={"constraint": label}).sample)
    assert (found.status, found.reason) == ("unscored", fault)
    assert fault.startswith("the row's label 'constraint': ")
    assert reason in fault


@pytest.mark.parametrize(
    ("written", "holding"),
    [
        ("== 2", [2]),
        ("!= 2", [0, 1, 3, 4]),
        ("<2", [0, 1]),
        ("<= 2", [0, 1, 2]),
        (" > 2 ", [3, 4]),
        (">= 1 and count <= 3", [1, 2, 3]),
        ("> 0 and < 2", [1]),
        ("count == 4", [4]),
    ],
)
def test_a_number_is_compared(written: str, holding: list[int]) -> None:
    comparison = comparison_of(written)
    assert [count for count in range(5) if comparison.holds(count)] == holding


def test_a_comparison_is_never_executed() -> None:
    with pytest.raises(UsageError, match="a number is compared as in"):
        comparison_of("== 1 and [].append(1)")


def test_a_transcript_is_judged_without_a_trial() -> None:
    found = all_met("AI is here", constraints_of(["keyword_exclude", "AI"]), lower_keywords=False)
    assert (found.met, found.evidence) == (True, [{"constraint": ["keyword_exclude", "AI"], "met": True}])
    assert all_met("anything", ()).met


def test_a_package_that_lacks_is_said_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    sample = trial("", metadata={"constraint": ["start", "we"], "counted": ["length_word", "< 3"]}).sample
    assert "transformers is not installed" in bind(text_constraints).sample_fault(sample)
    assert bind(text_constraints, {"constraint_key": "counted"}).sample_fault(sample) == ""


def test_no_answer_is_unscored() -> None:
    assert score(None, ["start", "we"]).status == "unscored"


def test_each_switch_changes_a_score() -> None:
    trials = [
        trial(answer, metadata={"constraint": constraint, "other": ["start", "never"]})
        for answer, constraint in (
            ("NATO isn't here", [["keyword_exclude", "NATO"], ["keyword_include", "not"]]),
            ("", ["keyword_exclude", "war"]),
        )
    ]
    changes = {
        "constraint_key": ("other",),
        "normalise": ("speech",),
        "lower_keywords": (False,),
        "missing": ("empty_text",),
    }
    assert unnoticed(text_constraints, changes, trials) == []


@pytest.mark.timeout(20)
def test_a_very_long_text_is_judged_in_good_time() -> None:
    text = "word " * 400_000
    assert all_met(text, constraints_of([["length_word", "== 400000"], ["keyword_count", "word", "== 400000"]])).met
