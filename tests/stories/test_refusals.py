"""A run in which the service refuses one question, the model another, and answers one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.findings.finding import Finding
from tests.support.cli import QUIET, Ended, mmeval
from tests.support.servers import Scripted, ScriptedServer, saying
from tests.support.task_folder import write_files, write_rows

FILTERED = Scripted(
    {"error": {"message": "The prompt was filtered.", "code": "content_filter"}},
    status=400,
)
DECLINED = saying(content=None, refusal="I cannot help with that.")
ANSWERED = saying(content="oak")
FLAGS = (*QUIET, "--max_connections", "1", "--log_samples")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(FILTERED, DECLINED, ANSWERED) as server:
        yield server


def ran(folder: Path, server: ScriptedServer, *more: str) -> Ended:
    """Ask three questions, with the same answer as reference."""
    write_files(
        folder,
        {
            "t.yaml": "task: t\ndataset_path: data\noutput_modalities: [text]\n"
            "metric_list: [{metric: exact_match}]\nmetadata: {version: 1}\n"
        },
    )
    rows = [{"input": f"tree {number}?", "reference": "oak"} for number in range(3)]
    write_rows(folder / "data", *rows)
    return mmeval(
        "--tasks",
        folder / "t.yaml",
        "--model",
        "openai",
        "--model_args",
        f"model=m,base_url={server.url}",
        "--output_path",
        folder / "runs",
        *FLAGS,
        *more,
    )


def scored_again(folder: Path, *more: str) -> Ended:
    return mmeval("score", run_of(folder), *QUIET, "--log_samples", *more)


def run_of(folder: Path) -> Path:
    (record,) = folder.glob("runs/*/*/run.json")
    return record.parent


def number(folder: Path) -> dict[str, Any]:
    """The newest number of the run."""
    newest = sorted(run_of(folder).glob("results_*.json"))[-1]
    (found,) = json.loads(newest.read_text())["mmeval"]["results"]
    assert isinstance(found, dict)
    return found


def findings(folder: Path, kind: str) -> list[Finding]:
    """Those of a kind in the newest results file."""
    newest = sorted(run_of(folder).glob("results_*.json"))[-1]
    rows = json.loads(newest.read_text())["mmeval"]["findings"]
    return [one for one in map(Finding.from_json, rows) if one.kind == kind]


def lines(folder: Path) -> list[dict[str, Any]]:
    """The lines of the newest samples file."""
    newest = sorted(run_of(folder).glob("samples_*.jsonl"))[-1]
    return [json.loads(line) for line in newest.read_text().splitlines()]


def test_refused_answers_are_scored_and_counted(
    tmp_path: Path, server: ScriptedServer
) -> None:
    done = ran(tmp_path, server)
    found = number(tmp_path)
    assert done.code == 0
    assert (found["value"], found["scored"], found["refused"]) == (
        pytest.approx(1 / 3),
        3,
        2,
    )


def test_refused_answers_are_one_finding_that_the_table_shows(
    tmp_path: Path, server: ScriptedServer
) -> None:
    done = ran(tmp_path, server)
    (found,) = findings(tmp_path, "refused")
    assert (found.count, found.of, found.severity) == (2, 3, "note")
    assert done.out.count("refused  model  2 of 3") == 1
    assert "refused" not in done.err


def test_each_refused_question_is_asked_once(
    tmp_path: Path, server: ScriptedServer
) -> None:
    ran(tmp_path, server)
    ran(tmp_path, server, "--retry_on_error", "9")
    assert len(server.seen) == 3


def test_a_refusal_keeps_the_words_of_the_model_and_not_of_the_service(
    tmp_path: Path, server: ScriptedServer
) -> None:
    ran(tmp_path, server)
    assert [line["resps"] for line in lines(tmp_path)] == [
        [[""]],
        [["I cannot help with that."]],
        [["oak"]],
    ]
    assert [line.get("finish_reason") for line in lines(tmp_path)] == [
        ["refused"],
        ["refused"],
        None,
    ]


def test_refused_answers_may_be_left_out_with_bounds(
    tmp_path: Path, server: ScriptedServer
) -> None:
    done = ran(tmp_path, server, "--refusals", "unscored")
    found = number(tmp_path)
    assert done.code == 0
    assert found["value"] == 1
    assert found["bounds"] == [pytest.approx(1 / 3), 1]
    assert found["refused"] == 2
    assert "0.333 and 1.000" in done.out


def test_a_run_that_leaves_out_refused_answers_is_scored_again_in_the_same_way(
    tmp_path: Path, server: ScriptedServer
) -> None:
    ran(tmp_path, server, "--refusals", "unscored")
    scored_again(tmp_path)
    assert number(tmp_path)["value"] == 1
    scored_again(tmp_path, "--refusals", "scored")
    assert number(tmp_path)["value"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(("flag", "value"), [("scored", 1 / 3), ("unscored", 1.0)])
def test_shards_are_merged_with_their_refused_answers(
    flag: str, value: float, tmp_path: Path, server: ScriptedServer
) -> None:
    for shard in ("1/2", "2/2"):
        ran(tmp_path, server, "--shard", shard, "--refusals", flag)
    whole = tmp_path / "runs" / "m" / "default"
    done = mmeval("merge", whole)
    newest = sorted(whole.glob("results_*.json"))[-1]
    (found,) = json.loads(newest.read_text())["mmeval"]["results"]
    assert (done.code, found["value"], found["refused"]) == (
        0,
        pytest.approx(value),
        2,
    )
