"""Findings about the metrics of UniM: some ask no role, some two, one needs missing weights, and one is made of the
available ones."""

from __future__ import annotations

import pytest

from mmeval.backend.capabilities import Capabilities
from mmeval.doctor import tasks
from mmeval.doctor.finding import Finding, section
from mmeval.doctor.page import gathered
from mmeval.model_backends.empty import EmptyBackend
from mmeval.prepare.sources import WantedTask, wanted
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.task.task import TaskOverrides

STRUCTURE = ("strict_structure", "lenient_structure")
JUDGED = ("semantic_correctness", "interleaved_coherence")
MEASURED = ("image_quality", "audio_quality", "quality_3d")
READ = ("text_quality", "code_quality", "document_quality")
NO_WEIGHTS = "VQAssessment/DOVER is not here (dover.pt)"


class Seeing(EmptyBackend):
    """A backend that takes some kinds alone."""

    def __init__(self, *kinds: str) -> None:
        self.capabilities = Capabilities.of(kinds, ["text"])


def unim(*roles: str) -> WantedTask:
    """UniM's hard task on its bundled samples, in a run with some roles."""
    chosen = choose(["unim_hard"], TaskIndex())
    (item,) = wanted(chosen, TaskOverrides(data="bundled"), roles=frozenset(roles))
    return item


def told(*roles: str, strict: bool = False) -> list[Finding]:
    return list(tasks.metrics(unim(*roles), strict=strict))


def by_metric(findings: list[Finding]) -> dict[str, list[Finding]]:
    """What lacks, by metric."""
    names = dict.fromkeys(finding.metric for finding in findings if finding.metric)
    return {name: [finding for finding in findings if finding.metric == name] for name in names}


def computed(findings: list[Finding]) -> list[str]:
    (found,) = (one.what for one in findings if one.status == "ok")
    return found.removeprefix("metrics that can be computed: ").split(", ")


@pytest.mark.parametrize("captioner", ["captioner", "captioner.audio"])
def test_with_judge_and_captioner_all_but_videos_can_be_scored(captioner: str) -> None:
    found = told("judge", captioner)

    assert computed(found) == [*STRUCTURE, *JUDGED, *READ, *MEASURED, "unim_gq", "sqcs"]
    assert {name: [one.what for one in said] for name, said in by_metric(found).items()} == {
        "video_quality": [f"metric video_quality: {NO_WEIGHTS}"],
        "unim_gq": [f"metric unim_gq: partial, without video_quality ({NO_WEIGHTS})"],
        "sqcs": [f"metric sqcs: partial, without video_quality ({NO_WEIGHTS})"],
    }
    assert {one.status for said in by_metric(found).values() for one in said[:1]} == {"missing", "note"}


@pytest.mark.parametrize(
    ("roles", "adds", "judged"),
    [
        ((), "--role judge=BACKEND --role captioner=BACKEND", ()),
        (("judge",), "--role captioner=BACKEND", READ),
        (("captioner",), "--role judge=BACKEND", ()),
    ],
    ids=["neither", "no captioner", "no judge"],
)
def test_what_lacks_a_role_is_told_with_the_flags_that_add_it(
    roles: tuple[str, ...], adds: str, judged: tuple[str, ...]
) -> None:
    found = told(*roles)

    assert computed(found) == [*STRUCTURE, *judged, *MEASURED, "unim_gq"]
    lacking = by_metric(found)
    assert {name: lacking[name][0].how_to for name in JUDGED} == dict.fromkeys(JUDGED, f"add {adds}")
    assert not any(finding.blocks for finding in found), "the structure scores can run"


def test_a_score_that_is_made_of_others_is_told_with_what_lacks() -> None:
    (made,) = by_metric(told())["sqcs"]

    assert made.what == "metric sqcs: it asks the roles 'judge' and 'captioner', which this run has not"
    assert made.how_to == "add --role judge=BACKEND --role captioner=BACKEND"


def test_a_score_that_is_made_of_what_there_is_is_told_with_what_it_goes_without() -> None:
    read, watched = by_metric(told())["unim_gq"]

    assert read.what.startswith(f"metric unim_gq: partial, without {', '.join(READ)} (they ask the role 'judge'")
    assert (read.status, read.how_to) == ("note", "add --role judge=BACKEND")
    assert watched.what == f"metric unim_gq: partial, without video_quality ({NO_WEIGHTS})"


def test_on_the_page_metrics_that_lack_the_same_are_told_together() -> None:
    (shown,) = gathered([section("Task unim_hard", told, word="unim_hard")])

    assert [finding.what.partition(":")[0] for finding in shown.findings] == [
        "metrics that can be computed",
        "metrics semantic_correctness, interleaved_coherence, sqcs",
        "metrics text_quality, code_quality, document_quality",
        "metric video_quality",
        "metric unim_gq",
        "metric unim_gq",
    ]


def test_with_strict_a_metric_that_lacks_something_keeps_the_task_from_running() -> None:
    assert {one.metric for one in told("judge", "captioner", strict=True) if one.blocks} == {"video_quality"}


def test_a_kind_that_no_captioner_takes_is_told_with_the_role_that_adds_one() -> None:
    deaf, hearing = Seeing("text", "image"), Seeing("text", "audio")
    item = unim("judge", "captioner", "captioner.audio")

    (noted,) = (one for one in tasks.roles(item, {"captioner": deaf}) if one.status == "note")

    assert "the captioner takes no audio, in no form" in noted.what
    assert noted.how_to == "add --role captioner.audio=BACKEND"
    heard = tasks.roles(item, {"captioner": deaf, "captioner.audio": hearing})
    assert [one.what for one in heard] == ["asks the captioner", "asks the captioner.audio"]
