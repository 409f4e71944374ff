from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from mmeval.errors import UsageError
from mmeval.installation import install_command
from mmeval.media.parts import Interleaved
from mmeval.metric.apply import score_one
from mmeval.metric.bound import bind, missing_role
from mmeval.metric.contract import Metric, metric
from mmeval.program.calls import Role
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial
from mmeval.results.compare import _as_scored
from mmeval.system.arguments import PathOrName
from tests.support.toy import toy_pair, toy_yes
from tests.support.trials import score_of, trial


@metric(range=(0, 1), version="1", source="made for tests")
def picky(
    trial: Trial,
    *,
    mode: Literal["loud", "quiet"] = "loud",
    strict: bool = False,
    trust_remote_code: bool = False,
) -> float:
    return 1.0


@metric(range=(0, 1), version="1", source="made for tests")
def both(trial: Trial, judge: Role, captioner: Role) -> Iterator[Any]:
    yield []


@pytest.mark.parametrize(
    ("profile", "given", "word"),
    [
        ("unheard-of", {}, "yes"),
        ("official", {}, "oui"),
        ("official", {"word": "si"}, "si"),
    ],
)
def test_switches_are_those_of_the_profile_unless_given(
    profile: str, given: dict[str, str], word: str
) -> None:
    assert bind(toy_yes, given, profile).params == {"word": word}
    assert score_of(toy_yes, trial(f"{word}, of course"), profile, **given).value == 1


def test_the_key_names_the_definition_and_not_the_profile_that_led_to_it() -> None:
    plain = bind(toy_yes)
    assert (
        bind(toy_yes, {"word": "oui"}).key
        == bind(toy_yes, profile="official").key
        != plain.key
    )
    assert bind(toy_yes, {"word": "yes"}).key == plain.key != bind(toy_pair).key
    assert len(plain.key) == 12


def test_consent_is_the_users_and_of_no_file() -> None:
    assert picky.consented({"mode": "loud"}, trust=True) == {
        "mode": "loud",
        "trust_remote_code": True,
    }
    assert picky.consented({"mode": "loud"}, trust=False) == {"mode": "loud"}
    assert toy_yes.consented({}, trust=True) == {}
    with pytest.raises(UsageError) as caught:
        picky.consented({"trust_remote_code": True}, trust=False)
    assert caught.value.name == "trust_remote_code"


@pytest.mark.parametrize(
    ("needs", "commands"),
    [
        (("json",), []),
        (("json", "no_such_module.sub:a"), [install_command("a")]),
        (
            ("no_such_module:hf", "no_such_module:video"),
            [install_command("hf"), install_command("video")],
        ),
        (("no_such_module",), ['pip install "no_such_module"']),
    ],
)
def test_a_metric_is_unavailable_without_the_packages_that_it_needs(
    needs: tuple[str, ...], commands: list[str]
) -> None:
    def spoken(trial: Trial, *, aloud: bool = True) -> float:
        return 1.0

    found: Metric = metric(
        range=(0, 1),
        version="1",
        source="",
        needs=lambda of: needs if of["aloud"] else (),
    )(spoken)
    for bound in (
        bind(metric(range=(0, 1), version="1", source="", needs=needs)(spoken)),
        bind(found),
    ):
        assert [finding.remedy for finding in bound.lacks(())] == commands
    assert bind(found, {"aloud": False}).lacks(()) == ()


def test_each_thing_that_a_metric_lacks_is_a_finding_with_what_supplies_it() -> None:
    lacking = bind(replace(both, needs=("no_such_module:hf",)))
    extra, role = lacking.lacks(("captioner",))
    assert (extra.kind, extra.remedy) == ("missing_extra", install_command("hf"))
    assert (role.kind, role.subject.role) == ("missing_role", "judge")
    assert role.remedy == "--judge openai,model=NAME"


def test_a_role_without_a_flag_of_its_own_is_called_a_role() -> None:
    finding = missing_role("alt", "gemini")
    assert finding.cause == "no backend for the role gemini"
    assert finding.remedy == "--role gemini=openai,model=NAME"


def test_all_roles_that_lack_are_named_at_once() -> None:
    for roles, lacking in (
        ((), ["judge", "captioner"]),
        (("judge", "captioner.audio"), []),
        (("judge.audio", "captioner"), ["judge"]),
    ):
        assert [one.subject.role for one in bind(both).lacks(roles)] == lacking
    other = replace(bind(both), asks={"judge": "model", "captioner": "seer"})
    assert (other.roles, other.by_kind) == (("model", "seer"), ("seer",))
    assert [one.subject.role for one in other.lacks(())] == ["seer"]
    assert other.lacks(("seer",)) == ()


def test_a_metric_may_check_samples_and_suppose_an_answer() -> None:
    def strict(trial: Trial, *, least: int = 1) -> float:
        return 1.0

    def check(sample: Sample, switches: Mapping[str, Any]) -> str:
        return "" if len(sample.references) >= switches["least"] else "too few"

    words = Interleaved.from_text("supposed")
    described = metric(
        range=(0, 1),
        version="1",
        source="",
        check=check,
        supposed=lambda trial, switches: words,
    )
    bound, given, plain = bind(described(strict)), trial(None, "right"), bind(toy_yes)
    assert (
        bound.sample_fault(given.sample),
        bound.sample_fault(trial(None).sample),
    ) == ("", "too few")
    assert (plain.sample_fault(given.sample), plain.supposed(given)) == ("", given)
    assert bound.supposed(given) == replace(given, output=words)


def test_a_range_may_follow_from_the_switches() -> None:
    @metric(
        range=lambda _pieces, switches: (0, 10 if switches["wide"] else 1),
        version="1",
        source="here",
    )
    def spread(_trial: Trial, *, wide: bool = False) -> float:
        return 7.0 if wide else 1.0

    assert [bind(spread, {"wide": wide}).metric.range for wide in (False, True)] == [
        (0, 1),
        (0, 10),
    ]
    assert spread.range == (0, 1)


def test_each_output_may_have_a_range_of_its_own() -> None:
    ranges = {"share": (0.0, 1.0), "grade": (1.0, 10.0)}

    @metric(
        range=lambda _pieces, _switches: ranges,
        outputs=("share", "grade"),
        version="1",
        source="here",
    )
    def two(trial: Trial) -> dict[str, float]:
        return {"share": 2.0, "grade": 2.0}

    bound = bind(two)
    assert bound.metric.range == (0, 10)
    assert {
        name: bound.metric.range_for(name) for name in bound.metric.outputs
    } == ranges
    scores = score_one(bound, trial("x"))
    assert (scores["share"].status, scores["grade"].value) == ("unscored", 2)


def test_a_file_counts_by_its_content_and_not_by_its_place(tmp_path: Path) -> None:
    @metric(range=(0, 1), version="1", source="here")
    def listed(trial: Trial, *, words: PathOrName = "") -> float:
        return 1.0

    file, other = tmp_path / "words.txt", tmp_path / "other.txt"
    file.write_text("a")
    first = bind(listed, {"words": str(file)})
    assert first.described["words"].keys() == {"name", "fingerprint"}
    file.rename(other)
    assert bind(listed, {"words": str(other)}).key == first.key
    (gone,) = bind(listed, {"words": str(file)}).lacks(())
    assert (gone.kind, gone.subject.file) == ("missing_data", str(file))
    file.write_text("b")
    second = bind(listed, {"words": str(file)})
    assert second.key != first.key
    assert _as_scored(second.described) != _as_scored(first.described)
    for one in (second, bind(listed), bind(listed, {"words": "rouge"})):
        assert one.lacks(()) == ()
