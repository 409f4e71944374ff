"""The worker of each recipe, as a process, on a stand-in of the model's repository."""

from pathlib import Path

import pytest

from mmeval.authoring.scaffold.recipes.facts import RECIPES, Recipe
from mmeval.authoring.testing import check_backend
from tests.support.recipes import served

each_recipe = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)


@each_recipe
def test_its_worker_keeps_the_rules_of_every_backend(
    recipe: Recipe, tmp_path: Path
) -> None:
    with served(recipe, tmp_path) as backend:
        check_backend(backend)
