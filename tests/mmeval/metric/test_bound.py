from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import pytest

from mmeval.content.parts import Interleaved
from mmeval.errors import UnknownNameError, UsageError
from mmeval.installation import install_command
from mmeval.metric.bound import bind
from mmeval.metric.contract import Metric, metric
from mmeval.program.calls import Role
from mmeval.records.trial import Trial
from tests.support.toy import toy_pair, toy_yes
from tests.support.trials import score_of, trial


@metric(range=(0, 1), version="1", source="made for tests")
def picky(
    trial: Trial, *, mode: Literal["loud", "quiet"] = "loud", strict: bool = False, trust_remote_code: bool = False
) -> float:
    return 1.0


@metric(range=(0, 1), version="1", source="made for tests")
def both(trial: Trial, judge: Role, captioner: Role) -> Iterator[Any]:
    yield []


@pytest.mark.parametrize(
    ("profile", "given", "word"),
    [("standard", {}, "yes"), ("official", {}, "oui"), ("official", {"word": "si"}, "si"), ("unheard-of", {}, "yes")],
)
def test_switches_are_the_defaults_then_the_profiles_then_what_is_given(
    profile: str, given: dict[str, str], word: str
) -> None:
    assert bind(toy_yes, given, profile).params == {"word": word}
    assert score_of(toy_yes, trial(f"{word}, of course"), profile, **given).value == 1


def test_the_key_names_the_definition_and_not_the_profile_that_led_to_it() -> None:
    plain = bind(toy_yes)
    assert bind(toy_yes, {"word": "oui"}).key == bind(toy_yes, profile="official").key != plain.key
    assert bind(toy_yes, {"word": "yes"}).key == plain.key != bind(toy_pair).key
    assert len(plain.key) == 12


def test_an_unknown_switch_is_refused_with_the_known_names() -> None:
    with pytest.raises(UnknownNameError) as caught:
        bind(toy_yes, {"wrod": "x"})
    assert (caught.value.name, caught.value.known) == ("wrod", ("word",))


@pytest.mark.parametrize(("switch", "value"), [("mode", "loudd"), ("strict", "false")])
def test_a_value_that_a_switch_cannot_have_is_refused(switch: str, value: str) -> None:
    with pytest.raises(UsageError, match=repr(value)) as caught:
        bind(picky, {switch: value})
    assert caught.value.name == switch


def test_a_switch_without_an_annotation_takes_any_value() -> None:
    @metric(range=(0, 1), version="1", source="made for tests")
    def open_minded(trial, *, anything=None):  # type: ignore[no-untyped-def]  # as a plugin may write it
        return 1.0

    assert bind(open_minded, {"anything": [1]}).params == {"anything": [1]}


def test_consent_is_the_users_and_of_no_file() -> None:
    assert picky.consented({"mode": "loud"}, trust=True) == {"mode": "loud", "trust_remote_code": True}
    assert picky.consented({"mode": "loud"}, trust=False) == {"mode": "loud"}
    assert toy_yes.consented({}, trust=True) == {}
    with pytest.raises(UsageError) as caught:
        picky.consented({"trust_remote_code": True}, trust=False)
    assert caught.value.name == "trust_remote_code"


@pytest.mark.parametrize(
    ("needs", "command"),
    [
        *(((), ""), (("json",), ""), (("json", "no_such_module.sub:audio"), install_command("audio"))),
        (("no_such_module",), 'pip install "no_such_module"'),
    ],
)
def test_a_metric_is_unavailable_while_a_package_is_missing(needs: tuple[str, ...], command: str) -> None:
    found: Metric = metric(range=(0, 1), version="1", source="test", needs=needs)(lambda trial: 1.0)
    assert bind(found).unavailable(()).endswith(command)
    assert [error.package for error in bind(found).missing()] == ["no_such_module"] * bool(command)
    assert bool(bind(found).unavailable(())) is bool(command)


def test_what_a_metric_needs_may_depend_on_its_switches() -> None:
    def spoken(trial: Trial, *, aloud: bool = False) -> float:
        return 1.0

    needs = metric(range=(0, 1), version="1", source="", needs=lambda of: ("no_such_module",) if of["aloud"] else ())
    assert bind(needs(spoken)).unavailable(()) == ""
    assert bind(needs(spoken), {"aloud": True}).unavailable(()).startswith("no_such_module")


@pytest.mark.parametrize(
    ("roles", "lacking"),
    [
        *(((), ["judge", "captioner"]), (("judge",), ["captioner"]), (("judge", "captioner.audio"), [])),
        (("judge.audio", "captioner"), ["judge"]),
    ],
    ids=["both", "one", "one by its variant", "another variant"],
)
def test_all_roles_that_lack_are_named_at_once(roles: tuple[str, ...], lacking: list[str]) -> None:
    reason = bind(both).unavailable(roles)
    assert reason.partition("; add ")[2] == " ".join(f"--role {role}=BACKEND" for role in lacking)
    assert bool(reason) is bool(lacking)


def test_a_metric_may_check_samples_and_suppose_an_answer() -> None:
    def strict(trial: Trial, *, least: int = 1) -> float:
        return 1.0

    words = Interleaved.from_text("supposed")
    bound = bind(
        metric(
            range=(0, 1),
            version="1",
            source="",
            check=lambda sample, switches: "" if len(sample.references) >= switches["least"] else "too few",
            supposed=lambda trial, switches: words,
        )(strict)
    )
    given, plain = trial(None, "right"), bind(toy_yes)
    assert (bound.sample_fault(given.sample), bound.sample_fault(trial(None).sample)) == ("", "too few")
    assert (plain.sample_fault(given.sample), plain.supposed(given)) == ("", given)
    assert bound.supposed(given) == replace(given, output=words)


def test_a_role_that_is_another_than_the_argument_is_named_with_it() -> None:
    bound = replace(bind(both), asks={"judge": "model", "captioner": "seer"})
    assert (bound.roles, bound.by_kind) == (("model", "seer"), ("seer",))
    assert "'seer' (as its captioner)" in bound.unavailable(())
    assert bound.unavailable(("seer",)) == ""
