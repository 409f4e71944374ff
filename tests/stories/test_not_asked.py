"""Kinds that a model cannot give and was not asked for, in whole runs: what reads them
alone is inapplicable, not 0."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.metric.contract import metric
from mmeval.program.calls import Program, Role, ask_one
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from tests.support.bench import Bench, Left, set_up
from tests.support.task_folder import with_plugins

HERE = "tests.stories.test_not_asked"
METRICS = ("pictures_there", "pictures_at_once", "pictures_judged", "sides")
PLUGINS = "[mmeval.metrics]\n" + "".join(
    f"{name} = {HERE}:{name}\n" for name in METRICS
)
KEYS: dict[str, Any] = {
    "output_modalities": ["text", "image"],
    "partial_output": True,
    "metric_list": [{"metric": name} for name in METRICS],
}
PICTURES = (*METRICS[:-1], "side_image")
UNASKED = {
    **dict.fromkeys(PICTURES, ("inapplicable", None)),
    "side_text": ("scored", 1.0),
}
TEXT = ("--model_args", "gives=text")
JUDGE = ("--judge", "noting,model=j")


@metric(range=(0, 1), version="1", source="tests", looks_at="image")
def pictures_there(trial: Trial) -> float:
    return _pictures(trial)


@metric(range=(0, 1), version="1", source="tests", looks_at="image", batch=2)
def pictures_at_once(trials: Sequence[Trial]) -> list[float]:
    return [*map(_pictures, trials)]


@metric(range=(0, 1), version="1", source="tests", looks_at="image")
def pictures_judged(trial: Trial, judge: Role) -> Program[Score]:
    assert trial.output is not None
    reply = yield from ask_one(judge.ask(trial.output))
    return Score(float(reply.require().text == "yes"))


@metric(range=(0, 1), version="1", source="tests", outputs=("side_text", "side_image"))
def sides(trial: Trial) -> Mapping[str, Score]:
    """A metric of two kinds decides by itself."""
    image = (
        Score.inapplicable("not asked")
        if "image" in trial.left_out
        else Score(_pictures(trial))
    )
    return {"side_text": Score(1.0), "side_image": image}


def _pictures(trial: Trial) -> float:
    assert trial.output is not None
    return float(bool(trial.output.media("image")))


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Bench]:
    with (
        set_up(tmp_path, monkeypatch, capsys) as made,
        with_plugins("pictures", PLUGINS),
    ):
        made.task(**KEYS)
        yield made


def told(left: Left) -> dict[str, tuple[str, float | None]]:
    """By number the one status of all trials, and the value."""
    statuses = ("scored", "inapplicable", "unscored", "unavailable", "failed")
    rows = left.results["mmeval"]["results"]
    return {
        row["metric"]: (
            " ".join(status for status in statuses if row[status]),
            row["value"],
        )
        for row in rows
        if row["n"] == 3
    }


def test_a_kind_that_was_not_asked_for_is_not_scored_and_no_judge_is_asked(
    bench: Bench,
) -> None:
    left = bench.run(*TEXT, *JUDGE, "--log_samples")
    assert (told(left), left.code, len(left.requests)) == (UNASKED, 0, 3)
    assert [row["left_out"] for row in left.samples()] == [[["image"]]] * 3
    assert told(bench.run("--fresh", *JUDGE))["pictures_there"] == ("scored", 1.0)


def test_it_is_known_after_a_resume_and_when_the_run_is_scored_again(
    bench: Bench,
) -> None:
    bench.run(*TEXT, *JUDGE)
    shutil.rmtree(bench.runs / "noting/default/scores")
    resumed = bench.run(*TEXT, *JUDGE)
    shutil.rmtree(bench.runs / "noting/default/scores")
    again = bench.mmeval("score", str(bench.runs / "noting/default"))
    assert [(told(left), len(left.requests)) for left in (resumed, again)] == [
        (UNASKED, 0)
    ] * 2


def test_it_is_reported_by_score_and_merge_as_by_the_run(bench: Bench) -> None:
    made = bench.run(*TEXT).results
    scored = bench.mmeval("score", str(bench.runs / "noting/default")).results
    bench.run(*TEXT, "--run_id", "s", "--shard", "1/1")
    merged = bench.mmeval("merge", str(bench.runs / "noting/s")).results
    found = []
    for document in (made, scored, merged):
        rows = document["mmeval"]["findings"]
        found.append([row for row in rows if row["kind"] == "partial"])
    assert (len(found[0]), found[1], found[2]) == (1, found[0], found[0])


@pytest.mark.parametrize("files", ["run.json", "samples_*.jsonl"])
def test_it_is_known_when_the_answers_are_replayed(bench: Bench, files: str) -> None:
    bench.run(*TEXT, "--predict_only", "--log_samples")
    run = bench.runs / "noting/default"
    (answers,) = (run,) if files == "run.json" else run.glob(files)
    args = f"path={answers},name=again"
    replayed = bench.run(
        *JUDGE,
        "--model_args",
        args,
        "--output_path",
        str(bench.folder / "runs"),
        model="replay",
    )
    assert (told(replayed), len(replayed.requests)) == (UNASKED, 0)


def test_the_benchmarks_own_score_of_an_empty_answer_goes_first(bench: Bench) -> None:
    bench.rows("silence", "silence", "silence", folder="tasks/silence")
    bench.task(**{**KEYS, "dataset_path": "silence", "missing_output": 0.25})
    assert {*told(bench.run(*TEXT, *JUDGE)).values()} == {("scored", 0.25)}


def test_a_dry_run_counts_no_call_for_it(bench: Bench) -> None:
    assert [
        "|judge|" in bench.run(*flags, *JUDGE, "--dry_run", "--table", "full").out
        for flags in (TEXT, ())
    ] == [False, True]
