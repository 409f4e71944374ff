"""Quality of text and code as users have it judged: one answer or many on the command line, and whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Ended, mmeval, openai, results
from tests.support.judges import judge, judge_server
from tests.support.mock_openai_server import MockServer

QUIET = ("--score_workers", "0", "--report", "false")
TASK = """\
task: write
dataset_path: data
output_modalities: [text, code]
partial_output: true
metric_list:
  - metric: text_quality
  - metric: code_quality
metadata: {version: 1}
"""
BOTH: list[dict[str, Any]] = [
    {"type": "text", "text": "First "},
    {"type": "code", "text": "one = 1", "raw": "<<code1>>", "label": "code1"},
    {"type": "text", "text": ", then "},
    {"type": "code", "text": "two = 2", "raw": "<<code2>>", "label": "code2"},
]
ROWS = [{"id": "1", "input": "Write.", "reference": BOTH}, {"id": "2", "input": "Say.", "reference": "Only words."}]
SAYS = {"one = 1": {"score": 5}, "two = 2": {"score": 2}, "First": {"score": 4}, "Only words": {"score": 3}}
"""What the judge says of whatever holds these words."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task of two rows, of which the first has two pieces of code."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "test.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    (tmp_path / "write.yaml").write_text(TASK)
    return tmp_path


def run(folder: Path, judged_by: MockServer, *flags: str) -> Ended:
    where: tuple[str | Path, ...] = ("--tasks", folder / "write.yaml", "--output_path", folder / "runs", *QUIET)
    return mmeval(*where, "--model", "reference", *judge(judged_by), *flags)


def asked(server: MockServer) -> int:
    return int(server.stats()["requests"])


def test_a_run_has_every_item_judged_and_leaves_out_answers_without_one(folder: Path) -> None:
    with judge_server(folder / "judge", SAYS) as server:
        done = run(folder, server)

        assert (done.code, asked(server)) == (0, 4), done.err
    found = results(folder / "runs")["results"]["write"]
    assert found["text_quality,none"] == pytest.approx((0.75 + 0.5) / 2)
    assert found["code_quality,none"] == pytest.approx((1 + 0.25) / 2)


def test_a_dry_run_counts_the_items_of_the_reference_and_asks_nobody(folder: Path) -> None:
    with MockServer() as model, judge_server(folder / "judge", SAYS) as server:
        where: tuple[str | Path, ...] = ("--tasks", folder / "write.yaml", "--output_path", folder / "runs", *QUIET)
        done = mmeval(*where, *openai(model), *judge(server), "--dry_run")

        assert (done.code, asked(server), asked(model)) == (0, 0, 0), done.err
    calls = {cells[3].strip(): cells[4].strip() for line in done.out.splitlines() if len(cells := line.split("|")) > 5}
    assert calls["judge"] == "about 4"


def test_a_verdict_that_was_lost_is_asked_for_alone_when_the_judge_is_mended(folder: Path) -> None:
    with judge_server(folder / "judge", {**SAYS, "two = 2": "Nice."}) as server:
        done = run(folder, server)
        assert (done.code, asked(server)) == (3, 3 + 3), done.err
        row = {"reply": '{"score": 3}'}
        (folder / "judge" / "replies.jsonl").write_text(f"{json.dumps(row)}\n")
        server.state.configure(server.state.settings)
        before = asked(server)
        mended = mmeval("score", folder / "runs/reference/default", *judge(server))

        assert (mended.code, asked(server) - before) == (0, 1), mended.err
    assert results(folder / "runs")["results"]["write"]["code_quality,none"] == pytest.approx((1 + 0.5) / 2)


CASES = {
    "text_quality": [("three point four", {"overall": 3.4}, 0.6), ("eighty", {"overall": 80}, 1.0), ("none", {}, 0.5)],
    "code_quality": [("best", {"overall_score": 100}, 1.0), ("fair", {"overall_score": 62.5}, 0.625)],
}
"""What answers say, what the judge replies, and what the released scorer makes of it, bounded and out of 1."""


@pytest.mark.parametrize("name", CASES)
def test_the_released_values_are_reproduced_through_the_verb(name: str, tmp_path: Path) -> None:
    rows = [
        {"name": words, "answer": [{"type": name.removesuffix("_quality"), "text": words}]}
        for words, _, _ in CASES[name]
    ]
    file = tmp_path / "cases.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with judge_server(tmp_path / "judge", {words: reply for words, reply, _ in CASES[name]}) as server:
        done = mmeval("metric", name, "--cases", file, "--profile", "official", *judge(server))

    assert done.code == 0, done.err
    found = {row["name"]: row["value"] for row in map(json.loads, done.out.splitlines())}
    assert found == pytest.approx({words: value for words, _, value in CASES[name]})


def test_one_answer_is_judged_on_the_command_line(tmp_path: Path) -> None:
    with judge_server(tmp_path / "judge", {"A calm": {"score": 4}}) as server:
        done = mmeval("metric", "text_quality", "--answer", "A calm sea: <<image1>>", *judge(server))

    assert done.code == 0, done.err
    assert "text_quality: 0.75 ↑\n" in done.out
    assert '"label": "text1", "quality": 0.75' in done.out
