import importlib.util
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.capabilities import Capabilities
from mmeval.doctor import tasks
from mmeval.doctor.finding import Finding, section
from mmeval.doctor.page import gathered
from mmeval.installation import install_command
from mmeval.model_backends.empty import EmptyBackend
from mmeval.prepare.sources import WantedTask, wanted
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.task.task import TaskOverrides
from tests.support.task_folder import task, write_files, write_rows

STRUCTURE = ("strict_structure", "lenient_structure")
JUDGED = ("semantic_correctness", "interleaved_coherence")
MEASURED = ("image_quality", "audio_quality", "quality_3d")
READ = ("text_quality", "code_quality", "document_quality")
JUDGE, CAPTIONER = "--role judge=BACKEND", "--role captioner=BACKEND"
NO_WEIGHTS = "VQAssessment/DOVER is not here (dover.pt)"


class Able(EmptyBackend):
    """A backend that takes and gives some kinds alone."""

    def __init__(
        self, takes: tuple[str, ...], gives: tuple[str, ...] = ("text",)
    ) -> None:
        self.capabilities = Capabilities.of(takes, gives)


def item(name: str, *roles: str, **overrides: Any) -> WantedTask:
    (found,) = wanted(
        choose([name], TaskIndex()), TaskOverrides(**overrides), roles=frozenset(roles)
    )
    return found


def unim(*roles: str, strict: bool = False) -> list[Finding]:
    """What is found of the metrics of UniM's hard task, in a run with some roles."""
    return list(tasks.metrics(item("unim_hard", *roles, data="bundled"), strict=strict))


def by_metric(findings: list[Finding]) -> dict[str, list[Finding]]:
    """What lacks, by metric."""
    names = dict.fromkeys(finding.metric for finding in findings if finding.metric)
    return {
        name: [finding for finding in findings if finding.metric == name]
        for name in names
    }


def computed(findings: list[Finding]) -> list[str]:
    (found,) = (one.what for one in findings if one.status == "ok")
    return found.partition(": ")[2].split(", ")


@pytest.mark.parametrize("captioner", ["captioner", "captioner.audio"])
def test_with_judge_and_captioner_all_but_videos_can_be_scored(captioner: str) -> None:
    found, strict = unim("judge", captioner), unim("judge", captioner, strict=True)
    assert computed(found) == [*STRUCTURE, *JUDGED, *READ, *MEASURED, "unim_gq", "sqcs"]
    lacking = [
        (name, one.status, NO_WEIGHTS in one.what)
        for name, those in by_metric(found).items()
        for one in those
    ]
    missing = ("video_quality", "missing", True)
    assert lacking == [missing, ("unim_gq", "note", True), ("sqcs", "note", True)]
    assert [
        [one.metric for one in those if one.blocks] for those in (found, strict)
    ] == [[], ["video_quality"]]


def test_what_lacks_a_role_has_the_flags_to_add_it() -> None:
    lacking: dict[tuple[str, ...], tuple[str, tuple[str, ...]]] = {
        **{(): (f"add {JUDGE} {CAPTIONER}", ()), ("captioner",): (f"add {JUDGE}", ())},
        ("judge",): (f"add {CAPTIONER}", READ),
    }
    for roles, (adds, judged) in lacking.items():
        found = unim(*roles)
        assert computed(found) == [*STRUCTURE, *judged, *MEASURED, "unim_gq"]
        assert [by_metric(found)[name][0].how_to for name in JUDGED] == [adds] * len(
            JUDGED
        )
        assert not any(finding.blocks for finding in found), (
            "the structure scores can run"
        )


def test_a_score_that_is_made_of_others_has_what_lacks_and_what_it_goes_without() -> (
    None
):
    found = by_metric(unim())
    (made,), (read, watched) = found["sqcs"], found["unim_gq"]
    assert (made.how_to, "'judge' and 'captioner'" in made.what) == (
        f"add {JUDGE} {CAPTIONER}",
        True,
    )
    assert (read.status, read.how_to, ", ".join(READ) in read.what) == (
        "note",
        f"add {JUDGE}",
        True,
    )
    assert "video_quality" in watched.what and NO_WEIGHTS in watched.what
    (shown,) = gathered([section("Task unim_hard", unim, word="unim_hard")])
    alike = [
        ", ".join((*JUDGED, "sqcs")),
        ", ".join(READ),
        "video_quality",
        "unim_gq",
        "unim_gq",
    ]
    assert [
        finding.what.partition(":")[0].partition(" ")[2]
        for finding in shown.findings[1:]
    ] == alike


def test_a_kind_that_no_captioner_takes_may_have_one_of_its_own() -> None:
    deaf, hearing = Able(("text", "image")), Able(("text", "audio"))
    asked = item("unim_hard", "judge", "captioner", "captioner.audio", data="bundled")
    heard = tasks.roles(asked, {"captioner": deaf, "captioner.audio": hearing})
    assert [one.what for one in heard] == [
        "asks the captioner",
        "asks the captioner.audio",
    ]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A task of a file beside one row, which is its data."""
    write_rows(tmp_path, {"id": "a", "input": "q", "reference": "r", "rubric": ["r"]})
    return write_files(tmp_path, {"t.yaml": task("t")}) / "t.yaml"


def metrics(file: Path, *names: str, strict: bool = False) -> list[Finding]:
    listed = "".join(f"  - metric: {name}\n" for name in names)
    file.write_text(
        f"task: t\n{f'metric_list:{chr(10)}{listed}' if names else ''}metadata: "
        f"{{version: 1}}\n"
    )
    return list(tasks.metrics(item(str(file)), strict=strict))


def test_a_metric_that_lacks_something_blocks_alone_or_if_strict(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = metrics(small, "exact_match", "rubric_judge")[1]
    alone = metrics(small, "rubric_judge")[0]
    strict = metrics(small, "exact_match", "rubric_judge", strict=True)[1]
    assert [(one.how_to, one.blocks) for one in (both, alone, strict)] == [
        *((f"add {JUDGE}", blocks) for blocks in (False, True, True))
    ]
    assert [one.status for one in metrics(small)] == ["note"]
    there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *_: None if name == "evaluate" else there(name),
    )
    assert list(tasks.extras(item(str(small)))) == []
    (lacking,) = metrics(small, "hf_evaluate\n    name: wer")
    assert (lacking.blocks, lacking.how_to) == (True, install_command("datasets"))
    assert list(tasks.extras(item(str(small)))) == ["datasets"]


def data(file: Path | str, **overrides: Any) -> Finding:
    (found,) = tasks.data(item(str(file), **overrides))
    return found


def test_data_that_lack_or_cannot_be_read_have_the_command_that_fixes_them(
    small: Path, tmp_path: Path
) -> None:
    own, few = data(small), data("rubric_example", data="bundled")
    assert [(one.status, "mmeval prepare" in one.what) for one in (own, few)] == [
        ("ok", True),
        ("ok", False),
    ]
    odd = write_files(tmp_path / "da ta", {"test.jsonl": "no JSON\n"})
    assert (
        data(small, data_dir=odd).how_to
        == f"mmeval validate {small} --data_dir '{odd}'"
    )
    by_hand = data("mmmg_audio_text_order", data_dir=tmp_path)
    assert f"put it at {tmp_path / 'seed_instruction'}" in by_hand.what
    assert "mmeval prepare mmmg_audio_text_order" in by_hand.how_to


def test_the_model_gives_the_wanted_kinds(small: Path) -> None:
    wanted = {
        "[text]": "ok",
        "[text, audio]": "missing",
        "[audio]\npartial_output: true": "missing",
        "per_sample": "",
    }
    for kinds, status in {
        **wanted,
        "[text, audio]\npartial_output: true": "note",
    }.items():
        small.write_text(task("t", f"output_modalities: {kinds}"))
        found = list(
            tasks.kinds(item(str(small)), {"model": Able(("text",), ("text",))})
        )
        assert [(one.status, "audio" in one.what) for one in found] == [
            (status, status != "ok")
        ] * bool(status)
        assert list(tasks.kinds(item(str(small)), {})) == []
