"""Filters of answers give what lm-evaluation-harness gives."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mmeval.media.parts import Interleaved, media_part, text_part
from mmeval.metric.answer_filter import FILTERS, AnswerFilter, name_and_filter
from mmeval.metric.apply import score_all, score_one
from mmeval.metric.bound import bind
from mmeval.metric.scoring.votes import with_votes
from mmeval.metrics.text.exact_match import exact_match
from mmeval.records.sample import Sample, user
from mmeval.records.trial import Trial
from tests.support.toy import picture
from tests.support.trials import trial

Steps = Sequence[Mapping[str, Any]]

LETTER = {"function": "regex", "regex_pattern": r"\(([A-C])\)|answer is ([A-C])"}
NUMBER = {
    "function": "regex",
    "regex_pattern": r"(-?[$0-9.,]{2,})|(-?[0-9]+)",
    "group_select": -1,
}
VOTE = {"function": "majority_vote"}
FIRST = {"function": "take_first"}
CLEAN = {"function": "remove_whitespace"}
LOWER = {"function": "lowercase"}
UPPER = {"function": "uppercase"}
MAP = {"function": "map", "mapping_dict": {"oak": "a tree"}, "default_value": "else"}
PIPELINES: dict[str, Steps] = {
    "a letter": (LETTER, FIRST),
    "the last number": (NUMBER, FIRST),
    "the default pattern": ({"function": "regex"}, FIRST),
    "a match that is not there": ({**LETTER, "fallback": "none"}, FIRST),
    "case and blanks": (CLEAN, LOWER, FIRST),
    "upper case": (UPPER, FIRST),
    "a mapping": (CLEAN, LOWER, MAP, FIRST),
    "a vote": (LETTER, VOTE, FIRST),
    "a vote of the first three": (
        {"function": "take_first_k", "k": 3},
        LETTER,
        VOTE,
        FIRST,
    ),
    "a vote that is cleaned": (CLEAN, VOTE, LOWER, FIRST),
    "the first of a vote": (LETTER, VOTE, {"function": "take_first_k", "k": 1}, FIRST),
}
ANSWERS: dict[str, Sequence[str]] = {
    "letters": ["(A) or (B)", "the answer is B", "(B)", "(C)", "(C)"],
    "numbers": ["so 4 + 5 = $1,200.", "#### 18\n", "-3", "", "none"],
    "words": [" Oak\n", " Oak\n", "OAK", "oak", "oak"],
    "ties": ["(C)", "(A)", "(A)", "(C)", "nothing"],
}


def theirs(steps: Steps, answers: Sequence[str]) -> str:
    """What lm-evaluation-harness makes of the answers to one sample."""
    filters = pytest.importorskip("lm_eval.filters")
    instance = pytest.importorskip("lm_eval.api.instance").Instance(
        request_type="generate_until", doc={}, arguments=(), idx=0
    )
    instance.resps = list(answers)
    components = [
        [step["function"], {key: step[key] for key in step if key != "function"}]
        for step in steps
    ]
    filters.build_filter_ensemble("x", components).apply([instance])
    return str(instance.filtered_resps["x"])


def ours(steps: Steps, answers: Sequence[str]) -> str:
    """The one answer of a sample that a metric counts, as the metric read it."""
    pipelines = [{"name": "x", "filter": list(steps)}]
    bound = bind(exact_match, {FILTERS: pipelines, "strip": False})
    sample = Sample("s", (user("q"),), (Interleaved.from_text("r"),))
    rows = []
    for repeat, answer in enumerate(answers):
        given = Trial(sample, repeat, output=Interleaved((text_part(answer),)))
        score = score_one(bound, given)["exact_match,x"]
        rows.append({"i": 0, "scores": {"exact_match,x": score.to_json()}})
    scores = [row["scores"]["exact_match,x"] for row in with_votes(rows)]
    (counted,) = [score for score in scores if score["status"] == "scored"]
    return str(counted["evidence"]["answer"])


@pytest.mark.parametrize("answers", ANSWERS)
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_pipeline_reads_what_lm_evaluation_harness_reads(
    pipeline: str, answers: str
) -> None:
    steps, given = PIPELINES[pipeline], ANSWERS[answers]
    assert ours(steps, given) == theirs(steps, given)


def test_a_match_that_does_not_exist_is_the_fallback() -> None:
    steps = ({"function": "regex", "regex_pattern": "[0-9]", "group_select": 3},)
    assert AnswerFilter("x", steps).text("1 2") == "[invalid]"


def test_each_filter_gives_a_number_of_its_own() -> None:
    pipelines = [
        {"name": "strict", "filter": [{"function": "regex", "regex_pattern": "^B$"}]},
        {"name": "loose", "filter": [{"function": "regex", "regex_pattern": "B"}]},
    ]
    bound = bind(exact_match, {FILTERS: pipelines})
    scores = score_one(bound, trial("It is B", "B"))
    values = {name: score.value for name, score in scores.items()}
    assert values == {"exact_match,strict": 0, "exact_match,loose": 1}


def test_the_media_of_an_answer_stay_behind_the_filtered_text() -> None:
    content = Interleaved((text_part("It is B"), media_part(picture())))
    steps = ({"function": "regex", "regex_pattern": "[AB]"},)
    output = AnswerFilter("x", steps).applied(trial(content, "B")).output
    assert output is not None
    assert (output.text, len(output.media("image"))) == ("B", 1)


def test_a_failed_vote_leaves_the_others_to_choose() -> None:
    def row(vote: str | None) -> dict[str, Any]:
        score: dict[str, Any] = {"value": None, "status": "unscored", "reason": "lost"}
        if vote is not None:
            evidence = {"majority_vote": vote}
            score = {"value": 1.0, "status": "scored", "evidence": evidence}
        return {"i": 0, "scores": {"m,x": score}}

    rows = with_votes([row(None), row("B"), row("A"), row("A")])
    statuses = [row["scores"]["m,x"]["status"] for row in rows]
    assert statuses == ["unscored", "inapplicable", "scored", "inapplicable"]


def test_filters_are_a_part_of_the_definition_of_a_metric() -> None:
    pipelines = [{"name": "x", "filter": [{"function": "lowercase"}]}]
    with_filter = bind(exact_match, {FILTERS: pipelines})
    sent = json.loads(json.dumps(with_filter.switches))
    keys = {with_filter.key, bind(exact_match, sent).key, bind(exact_match).key}
    assert len(keys) == 2


def test_several_answers_are_scored_at_once() -> None:
    pipelines = [{"name": "x", "filter": [{"function": "take_first"}]}]
    bound = bind(exact_match, {FILTERS: pipelines})
    answers = [trial("a", "a"), trial("b", "a")]
    scores = score_all(bound, answers)
    assert [score["exact_match,x"].value for score in scores] == [1, 0]


@pytest.mark.parametrize(
    ("output", "parts"),
    [("wer", ("wer", "none")), ("wer,maj@8", ("wer", "maj@8"))],
)
def test_an_output_is_a_metric_and_a_filter(
    output: str, parts: tuple[str, str]
) -> None:
    assert name_and_filter(output) == parts
