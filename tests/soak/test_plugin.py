"""A benchmark in a package of its own, installed beside mmeval in a fresh environment, runs by entry points alone."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.fresh_environment import FreshEnvironment, build_wheel, closure, copy_of_tree, metadata_of

SAMPLES = 3
JUDGED = ("--role", "judge=strict_reader")


@dataclass(frozen=True)
class Finished:
    """A run of storybench's tasks by storybench's painter, with what it left behind in its folder."""

    code: int
    said: str
    folder: Path

    @property
    def asked(self) -> list[dict[str, Any]]:
        """What the painter was asked, in order: its log."""
        log = self.folder / "painter.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def rows(self, task: str) -> list[dict[str, Any]]:
        """The scores of each trial."""
        return self._lines(f"runs/*/*/scores/{task}/*/scores.jsonl")

    def exchanges(self, task: str) -> set[str]:
        """Which answers the trials of a task are linked to."""
        return {key for trial in self._lines(f"runs/*/*/trials/{task}.jsonl") for _, _, key in trial["x"]}

    def value(self, task: str, metric: str) -> float:
        newest = max(self.folder.glob("runs/*/*/results_*.json"))
        value: float = json.loads(newest.read_text())["results"][task][f"{metric},none"]
        return value

    def _lines(self, pattern: str) -> list[dict[str, Any]]:
        (file,) = self.folder.glob(pattern)
        return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> FreshEnvironment:
    folder = tmp_path_factory.mktemp("storybench")
    copy_of_tree(folder / "tree")
    ours = build_wheel(folder / "tree", folder / "ours")
    theirs = build_wheel(folder / "tree" / "tests" / "support" / "plugin", folder / "theirs")
    fresh = FreshEnvironment.create(folder / "venv")
    fresh.link(closure(metadata_of(ours).requires or []))
    fresh.install(str(ours), str(theirs))
    return fresh


def paint(environment: FreshEnvironment, folder: Path, tasks: str, *flags: str) -> Finished:
    model = ("--model", "painter", "--model_args", "log=painter.jsonl", "--output_path", "runs")
    done = environment.run("mmeval", "--tasks", tasks, *model, *flags, cwd=folder)
    return Finished(done.returncode, done.stderr, folder)


def test_its_tasks_and_plugins_are_listed_as_its_own(environment: FreshEnvironment, tmp_path: Path) -> None:
    listed = [environment.run("mmeval", "ls", what, cwd=tmp_path).stdout for what in ("tasks", "metrics", "backends")]

    for name, table in zip(("story_graph", "question_graph", "strict_reader"), listed, strict=True):
        assert any(name in line and "|storybench" in line for line in table.splitlines())


def test_its_task_files_are_valid(environment: FreshEnvironment, tmp_path: Path) -> None:
    done = environment.run("mmeval", "validate", "story_*", *JUDGED, "--bounds", "false", cwd=tmp_path)

    assert done.returncode == 0
    warning, last = done.stdout.splitlines()
    assert warning.startswith("warning: image: not decoded"), "nothing that decodes pictures is installed there"
    assert last == "0 errors, 1 warning"


def test_each_turn_of_an_episode_carries_the_earlier_answers_and_pictures(
    environment: FreshEnvironment, tmp_path: Path
) -> None:
    run = paint(environment, tmp_path, "story_episode")

    turns: Mapping[str, list[dict[str, Any]]] = defaultdict(list)
    for asked in run.asked:
        turns[next(name for name in ("fox", "sea", "owl") if name in asked["prompt"])].append(asked)
    assert run.code == 0
    assert [[turn["pictures"] for turn in episode] for episode in turns.values()] == [[1, 2, 3]] * SAMPLES
    for first, second, third in turns.values():
        assert first["answer"] in second["prompt"]
        assert [first["answer"] in third["prompt"], second["answer"] in third["prompt"]] == [True, True]


def test_an_unknown_answer_leaves_its_sample_unscored_with_bounds(
    environment: FreshEnvironment, tmp_path: Path
) -> None:
    run = paint(environment, tmp_path, "story_graph", *JUDGED)

    scores = {row["s"]: row["scores"]["question_graph"] for row in run.rows("story_graph")}
    assert run.code == 3
    assert run.value("story_graph", "question_graph") == 0.5
    assert [scores["fox"]["value"], scores["sea"]["value"], scores["owl"]["value"]] == [0.5, 0.5, None]
    assert scores["owl"]["status"] == "unscored"
    assert scores["owl"]["bounds"] == pytest.approx([2 / 6, 4 / 6])
    assert scores["owl"]["evidence"]["verdicts"]["q6"] == "unknown", "what depends on an unknown is unknown"
    assert scores["fox"]["evidence"]["verdicts"]["q4"] == "no", "what depends on a no is no"


def test_a_rubric_is_scored_by_the_judge(environment: FreshEnvironment, tmp_path: Path) -> None:
    run = paint(environment, tmp_path, "story_rubric", *JUDGED)

    assert (run.code, run.value("story_rubric", "story_rubric")) == (0, 0.75)


def test_four_draws_a_sample_are_each_scored_and_aggregated_by_the_worst(
    environment: FreshEnvironment, tmp_path: Path
) -> None:
    run = paint(environment, tmp_path, "story_draws")

    drawn: Mapping[str, list[float]] = defaultdict(list)
    for row in run.rows("story_draws"):
        drawn[row["s"]].append(row["scores"]["distinct_words"]["value"])
    assert [len(values) for values in drawn.values()] == [4] * SAMPLES
    assert len({asked["seed"] for asked in run.asked}) == 4 * SAMPLES
    assert run.value("story_draws", "distinct_words") == sum(map(min, drawn.values())) / SAMPLES


def test_overlapping_tasks_share_their_answers(environment: FreshEnvironment, tmp_path: Path) -> None:
    run = paint(environment, tmp_path, "story_overlap,story_draws")

    assert Counter(asked["digest"] for asked in run.asked).most_common() == [
        (digest, 4) for digest in dict.fromkeys(asked["digest"] for asked in run.asked)
    ]
    assert len(run.asked) == 4 * SAMPLES
    assert len(run.exchanges("story_overlap")) == SAMPLES
    assert run.exchanges("story_overlap") < run.exchanges("story_draws")


@pytest.mark.parametrize("tasks", ["story_episode", "story_overlap,story_draws"], ids=["episode", "overlap"])
def test_the_same_command_again_asks_nothing(environment: FreshEnvironment, tmp_path: Path, tasks: str) -> None:
    before = paint(environment, tmp_path, tasks).asked

    again = paint(environment, tmp_path, tasks)

    assert before
    assert again.asked == before
    assert "nothing new to ask" in again.said


def test_an_unjudged_metric_is_said_to_be_unavailable_before_the_run(
    environment: FreshEnvironment, tmp_path: Path
) -> None:
    run = paint(environment, tmp_path, "story_graph")

    assert "question_graph is unavailable" in run.said
    assert run.said.index("unavailable") < run.said.index("asking")
    assert [row["scores"]["question_graph"]["status"] for row in run.rows("story_graph")] == ["unavailable"] * SAMPLES


def test_an_unavailable_metric_ends_a_strict_run_before_it_asks(environment: FreshEnvironment, tmp_path: Path) -> None:
    run = paint(environment, tmp_path, "story_graph", "--strict")

    assert (run.code, run.asked) == (4, [])
    assert "--role judge=BACKEND" in run.said
