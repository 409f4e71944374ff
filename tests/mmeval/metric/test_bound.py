from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest

from mmeval.errors import UnknownNameError, UsageError
from mmeval.installation import install_command
from mmeval.metric.bound import bind
from mmeval.metric.contract import Metric, metric
from mmeval.program.calls import Role
from mmeval.records.trial import Trial
from tests.support.toy import toy_pair, toy_yes
from tests.support.trials import score_of, trial


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
