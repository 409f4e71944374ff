"""The worker of each recipe, as a process, on a stand-in of the model's repository."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.authoring.scaffold.recipes.facts import RECIPES, Recipe
from mmeval.authoring.testing import check_backend
from mmeval.authoring.testing.checks import combinations
from mmeval.records import message
from tests.support.cli import QUIET, mmeval
from tests.support.recipes import model_file, served

TEXTS = [message("user", text) for text in ("a hare", "two foxes", "is it so")]
FEW_STEPS = {name: {"num_inference_steps": 2} for name in ("janus_flow", "show_o2")}
TASKS = {
    "exclusive": "mme_unify_tig,mme_unify_sipu",
    "interleaved": "unim_hard",
}
each_recipe = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)


@each_recipe
def test_its_worker_keeps_the_rules_of_every_backend(
    recipe: Recipe, tmp_path: Path
) -> None:
    steps = FEW_STEPS.get(recipe.name, {})
    with served(recipe, tmp_path, args=steps) as backend:
        for wants in combinations(backend.capabilities):
            draws_from_text = "image" in wants and not recipe.draws_from_pictures
            prompts = TEXTS if draws_from_text else ()
            check_backend(backend, prompts, wants=[wants])


@each_recipe
def test_mmeval_check_says_what_its_worker_takes_and_gives(
    recipe: Recipe, tmp_path: Path
) -> None:
    ended = mmeval(
        "check",
        "--model",
        "process",
        "--model_args",
        model_file(recipe, tmp_path),
    )
    shown = " ".join(ended.out.split())
    assert f"takes {_kinds(recipe.takes)}; gives {_kinds(recipe.gives)}" in shown


@each_recipe
def test_its_worker_answers_bundled_samples_with_the_kinds_that_they_ask_for(
    recipe: Recipe, tmp_path: Path
) -> None:
    steps = FEW_STEPS.get(recipe.name, {})
    ended = mmeval(
        "--tasks",
        TASKS[recipe.mode],
        "--data",
        "bundled",
        "--output_path",
        tmp_path / "runs",
        *QUIET,
        "--model",
        "process",
        "--model_args",
        model_file(recipe, tmp_path, args=steps),
        "--log_samples",
    )
    assert ended.code == 0, ended.err
    rows = _samples(tmp_path)
    answers = [parts for row in rows for parts in row["parts"] if parts]
    given = {part["type"] for parts in answers for part in parts}
    faults = [error["message"] for row in rows for error in row["error"] if error]
    assert given >= set(recipe.gives)
    assert [fault for fault in faults if "the model takes no" not in fault] == []


def _kinds(kinds: tuple[str, ...]) -> str:
    """The kinds as they are shown: a model of text also takes and gives code."""
    first, *others = kinds
    return ", ".join([first, "code", *others])


def _samples(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.rglob("samples_*.jsonl"))
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
    return [json.loads(line) for line in lines]
