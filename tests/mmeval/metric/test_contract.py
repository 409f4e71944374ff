from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from mmeval.errors import PluginError, UnknownNameError, UsageError
from mmeval.installation import install_command
from mmeval.metric.apply import score_judged, score_one
from mmeval.metric.bound import bind
from mmeval.metric.contract import Metric, load_metric, metric
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


@pytest.mark.parametrize(
    ("profile", "given", "word"),
    [("standard", {}, "yes"), ("official", {}, "oui"), ("official", {"word": "si"}, "si"), ("unheard-of", {}, "yes")],
)
def test_switches_are_the_defaults_then_the_profiles_then_what_is_given(
    profile: str, given: dict[str, str], word: str
) -> None:
    assert bind(toy_yes, given, profile).params == {"word": word}
    assert score_of(toy_yes, trial(f"{word}, of course"), profile, **given).value == 1


def test_an_unknown_switch_is_refused_with_a_near_name() -> None:
    with pytest.raises(UnknownNameError, match="switch of the metric 'toy_yes' 'wrod'; did you mean \"word\""):
        bind(toy_yes, {"wrod": "x"})


def test_the_key_names_the_definition_and_not_the_profile_that_led_to_it() -> None:
    plain = bind(toy_yes)

    assert bind(toy_yes, {"word": "oui"}).key == bind(toy_yes, profile="official").key != plain.key
    assert bind(toy_yes, {"word": "yes"}).key == plain.key != bind(toy_pair).key


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


@metric(range=(0, 1), version="1", source="made for tests")
def picky(
    trial: Trial, *, mode: Literal["loud", "quiet"] = "loud", strict: bool = False, trust_remote_code: bool = False
) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"mode": "loudd"}, "the switch 'mode' of the metric 'picky' must be loud or quiet, not 'loudd'; did you mean"),
        ({"strict": "false"}, "the switch 'strict' of the metric 'picky' must be true or false, not 'false'"),
    ],
    ids=["literal", "text for a truth value"],
)
def test_a_value_that_a_switch_cannot_have_is_refused(params: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        bind(picky, params)


def test_a_switch_without_an_annotation_takes_any_value() -> None:
    @metric(range=(0, 1), version="1", source="made for tests")
    def open_minded(trial, *, anything=None):  # type: ignore[no-untyped-def]  # as a plugin may write it
        return 1.0

    assert bind(open_minded, {"anything": [1]}).params == {"anything": [1]}


def test_consent_is_the_users_and_of_no_file() -> None:
    assert picky.consented({"mode": "loud"}, trust=True) == {"mode": "loud", "trust_remote_code": True}
    assert picky.consented({"mode": "loud"}, trust=False) == {"mode": "loud"}
    assert toy_yes.consented({}, trust=True) == {}
    with pytest.raises(UsageError, match="with the flag --trust_remote_code"):
        picky.consented({"trust_remote_code": True}, trust=False)


def graded(trial: Trial, judge: Role) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("needs", "reason"),
    [
        (("json",), ""),
        (("no_such_module.sub:audio",), f"no_such_module is not installed; run: {install_command('audio')}"),
        (("no_such_module",), 'no_such_module is not installed; run: pip install "no_such_module"'),
    ],
)
def test_a_metric_is_unavailable_while_a_package_is_missing(needs: tuple[str, ...], reason: str) -> None:
    found: Metric = metric(range=(0, 1), version="1", source="test", needs=needs)(lambda trial: 1.0)
    assert bind(found).unavailable(frozenset()) == reason


def test_what_a_metric_needs_may_depend_on_its_switches() -> None:
    def spoken(trial: Trial, *, aloud: bool = False) -> float:
        return 1.0

    needs = metric(range=(0, 1), version="1", source="", needs=lambda of: ("no_such_module",) if of["aloud"] else ())
    quiet, aloud = bind(needs(spoken)), bind(needs(spoken), {"aloud": True})
    assert quiet.unavailable(()) == ""
    assert aloud.unavailable(()).startswith("no_such_module is not installed")


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


@pytest.mark.parametrize(
    ("roles", "reason"),
    [
        (frozenset({"judge"}), ""),
        (frozenset(), "it asks the role 'judge', which this run has not; add --role judge=BACKEND"),
    ],
    ids=["there", "not there"],
)
def test_a_metric_is_unavailable_while_the_run_lacks_a_role(roles: frozenset[str], reason: str) -> None:
    assert bind(metric(range=(0, 1), version="1", source="test")(graded)).unavailable(roles) == reason


def both(trial: Trial, judge: Role, captioner: Role) -> Iterator[Any]:
    yield []


@pytest.mark.parametrize(
    ("roles", "lacking"),
    [((), ["judge", "captioner"]), (("judge",), ["captioner"]), (("judge", "captioner.audio"), [])],
    ids=["both", "one", "one by its variant"],
)
def test_all_roles_that_lack_are_told_at_once(roles: tuple[str, ...], lacking: list[str]) -> None:
    said = bind(metric(range=(0, 1), version="1", source="test")(both)).unavailable(roles)

    assert said.partition("; add ")[2] == " ".join(f"--role {role}=BACKEND" for role in lacking)


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
