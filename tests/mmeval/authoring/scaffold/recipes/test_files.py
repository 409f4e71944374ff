"""What is written for a recipe, without running it."""

import ast
import sys
from pathlib import Path

import pytest

from mmeval.authoring.scaffold.recipes.facts import RECIPES, Recipe, recipe_named
from tests.support.backend_runs import own_worker
from tests.support.recipes import written

each_recipe = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)


@each_recipe
def test_its_worker_imports_only_the_standard_library_before_it_says_hello(
    recipe: Recipe, tmp_path: Path
) -> None:
    text = (written(recipe, tmp_path) / "serve.py").read_text("utf-8")
    tree = ast.parse(text, feature_version=(3, 8))
    imported = {
        alias.name
        for statement in tree.body
        if isinstance(statement, ast.Import)
        for alias in statement.names
    }
    assert imported <= sys.stdlib_module_names


@each_recipe
def test_its_page_states_the_licences_the_commit_and_that_it_was_not_run(
    recipe: Recipe, tmp_path: Path
) -> None:
    page = (written(recipe, tmp_path) / "README.md").read_text("utf-8")
    facts = (recipe.commit, recipe.code_licence, recipe.weights_licence, "not run")
    assert [fact for fact in facts if fact not in page] == []


@each_recipe
def test_no_line_of_its_templates_stays_unfilled(
    recipe: Recipe, tmp_path: Path
) -> None:
    files = [file for file in written(recipe, tmp_path).rglob("*") if file.is_file()]
    marks = ("[=", "=]", "[%", "%]")
    unfilled = [
        file.name
        for file in files
        if any(mark in file.read_text("utf-8") for mark in marks)
    ]
    assert unfilled == []


def test_the_protocol_is_that_of_the_worker_without_a_recipe(tmp_path: Path) -> None:
    folder = written(recipe_named("bagel"), tmp_path / "recipe")
    other = own_worker(tmp_path / "other")
    _, _, protocol = (folder / "serve.py").read_text("utf-8").partition("# --- mmeval")
    assert protocol
    assert other.read_text("utf-8").endswith(protocol)
