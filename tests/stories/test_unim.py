"""UniM from end to end: model, judge and captioner behind a server, on the bundled
samples."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mmeval.findings.finding import Finding
from tests.support.cli import Ended, mmeval, results, run_folder
from tests.support.judges import ANSWER, honest_server, judged, model, words

STRUCTURE = ("strict_structure", "lenient_structure")
COHERENCE = ("holistic_coherence", "stylistic_harmony", "interleaved_coherence")
JUDGED = ("semantic_correctness", *COHERENCE)
QUALITY = ("text_quality", "image_quality", "audio_quality", "unim_gq")
"""Numbers of what the model produces, of which something can be looked at here; it has
no code."""
VERDICTS = ("semantic", "coherence", "quality")
"""What a judge is asked for once for each answer."""


class Run(NamedTuple):
    """A command that has ended, and the results that it left."""

    done: Ended
    found: Mapping[str, Any]

    def row(self, metric: str, task: str = "unim_hard") -> dict[str, Any]:
        rows: list[dict[str, Any]] = self.found["mmeval"]["results"]
        return next(
            row
            for row in rows
            if (row["task"], row["metric"], row["slice"]) == (task, metric, "")
        )

    def values(self, *metrics: str, task: str = "unim_hard") -> list[float | None]:
        return [self.row(metric, task)["value"] for metric in metrics]

    def scored(self, *metrics: str, task: str = "unim_hard") -> list[int]:
        return [self.row(metric, task)["scored"] for metric in metrics]


def run(output: Path, *flags: str | Path, tasks: str = "unim_hard") -> Run:
    return ended(output, mmeval(*words(output, *flags, tasks=tasks)))


def ended(output: Path, done: Ended) -> Run:
    return Run(done, results(output) if any(output.rglob("results_*.json")) else {})


def score_rows(output: Path, task: str = "unim_hard") -> list[dict[str, Any]]:
    """The newest score rows of a task below a folder, of trials that have an answer."""
    newest = max(
        output.rglob(f"scores/{task}/*/scores.jsonl"),
        key=lambda path: path.stat().st_mtime_ns,
    )
    return [
        row
        for row in map(json.loads, newest.read_text().splitlines())
        if row["status"] == "ok"
    ]


def captions(output: Path, task: str = "unim_hard") -> set[str]:
    """The words of every caption that stands behind a grade: equal media have equal
    ones, any others have others."""
    evidence = [
        row["scores"]["semantic_correctness"]["evidence"]
        for row in score_rows(output, task)
    ]
    shown = [
        one
        for found in evidence
        for one in (*found["captions"], *found.get("reference_captions", ()))
    ]
    return {one["text"] for one in shown if one["kind"] != "code"}


class Whole(NamedTuple):
    """A run that nothing disturbs, its folder, and what its server was asked, by
    purpose and in all."""

    run: Run
    output: Path
    asked: Mapping[str, Any]

    @property
    def supported(self) -> int:
        """Samples that the model can be asked: all but those with 3D, for which its
        interface has no field."""
        row = self.run.row("strict_structure")
        return int(row["n"] - row["unsupported"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    output = tmp_path_factory.mktemp("whole")
    with honest_server(reply=ANSWER) as server:
        finished = run(output, *model(server), *judged(server))
        return Whole(finished, output, {**server.stats(), **server.asked()})


def test_a_model_a_judge_and_a_captioner_score_the_hard_task_and_its_tables_are_printed(
    whole: Whole,
) -> None:
    assert whole.run.done.code == 0, whole.run.done.err
    assert whole.run.row("strict_structure")["unsupported"] == 1
    assert (
        whole.run.scored(*STRUCTURE, *JUDGED, *QUALITY, "sqcs")
        == [whole.supported] * 11
    )
    asked = [whole.asked[purpose] for purpose in ("answer", *VERDICTS)]
    assert (asked, whole.asked["repeated"]) == ([whole.supported] * 4, 0)
    assert whole.asked["caption"] == len(captions(whole.output)) > 2 * whole.supported
    folder = run_folder(whole.output)
    tables = mmeval("report", folder, "--layout", "unim,unim_slices").out
    for title in (
        "UniM, table 3: structure by field (%)",
        "UniM, table 29: coherence by domain (%)",
        "UniM by difficulty",
    ):
        assert title in tables


def test_what_an_answer_does_not_hold_is_no_failure_and_what_nothing_here_looks_at_is_said(
    whole: Whole,
) -> None:
    for metric in ("code_quality", "document_quality", "quality_3d"):
        row = whole.run.row(metric)
        assert (row["value"], row["inapplicable"], row["unscored"]) == (
            None,
            whole.supported,
            0,
        )
    ours = results(whole.output)["mmeval"]
    found = [Finding.from_json(row) for row in ours["findings"]]
    of_metrics = [one for one in found if one.subject.metric]
    assert [(one.kind, one.subject.metric) for one in of_metrics] == [
        ("missing_weights", "video_quality"),
        ("partial", "unim_gq"),
        ("partial", "sqcs"),
    ]
    without = [
        name for name, one in ours["metrics"]["unim_hard"].items() if one["without"]
    ]
    assert without == ["unim_gq", "sqcs"]
    assert "missing weights" in whole.run.done.err
