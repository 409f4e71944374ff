from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

from mmeval.errors import PluginError
from mmeval.metric.apply import score_judged, score_one
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric, metric
from mmeval.metric.model import HubModel
from mmeval.program.calls import Program, Reply, Role
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from tests.support.task_folder import installed
from tests.support.toy import reply, toy_pair, toy_verdict, toy_yes
from tests.support.trials import score_of, trial

_NUMPY: Any = np.float32(0.5)


def giving(value: Any) -> Any:
    """A metric that returns the value."""

    @metric(range=(0, 1), version="1", source="made for tests")
    def given(trial: Trial) -> Any:
        return value

    return given


def test_a_description_names_what_the_function_says() -> None:
    assert (toy_yes.name, toy_yes.outputs, toy_yes.roles, toy_yes.judged) == ("toy_yes", ("toy_yes",), (), False)
    assert toy_yes.switches == {"word": "yes"}
    assert (toy_verdict.roles, toy_verdict.switches, toy_verdict.judged) == (("judge",), {"question": "met?"}, True)


@pytest.mark.parametrize("value", [1, True, 0.5, np.float32(0.5), Score(_NUMPY), Score(1)], ids=repr)
def test_every_number_becomes_a_plain_score(value: Any) -> None:
    score = score_of(giving(value), trial("x"))

    assert (type(score.value), score.status) == (float, "scored")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (math.nan, "the metric gave nan"),
        (math.inf, "the metric gave inf"),
        (Score(None), "the metric gave None"),
        (Score(-math.inf), "the metric gave -inf"),
        (None, "TypeError"),
        ("good", "ValueError"),
        ({"other": 1}, "PluginError: the metric 'given' returned ['other'], not ['given']"),
    ],
    ids=repr,
)
def test_what_is_no_number_is_unscored_and_never_zero(value: Any, reason: str) -> None:
    score = score_of(giving(value), trial("x"))

    assert (score.value, score.status) == (None, "unscored")
    assert reason in score.reason


def test_the_evidence_of_an_impossible_value_is_kept() -> None:
    assert score_of(giving(Score(math.nan, evidence={"seen": 3})), trial("x")).evidence == {"seen": 3}


@pytest.mark.parametrize(
    "score", [Score.unscored("lost"), Score.unavailable("no weights")], ids=["unscored", "unavailable"]
)
def test_a_metric_may_say_itself_that_there_is_no_value(score: Score) -> None:
    assert score_of(giving(score), trial("x")) == score


def test_a_metric_may_give_several_numbers_by_name() -> None:
    scores = score_one(bind(toy_pair), trial("abc"))

    assert {name: score.value for name, score in scores.items()} == {"toy_first": 1, "toy_second": 1}


def test_a_metric_with_several_outputs_must_name_them() -> None:
    @metric(range=(0, 1), version="1", source="made for tests", outputs=("a", "b"))
    def vague(trial: Trial) -> float:
        return 1.0

    scores = score_one(bind(vague), trial("x"))
    assert [(name, score.status) for name, score in scores.items()] == [("a", "unscored"), ("b", "unscored")]
    assert "must return a mapping with ['a', 'b']" in scores["a"].reason


def verdict(said: str) -> Mapping[str, Score]:
    program = score_judged(bind(toy_verdict), trial("an answer"), Role)
    call = next(program)
    assert (call.role, call.request.messages[0].content.text) == ("judge", "an answer met?")  # type: ignore[union-attr]
    with pytest.raises(StopIteration) as end:
        program.send(Reply(reply(said)))
    return dict(end.value.value)


@pytest.mark.parametrize(("said", "value"), [("yes", 1.0), ("no", 0.0), ("perhaps", None)])
def test_a_judged_metric_is_a_program_over_its_roles(said: str, value: float | None) -> None:
    assert verdict(said)["toy_verdict"].value == value


def test_a_judged_metrics_result_is_checked_like_any_other() -> None:
    @metric(range=(0, 1), version="1", source="made for tests")
    def wild(trial: Trial, judge: Role) -> Program[float]:
        yield []
        return math.nan

    program = score_judged(bind(wild), trial("x"), Role)
    next(program)
    with pytest.raises(StopIteration) as end:
        program.send([])
    assert end.value.value["wild"].status == "unscored"


def test_a_switch_without_a_default_is_a_defect_of_the_metric() -> None:
    with pytest.raises(PluginError, match="the metric 'strict': the switch 'limit' needs a default"):

        @metric(range=(0, 1), version="1", source="made for tests")
        def strict(trial: Trial, *, limit: int) -> float:
            return 1.0


@pytest.fixture
def _plain_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    lines = "[mmeval.metrics]\nplain = tests.support.trials:content\n"
    with installed(tmp_path, monkeypatch, {"x": {}}, more=lines):
        yield


@pytest.mark.usefixtures("_plain_function")
def test_a_plugin_that_is_no_metric_is_named() -> None:
    with pytest.raises(
        PluginError, match=r"the metric 'plain' is no function decorated with @metric \(it is a function\)"
    ):
        load_metric("plain")


def test_only_a_metric_that_is_made_of_others_takes_missing_pieces() -> None:
    def grown(trial: Trial) -> float:
        return 1.0

    with pytest.raises(PluginError, match="'grown': takes_missing is of a metric that is made of other scores"):
        metric(range=(0, 1), version="1", source="", takes_missing=True)(grown)


def modelled(trial: Trial, judge: Role, *, model: Annotated[str, HubModel(("a",))] = "o/n") -> Iterator[Any]:
    yield []


def test_a_metric_that_asks_a_role_and_opens_a_model_is_refused() -> None:
    with pytest.raises(PluginError, match="it asks a role, so that it cannot use what its switch 'model' names"):
        metric(range=(0, 1), version="1", source="")(modelled)


def test_a_switch_without_a_star_before_it_is_refused() -> None:
    def overlap(trial: Trial, lower: bool = True) -> float:
        return float(lower)

    with pytest.raises(PluginError, match=r"write \* before its switches \(lower\)"):
        metric(range=(0, 1), version="1", source="here")(overlap)


@pytest.mark.parametrize(("value", "scored"), [(1.0, True), (1.0 + 1e-9, True), (7, False), (-0.5, False)])
def test_a_value_outside_the_range_is_unscored(value: float, scored: bool) -> None:
    def given(trial: Trial) -> float:
        return value

    found = score_one(bind(metric(range=(0, 1), version="1", source="test")(given)), trial("an answer"))["given"]
    assert (found.status == "scored", found.value is not None) == (scored, scored)
    assert scored or f"the metric gave {value:g}, outside its range 0..1" in found.reason


def test_bounds_within_the_range_are_kept() -> None:
    found = score_one(
        bind(giving(Score.unscored("one verdict is lost", bounds=(0.25, 1.0), verdicts=["yes"]))), trial("a")
    )

    assert found["given"] == Score.unscored("one verdict is lost", bounds=(0.25, 1.0), verdicts=["yes"])


@pytest.mark.parametrize("bounds", [(-1, 1), (0, 7), (0.7, 0.3), (math.nan, 1), (0, math.inf)], ids=str)
def test_bounds_that_cannot_be_are_left_out_and_that_is_said(bounds: tuple[float, float]) -> None:
    found = score_one(bind(giving(Score.unscored("one verdict is lost", bounds=bounds))), trial("a"))["given"]

    assert (found.status, found.bounds) == ("unscored", None)
    assert found.reason.startswith("one verdict is lost (its bounds ")
    assert found.reason.endswith(" are left out: its range is 0..1)")
