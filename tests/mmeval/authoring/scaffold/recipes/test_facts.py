import pytest

from mmeval.authoring.scaffold.recipes.facts import RECIPES, recipe_named
from mmeval.errors import UnknownNameError


def test_each_recipe_names_one_commit_of_its_repository() -> None:
    lengths = {recipe.name: len(recipe.commit) for recipe in RECIPES}
    assert set(lengths.values()) == {40}


def test_a_recipe_is_found_by_its_name() -> None:
    assert recipe_named("emu35").repository == "baaivision/Emu3.5"


def test_an_unknown_recipe_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="bagel"):
        recipe_named("bagle")
