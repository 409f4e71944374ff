"""UniM's judged metrics in runs, from outside: replies that cannot be read, and what a dry run counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import Ended, mmeval, openai, results
from tests.support.judges import judge, judge_server
from tests.support.mock_openai_server import MockServer
from tests.support.toy import picture

QUIET = ("--score_workers", "0", "--report", "false")
TASK = """\
task: kettle
dataset_path: data
output_modalities: [text, image]
partial_output: true
metric_list:
  - metric: semantic_correctness
  - metric: interleaved_coherence
metadata: {version: 1}
"""
BOTH = {"coherence": 5, "style_consistency": 3}
ASKED = ("semantic_correctness", "holistic_coherence", "stylistic_harmony", "interleaved_coherence")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task of one row, whose reference holds two pictures."""
    data = tmp_path / "data"
    data.mkdir()
    for name, colour in (("a.png", 1), ("b.png", 2)):
        (data / name).write_bytes(picture(colour).read())
    parts = [{"type": "image", "path": "a.png"}, {"type": "text", "text": " and "}, {"type": "image", "path": "b.png"}]
    (data / "test.jsonl").write_text(json.dumps({"id": "1", "input": "Show both kettles.", "reference": parts}) + "\n")
    (tmp_path / "kettle.yaml").write_text(TASK)
    return tmp_path


def run(folder: Path, model: MockServer, judged_by: MockServer, *flags: str) -> Ended:
    where: tuple[str | Path, ...] = ("--tasks", folder / "kettle.yaml", "--output_path", folder / "runs", *QUIET)
    who = (*judge(judged_by), "--captioner", f"openai,model=c,base_url={judged_by.url}")
    return mmeval(*where, *openai(model), *who, *flags)


def test_both_metrics_score_a_run(folder: Path) -> None:
    with MockServer() as model, judge_server(folder / "j", {'"score": <': {"score": 4}, '"coherence": <': BOTH}) as j:
        done = run(folder, model, j)

    assert done.code == 0, done.err
    found = results(folder / "runs")["results"]["kettle"]
    assert [found[f"{name},none"] for name in ASKED] == pytest.approx([0.75, 1.0, 0.5, 0.9])


@pytest.mark.parametrize(("profile", "code"), [("standard", 3), ("official", 0)])
def test_a_run_says_how_many_replies_it_could_not_read_and_counts_all_the_same(
    folder: Path, profile: str, code: int
) -> None:
    with MockServer() as model, judge_server(folder / "j", {'"score": <': {"score": 4}, '"coherence": <': "no"}) as j:
        done = run(folder, model, j, "--profile", profile)

    assert done.code == code, done.err
    said = [line for line in done.warnings if "could not be read" in line]
    if profile == "official":
        assert said[0].startswith("1 reply ") and "judge_failure: lowest" in said[0]
    else:
        assert said == []


def test_a_dry_run_counts_captions_of_the_reference_and_as_many_of_the_answer_and_every_grade(folder: Path) -> None:
    with MockServer() as model, judge_server(folder / "j") as j:
        done = run(folder, model, j, "--dry_run")
        asked = j.stats()["requests"] + model.stats()["requests"]

    assert done.code == 0, done.err
    calls = {cells[3].strip(): cells[4].strip() for line in done.out.splitlines() if len(cells := line.split("|")) > 5}
    assert (asked, calls["captioner"], calls["judge"]) == (0, "about 4", "about 2")
