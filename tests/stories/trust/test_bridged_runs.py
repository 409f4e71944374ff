"""Numbers of runs carried over to a new judge, which is asked over a real socket."""

import csv
import io
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mmeval.system.json_lines import (
    sealed,
    sealed_document,
    to_line,
    unsealed,
    unsealed_document,
)
from tests.support.cli import QUIET, Ended, mmeval, openai
from tests.support.judges import judge, judge_server
from tests.support.mock_openai_server import MockServer
from tests.support.task_folder import write_rows

ROWS, SAMPLE = 26, 22
CRITERIA = ["It greets.", "It is short."]
TASK = """\
task: greet
dataset_path: data
metric_list:
  - metric: rubric_judge
metadata: {version: 1}
"""
STRICT = {f"guest {row} ": {"met": "no"} for row in range(0, ROWS, 3)}
LENIENT = {f"guest {row} ": {"met": "no"} for row in range(0, ROWS, 6)}


@dataclass
class Runs:
    """Two runs that the judge ``old`` has judged; its server is off. ``new`` is the
    server of the new judge."""

    folder: Path
    new: MockServer

    @property
    def folders(self) -> tuple[Path, Path]:
        return self.folder / "runs/a/default", self.folder / "runs/b/default"

    def bridge(self, *flags: str, sample: int = SAMPLE) -> Ended:
        return self.kept("openai,model=new", "--sample", str(sample), *flags)

    def kept(self, to: str, *flags: str) -> Ended:
        address = ("--judge_base_url", self.new.url) if "," in to else ()
        return mmeval(
            "bridge", *self.folders, "--from", "old", "--to", to, *address, *flags
        )

    def calls(self) -> int:
        return int(self.new.stats()["requests"])


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judged")
    rows = [{"input": f"Greet guest {i} .", "rubric": CRITERIA} for i in range(ROWS)]
    write_rows(folder / "data", *rows)
    (folder / "greet.yaml").write_text(TASK)
    with MockServer() as model, judge_server(folder / "old", STRICT) as old:
        for name in ("a", "b"):
            ended = mmeval(
                *("--tasks", folder / "greet.yaml"),
                *("--output_path", folder / "runs", "--model_tag", name),
                *openai(model, model=name),
                *QUIET,
                *judge(old, "old"),
            )
            assert ended.code == 0, ended.err
    return folder


@pytest.fixture
def runs(judged: Path, tmp_path: Path) -> Iterator[Runs]:
    shutil.copytree(judged, tmp_path / "copy")
    with judge_server(tmp_path / "new", LENIENT) as new:
        yield Runs(tmp_path / "copy", new)


def numbers(ended: Ended) -> Mapping[str, Any]:
    document: Mapping[str, Any] = json.loads(ended.out)
    return document


def test_the_new_judge_is_asked_about_the_sample_of_each_run(runs: Runs) -> None:
    ended = runs.bridge("--format", "json")
    assert ended.code == 0, ended.err
    assert runs.calls() == 2 * SAMPLE * len(CRITERIA)
    assert [run["asked"] for run in numbers(ended)["runs"]] == [SAMPLE, SAMPLE]


def test_nothing_is_asked_twice(runs: Runs) -> None:
    first = runs.bridge("--format", "json")
    asked = runs.calls()
    again = runs.bridge("--format", "json")
    assert runs.calls() == asked
    assert again.out == first.out


def test_a_larger_sample_adds_to_a_smaller_one(runs: Runs) -> None:
    runs.bridge()
    runs.bridge(sample=SAMPLE + 2)
    assert runs.calls() == 2 * (SAMPLE + 2) * len(CRITERIA)


def test_a_dry_run_asks_nothing(runs: Runs) -> None:
    ended = runs.bridge("--dry_run")
    rows = [line.split() for line in ended.out.splitlines()]
    assert ["a", str(SAMPLE), str(SAMPLE * len(CRITERIA))] in rows
    assert runs.calls() == 0


def test_a_dry_run_shows_the_price_of_the_new_judge(runs: Runs) -> None:
    prices = runs.folder / "prices.yaml"
    prices.write_text("models: {new: {input: 0, output: 0, per_call: 0.5}}")
    ended = runs.bridge("--dry_run", "--model_cost_config", str(prices))
    assert f"about {SAMPLE * len(CRITERIA):.2f} dollars" in ended.out


def test_an_archive_of_verdicts_is_bridged_without_a_judge(runs: Runs) -> None:
    for folder in runs.folders:
        archived = mmeval(
            *("score", folder, "--sample", str(SAMPLE), "--judge_archive"),
            *judge(runs.new, "new"),
            *QUIET,
        )
        assert archived.code == 0, archived.err
    asked = runs.calls()
    ended = runs.kept("new", "--format", "json")
    assert ended.code == 0, ended.err
    assert numbers(ended)["pairs"][0]["verdict"] == "open"
    assert runs.calls() == asked == 2 * SAMPLE * len(CRITERIA)


def test_an_archive_leaves_the_numbers_of_the_run(runs: Runs) -> None:
    folder = runs.folders[0]
    before = sorted(file.name for file in folder.glob("results_*.json"))
    flags = ("--sample", str(SAMPLE), "--judge_archive", *QUIET)
    mmeval("score", folder, *judge(runs.new, "new"), *flags)
    after = sorted(file.name for file in folder.glob("results_*.json"))
    assert after == before


def test_a_changed_answer_is_refused_before_a_call(runs: Runs) -> None:
    file = runs.folders[0] / "trials/greet.jsonl"
    lines = [unsealed(line) for line in file.read_bytes().splitlines(keepends=True)]
    lines[5]["d"] = "0" * 32
    file.write_bytes(b"".join(sealed(to_line(line)) for line in lines))
    ended = runs.bridge("--format", "json")
    assert (ended.code, runs.calls()) == (3, 0)
    assert numbers(ended)["refused"] == "different answers"
    # ids of samples count from 1
    assert numbers(ended)["samples"] == ["greet/6"]


def test_an_answer_that_was_edited_in_the_journal_is_refused(runs: Runs) -> None:
    for file in runs.folders[0].glob("journal/*.jsonl"):
        written = []
        for line in file.read_bytes().splitlines(keepends=True):
            entry = unsealed(line)
            if str(entry.get("k", "")).startswith("model/"):
                entry["r"]["output"] = [{"type": "text", "text": "Edited."}]
            written.append(sealed(to_line(entry)))
        file.write_bytes(b"".join(written))
    ended = runs.bridge("--format", "json")
    assert (ended.code, runs.calls()) == (3, 0)
    assert numbers(ended)["refused"] == "different answers"


def test_a_small_sample_is_not_paid_for(runs: Runs) -> None:
    ended = runs.bridge("--format", "json", sample=12)
    assert (ended.code, runs.calls()) == (3, 0)
    assert numbers(ended)["runs"][0]["why"] == "fewer than 20 verdicts"


def test_verdicts_on_chosen_answers_are_refused(runs: Runs) -> None:
    for folder in runs.folders:
        flags = ("--sample", str(SAMPLE), "--judge_archive", *QUIET)
        mmeval("score", folder, *judge(runs.new, "new"), *flags)
        (draw,) = folder.glob("scores/greet/*/draw.json")
        draw.unlink()
    ended = runs.kept("new", "--format", "json")
    assert ended.code == 3
    assert numbers(ended)["refused"] == "not drawn at random"


def test_a_changed_question_is_refused_before_a_call(runs: Runs) -> None:
    for plan in runs.folders[0].glob("scores/greet/*/plan.json"):
        document = unsealed_document(json.loads(plan.read_bytes()))
        document["metrics"][0]["version"] = "0.1"
        plan.write_bytes(sealed_document(document))
    ended = runs.bridge("--format", "json")
    assert (ended.code, runs.calls()) == (3, 0)
    assert numbers(ended)["refused"] == "different questions"


def test_an_unknown_judge_is_refused_with_the_known_ones(runs: Runs) -> None:
    ended = runs.kept("newer")
    assert ended.code == 2
    assert "'newer'; its judges are: old" in ended.error


def test_a_similar_judge_is_proposed_before_the_known_ones(runs: Runs) -> None:
    ended = runs.kept("olde")
    assert 'did you mean "old"? Its judges are: old' in ended.error


def test_the_command_that_goes_on_leaves_the_numbers_of_the_run(runs: Runs) -> None:
    with judge_server(runs.folder / "mute", {"guest": "I would rather not."}) as mute:
        runs.new, kept = mute, runs.new
        ended = runs.bridge()
        runs.new = kept
    words = ended.err.split()
    assert (ended.code, words.count("--judge_archive")) == (3, 2)
    # the flag that names another judge excludes the role of this one
    assert (words.count("--judge"), words.count("--role")) == (2, 0)


def test_a_report_shows_the_new_number_below_the_old_one(runs: Runs) -> None:
    ended = runs.bridge("--format", "json")
    value = numbers(ended)["runs"][0]["new"]["value"]
    shown = mmeval("report", runs.folders[0], "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(shown)))
    assert [row["metric"] for row in rows] == ["rubric_judge", "rubric_judge as new"]
    assert float(rows[1]["value"]) == pytest.approx(value, abs=1e-4)


def test_a_number_is_not_shown_beside_that_of_another_judge(runs: Runs) -> None:
    runs.bridge()
    mmeval("score", runs.folders[0], *judge(runs.new, "new"), *QUIET)
    assert "as new" not in mmeval("report", runs.folders[0], "--format", "csv").out


def test_a_refused_bridge_removes_the_new_number(runs: Runs) -> None:
    runs.bridge()
    file = runs.folders[0] / "trials/greet.jsonl"
    lines = [unsealed(line) for line in file.read_bytes().splitlines(keepends=True)]
    lines[5]["d"] = "0" * 32
    file.write_bytes(b"".join(sealed(to_line(line)) for line in lines))
    assert runs.bridge().code == 3
    assert "as new" not in mmeval("report", runs.folders[0], "--format", "csv").out


def test_the_table_of_a_run_has_a_line_for_the_new_number(runs: Runs) -> None:
    runs.bridge()
    # the judge of the run has judged all answers, so it is not asked
    table = mmeval("score", runs.folders[0], *QUIET).out
    assert "  rubric_judge as new" in table
    assert f"{SAMPLE}/{ROWS}" in table


def test_a_comparison_leaves_out_numbers_that_cannot_be_paired(runs: Runs) -> None:
    runs.bridge()
    page = runs.folder / "page"
    flags = ("--metrics", "all", "--output_path", page)
    assert "as new" not in mmeval("compare", *runs.folders, *flags).out


def test_scores_of_a_sample_state_that_they_are_of_a_subset(runs: Runs) -> None:
    flags = ("--sample", str(SAMPLE), *QUIET)
    ended = mmeval("score", runs.folders[0], *judge(runs.new, "new"), *flags)
    assert ended.code == 0, ended.err
    assert f"{SAMPLE}/{SAMPLE}" in ended.out
    assert "chosen by --sample" in ended.out


def test_a_sample_without_a_judge_is_refused(judged: Path, tmp_path: Path) -> None:
    shutil.copytree(judged, tmp_path / "copy")
    run = tmp_path / "copy/runs/a/default"
    ended = mmeval("score", run, "--metrics", "includes", "--sample", "20", *QUIET)
    assert ended.code == 2
    assert "no metric asks a judge" in ended.error
