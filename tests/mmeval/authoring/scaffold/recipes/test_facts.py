import pytest

from mmeval.authoring.scaffold.recipes.facts import RECIPES, Recipe, recipe_named
from mmeval.errors import UnknownNameError
from tests.support.cli import ROOT


def test_each_recipe_names_one_commit_of_its_repository() -> None:
    lengths = {recipe.name: len(recipe.commit) for recipe in RECIPES}
    assert set(lengths.values()) == {40}


def test_a_recipe_is_found_by_its_name() -> None:
    assert recipe_named("emu35").repository == "baaivision/Emu3.5"


def test_an_unknown_recipe_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="bagel"):
        recipe_named("bagle")


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_the_page_of_recipes_has_its_facts(recipe: Recipe) -> None:
    lines = (ROOT / "docs" / "recipes" / "index.md").read_text("utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith(f"| `{recipe.name}` |")]
    facts = (
        recipe.title,
        f"{recipe.repository}/tree/{recipe.commit}",
        ", ".join(recipe.takes),
        f"{', '.join(recipe.gives)}; {recipe.mode}",
        f"| {'yes' if recipe.draws_from_pictures else 'no'} |",
        recipe.code_licence,
        recipe.weights_licence,
        recipe.memory,
    )
    assert [fact for fact in facts if fact not in row] == []
