"""Every task of the five benchmarks on the embedded model and its bundled rows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import QUIET, environment, mmeval, results, run_folder
from tests.support.models import embedded_cache, weights_folder
from tests.support.readers import read_samples

TASKS = {"mme_unify": 14, "unim": 3, "isg": 21, "mmmg": 49, "ueval": 8}
"""The number of tasks of each benchmark."""


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment in which networks of random weights are found."""
    weights = weights_folder(tmp_path_factory.mktemp("weights"))
    return environment(
        MMEVAL_WEIGHTS_DIR=str(weights),
        MMEVAL_CACHE_DIR=str(embedded_cache()),
    )


def run(
    benchmark: str,
    output: Path,
    env: Mapping[str, str],
) -> dict[str, Any]:
    """The results of a run with one row and one answer for each task."""
    done = mmeval(
        "--tasks",
        benchmark,
        "--data",
        "bundled",
        "--limit",
        "1",
        "--repeats",
        "1",
        "--model",
        "hf",
        "--model_args",
        "pretrained=tiny",
        "--output_path",
        output,
        "--log_samples",
        *QUIET,
        env=env,
    )
    assert done.code == 0, done.err
    return results(output)


def numbers(left: dict[str, Any]) -> list[dict[str, Any]]:
    """The numbers of the tasks, without those of groups and slices."""
    rows = left["mmeval"]["results"]
    return [row for row in rows if row["task"] in left["configs"] and not row["slice"]]


@pytest.mark.parametrize("benchmark", TASKS)
def test_each_task_is_asked_and_each_number_has_scores_or_a_reason(
    benchmark: str, tmp_path: Path, env: Mapping[str, str]
) -> None:
    left = run(benchmark, tmp_path, env)

    found = numbers(left)
    assert len({row["task"] for row in found}) == TASKS[benchmark]
    assert {row["unsupported"] for row in found} == {0}
    findings = left["mmeval"]["findings"]
    explained = {finding["subject"].get("task") for finding in findings}
    for row in found:
        assert row["scored"] + row["inapplicable"] + row["unavailable"] == row["n"], row
        assert not row["unavailable"] or row["task"] in explained, row


def test_all_tasks_of_mme_unify_have_their_score(
    tmp_path: Path, env: Mapping[str, str]
) -> None:
    left = run("mme_unify", tmp_path, env)

    scores = [row for row in numbers(left) if row["metric"] == "mme_unify_score"]
    assert len(scores) == TASKS["mme_unify"]
    assert [row["task"] for row in scores if row["scored"] != row["n"]] == []


def test_only_3d_is_left_unasked_in_unim(
    tmp_path: Path, env: Mapping[str, str]
) -> None:
    run("unim", tmp_path, env)

    folder = run_folder(tmp_path, "tiny")
    rows = [row for file in folder.glob("samples_*") for row in read_samples(file)]
    kinds = {part["type"] for row in rows for part in row["parts"][0]}
    assert kinds == {"text", "image", "audio", "video", "document", "code"}
