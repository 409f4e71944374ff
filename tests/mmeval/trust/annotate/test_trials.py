from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.results.stored_run import StoredRun
from mmeval.trust.annotate.material import MaterialFile
from mmeval.trust.annotate.question import AnnotationQuestion, level_options
from mmeval.trust.annotate.trials import (
    DrawOptions,
    FixedQuestion,
    TrialsToRate,
    paired_runs,
    single_trials,
)
from mmeval.trust.records import Draw, Rating
from tests.support.annotation import run_to_rate
from tests.support.stored_runs import WrittenTrial, text, write_run

QUESTION = AnnotationQuestion("grade", "polite", "?", level_options(["a", "b"]))


@pytest.fixture
def material() -> Iterator[MaterialFile]:
    with MaterialFile() as file:
        yield file


def drawn(
    folder: Path, material: MaterialFile, *gold: Rating, **options: Any
) -> TrialsToRate:
    with closing(StoredRun(folder)) as run:
        asked = {task.name: FixedQuestion(QUESTION) for task in run.tasks}
        draw = DrawOptions(**options)
        return single_trials([("", run, asked)], draw, gold, material)


def test_all_trials_with_an_answer_are_rated(
    tmp_path: Path, material: MaterialFile
) -> None:
    failed = WrittenTrial(
        [text("?")], None, error={"kind": "timeout", "message": "late"}
    )
    run = write_run(
        tmp_path,
        [failed, WrittenTrial([text("?")], [text("!")])],
    )
    found = drawn(run, material)
    assert [trial.trial for trial in found.trials] == ["told/sample 1/0"]
    assert found.without_answer == 1


def test_without_a_limit_the_draw_is_of_all(
    tmp_path: Path, material: MaterialFile
) -> None:
    found = drawn(run_to_rate(tmp_path), material)
    assert {trial.draw for trial in found.trials} == {Draw("all")}


def test_a_limit_draws_at_random(tmp_path: Path, material: MaterialFile) -> None:
    found = drawn(
        run_to_rate(tmp_path, 8),
        material,
        limit=2,
        seed=7,
    )
    assert [trial.draw for trial in found.trials] == 2 * [Draw("random", 0.25, "", 7)]


def test_another_seed_draws_others(tmp_path: Path, material: MaterialFile) -> None:
    run = run_to_rate(tmp_path, 30)
    draws = []
    for seed in (1, 2):
        found = drawn(run, material, limit=10, seed=seed)
        draws.append({trial.sample for trial in found.trials})
    assert draws[0] != draws[1]


def test_strata_are_drawn_in_proportion(tmp_path: Path, material: MaterialFile) -> None:
    run = run_to_rate(tmp_path, 20)
    found = drawn(run, material, limit=6, strata=("level",))
    strata = Counter(trial.draw.stratum for trial in found.trials)
    assert strata == {"easy": 3, "hard": 3}


def test_a_trial_with_a_known_answer_is_always_rated(
    tmp_path: Path, material: MaterialFile
) -> None:
    run = run_to_rate(tmp_path, 20)
    everyone = {trial.sample for trial in drawn(run, material).trials}
    chosen = {trial.sample for trial in drawn(run, material, limit=1).trials}
    (other, *_) = sorted(everyone - chosen)
    gold = Rating(f"greeting/{other}/0", "expert", 2.0)
    found = drawn(run, material, gold, limit=1)
    hows = {trial.sample: (trial.draw.how, trial.gold) for trial in found.trials}
    assert hows == {chosen.pop(): ("random", None), other: ("chosen", 2.0)}


def test_a_cluster_is_that_of_the_scores(
    tmp_path: Path, material: MaterialFile
) -> None:
    run = write_run(
        tmp_path, [WrittenTrial([text("?")], [text("!")], cluster="book 1")]
    )
    (trial,) = drawn(run, material).trials
    assert trial.cluster == "book 1"


def test_material_has_the_request_and_the_answer(
    tmp_path: Path, material: MaterialFile
) -> None:
    (trial, *_) = drawn(run_to_rate(tmp_path), material).trials
    shown = material.at(trial.position)
    assert shown.messages == [[text("Greet guest 0.")]]
    assert shown.answers == [[text("Hello, guest 0!")]]
    assert shown.references == []


def test_an_unknown_task_is_named(tmp_path: Path, material: MaterialFile) -> None:
    with pytest.raises(UsageError, match="greeting"):
        drawn(run_to_rate(tmp_path), material, tasks=("greetin",))


def test_nothing_to_rate_is_an_error(tmp_path: Path, material: MaterialFile) -> None:
    with pytest.raises(UsageError, match="nothing to rate"):
        drawn(run_to_rate(tmp_path, 0), material)


def test_pairs_are_trials_that_both_runs_have(
    tmp_path: Path, material: MaterialFile
) -> None:
    runs = []
    for name, count in (("x", 3), ("y", 2)):
        folder = run_to_rate(tmp_path / name, count, model=name)
        runs.append((name, StoredRun(folder)))
    pair = AnnotationQuestion("pair", "better", "?")
    found = paired_runs(runs, pair, DrawOptions(), material)
    for _, run in runs:
        run.close()
    assert [trial.sample for trial in found.trials] == ["guest-0", "guest-1"]
    assert {(trial.a, trial.b) for trial in found.trials} == {("x", "y")}
    assert found.without_answer == 1


def test_each_two_runs_have_trials_of_their_own(
    tmp_path: Path, material: MaterialFile
) -> None:
    runs = {}
    for name in ("x", "y", "z"):
        folder = run_to_rate(tmp_path / name, 1, model=name)
        runs[name] = (name, StoredRun(folder))
    pair = AnnotationQuestion("pair", "better", "?")
    names = set()
    for first, second in (("x", "y"), ("x", "z"), ("z", "x")):
        both = [runs[first], runs[second]]
        (trial,) = paired_runs(both, pair, DrawOptions(), material).trials
        names.add(trial.trial)
    for _, run in runs.values():
        run.close()
    assert names == {"greeting/guest-0/0 (x, y)", "greeting/guest-0/0 (x, z)"}


def test_pairs_need_two_runs(tmp_path: Path, material: MaterialFile) -> None:
    run = StoredRun(run_to_rate(tmp_path))
    pair = AnnotationQuestion("pair", "better", "?")
    with pytest.raises(UsageError, match="two runs"):
        paired_runs(
            [("x", run)],
            pair,
            DrawOptions(),
            material,
        )
