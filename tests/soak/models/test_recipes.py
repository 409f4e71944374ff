"""The worker of each recipe, as a process, on a stand-in of the model's repository."""

from pathlib import Path

import pytest

from mmeval.authoring.scaffold.recipes.facts import RECIPES, Recipe
from mmeval.authoring.testing import check_backend
from mmeval.authoring.testing.checks import combinations
from mmeval.records import message
from tests.support.recipes import served

TEXTS = [message("user", text) for text in ("a hare", "two foxes", "is it so")]
FEW_STEPS = {name: {"num_inference_steps": 2} for name in ("janus_flow", "show_o2")}
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
