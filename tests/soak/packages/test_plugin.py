"""A benchmark in a package of its own, installed beside mmeval in a fresh environment, runs by entry points alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.fresh_environment import FreshEnvironment, build_wheel, closure, copy_of_tree, metadata_of

JUDGED = ("--role", "judge=strict_reader")


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


def paint(environment: FreshEnvironment, folder: Path, tasks: str, *flags: str) -> tuple[int, list[dict[str, Any]]]:
    """The exit code of a run of storybench's painter, and what the painter was asked so far."""
    model = ("--model", "painter", "--model_args", "log=painter.jsonl", "--output_path", "runs")
    done = environment.run("mmeval", "--tasks", tasks, *model, *flags, cwd=folder)
    return done.returncode, [json.loads(line) for line in (folder / "painter.jsonl").read_text().splitlines()]


def results(folder: Path) -> Any:
    return json.loads(max(folder.glob("runs/*/*/results_*.json")).read_text())["results"]


def test_its_tasks_and_plugins_are_listed_as_its_own_and_its_files_are_valid(
    environment: FreshEnvironment, tmp_path: Path
) -> None:
    for name, kind in (("story_graph", "tasks"), ("question_graph", "metrics"), ("strict_reader", "backends")):
        table = environment.run("mmeval", "ls", kind, cwd=tmp_path).stdout
        assert any(name in line and "|storybench" in line for line in table.splitlines())

    done = environment.run("mmeval", "validate", "story_*", *JUDGED, "--bounds", "false", cwd=tmp_path)
    warning, last = done.stdout.splitlines()
    assert (done.returncode, last) == (0, "0 errors, 1 warning")
    assert warning.startswith("warning: image: "), "nothing that decodes pictures is installed there"


def test_its_protocol_carries_the_earlier_answers_and_pictures_into_each_turn(
    environment: FreshEnvironment, tmp_path: Path
) -> None:
    code, asked = paint(environment, tmp_path, "story_episode")

    assert (code, sorted(turn["pictures"] for turn in asked)) == (0, [1] * 3 + [2] * 3 + [3] * 3)
    for name in ("fox", "sea", "owl"):
        first, second, third = (turn for turn in asked if name in turn["prompt"])
        assert first["answer"] in second["prompt"]
        assert first["answer"] in third["prompt"] and second["answer"] in third["prompt"]
    assert paint(environment, tmp_path, "story_episode") == (0, asked), "the same command again asks nothing"


def test_its_judge_and_its_metrics_score_and_an_unknown_verdict_leaves_bounds(
    environment: FreshEnvironment, tmp_path: Path
) -> None:
    code, _ = paint(environment, tmp_path, "story_graph,story_rubric,story_draws", *JUDGED)
    (file,) = tmp_path.glob("runs/*/*/scores/story_graph/*/scores.jsonl")
    rows = map(json.loads, file.read_text().splitlines())
    scores = {row["s"]: row["scores"]["question_graph"] for row in rows}
    found = results(tmp_path)

    assert (code, found["story_graph"]["question_graph,none"]) == (3, 0.5)
    assert found["story_rubric"]["story_rubric,none"] == 0.75
    assert found["story_draws"]["distinct_words,none"] == pytest.approx(7 / 3)
    assert [scores[name]["value"] for name in ("fox", "sea", "owl")] == [0.5, 0.5, None]
    assert scores["owl"]["bounds"] == pytest.approx([2 / 6, 4 / 6])
