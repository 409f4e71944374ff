import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

from mmeval.errors import PluginError, UnknownNameError
from mmeval.metric.apply import score_judged, score_one
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric, metric
from mmeval.metric.model import HubModel
from mmeval.metric.result import MetricScores
from mmeval.program.calls import Call, Reply, Role
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from tests.support.task_folder import installed
from tests.support.toy import reply, toy_pair, toy_verdict
from tests.support.trials import score_of, trial

_NUMPY: Any = np.float32(0.5)


def scored(value: Any, *outputs: str) -> MetricScores:
    """The scores of a metric that returns the value."""

    def given(trial: Trial) -> Any:
        return value

    return score_one(
        bind(metric(range=(0, 1), version="1", source="test", outputs=outputs)(given)),
        trial("x"),
    )


@pytest.mark.parametrize(
    "value", [1, True, np.float32(0.5), Score(_NUMPY), 1.0 + 1e-7, -1e-7], ids=repr
)
def test_every_number_in_the_range_becomes_a_plain_score(value: Any) -> None:
    score = scored(value)["given"]
    assert (type(score.value), score.status) == (float, "scored")
    number: Any = value.value if isinstance(value, Score) else value
    assert score.value == pytest.approx(float(number))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (math.nan, "returned nan"),
        (math.inf, "returned inf"),
        (Score(None), "returned None"),
        (None, "a Score, not None"),
        ("good", "a Score, not 'good'"),
        ({"other": 1}, "['given'], not ['other']"),
        (7, "returned 7, outside its range 0..1"),
        (1 + 1e-5, "1.00001"),
        (-1e-5, "-1e-05"),
    ],
    ids=repr,
)
def test_what_is_no_number_in_the_range_is_unscored_and_never_zero(
    value: Any, words: str
) -> None:
    score = scored(value)["given"]
    assert (score.value, score.status) == (None, "unscored")
    assert words in score.reason
    assert scored(Score(math.nan, evidence={"seen": 3}))["given"].evidence == {
        "seen": 3
    }


def test_a_metric_may_say_itself_that_there_is_no_value_with_bounds_in_the_range() -> (
    None
):
    for score in (
        Score.unavailable("no weights"),
        Score.unscored("one is lost", bounds=(0.25, 1.0), verdicts=["yes"]),
        Score.unscored("lost", bounds=(-1e-7, 1.0 + 1e-7)),
        Score.unscored("all but one", bounds=(0.5, 0.5)),
    ):
        assert scored(score) == {"given": score}


def test_bounds_that_cannot_be_are_left_out_and_the_reason_names_them() -> None:
    for low, high in (
        (-1e-5, 1),
        (0, 1 + 1e-5),
        (0.7, 0.3),
        (math.nan, 1),
        (0, math.inf),
    ):
        found = scored(Score.unscored("one is lost", bounds=(low, high)))["given"]
        assert (found.status, found.bounds) == ("unscored", None)
        assert (
            found.reason.startswith("one is lost (")
            and f" {low:g}..{high:g} " in found.reason
        )


def test_a_metric_may_give_several_numbers_by_name_and_must_name_them() -> None:
    scores = score_one(bind(toy_pair), trial("abc"))
    assert {name: score.value for name, score in scores.items()} == {
        "toy_first": 1,
        "toy_second": 1,
    }
    vague = scored(1.0, "a", "b")
    assert [(name, score.status) for name, score in vague.items()] == [
        ("a", "unscored"),
        ("b", "unscored"),
    ]
    assert "['a', 'b']" in vague["a"].reason


def test_a_judged_metric_is_a_program_over_its_roles() -> None:
    program = score_judged(bind(toy_verdict), trial("an answer"), Role)
    call = next(program)
    assert isinstance(call, Call)
    assert call.role == "judge"
    with pytest.raises(StopIteration) as end:
        program.send(Reply(reply("yes")))
    assert end.value.value["toy_verdict"].value == 1


def test_a_plugin_that_is_no_metric_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "[mmeval.metrics]\nplain = tests.support.trials:content\n"
    with (
        installed(tmp_path, monkeypatch, {"x": {}}, more=lines),
        pytest.raises(PluginError, match=r"'plain' .* is a function"),
    ):
        load_metric("plain")


def modelled(
    trial: Trial, judge: Role, *, model: Annotated[str, HubModel(("a",))] = "o/n"
) -> Iterator[Any]:
    yield []


REFUSED = [
    (lambda trial, *, limit: 1.0, {}, "'limit' needs a default"),
    (lambda trial, lower=True: 1.0, {}, r"write \*.* \(lower\)"),
    (lambda answer: 1.0, {}, "must be 'trial'"),
    (lambda *, trial=1: 1.0, {}, "must be 'trial'"),
    (lambda trial: 1.0, {"takes_missing": True}, "takes_missing"),
    (lambda trial, judge: 1.0, {}, "'judge' but yields no calls"),
    (lambda trial: 1.0, {"range": (1, 0)}, "lowest and the highest"),
    (modelled, {}, "calls a role.* 'model'"),
]


@pytest.mark.parametrize(
    ("function", "more", "words"), REFUSED, ids=[words for _, _, words in REFUSED]
)
def test_a_function_that_cannot_be_a_metric_is_refused(
    function: Any, more: dict[str, Any], words: str
) -> None:
    with pytest.raises(PluginError, match=words):
        metric(
            **{"range": (0, 1), "version": "1", "source": "", "name": "odd", **more}
        )(function)
    for right in (lambda trial: 1.0, lambda _trial: 1.0, lambda _: 1.0):
        made = metric(range=(0, 1), version="1", source="", name="even")(right)
        assert score_of(made, trial("x")).value == 1


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("acc", "choice"),
        ("bleu", "hf_evaluate"),
    ],
)
def test_a_metric_of_another_harness_points_to_one_of_here(
    name: str, word: str
) -> None:
    with pytest.raises(UnknownNameError, match=word):
        load_metric(name)
