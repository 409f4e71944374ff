from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import mmeval.tasks.mmmg
from mmeval.tasks.mmmg.categories import CATEGORIES, Category

FOLDER = Path(mmeval.tasks.mmmg.__path__[0])
FILES = {
    keys["group"]: keys["task"]
    for file in FOLDER.rglob("*.yaml")
    if "group" in (keys := yaml.safe_load(file.read_text()))
}
"""The members of each group by its file."""
ALL = [task for category in CATEGORIES for task in category.tasks]


def test_there_are_49_tasks_in_four_categories() -> None:
    assert [len(category.tasks) for category in CATEGORIES] == [14, 20, 8, 7]
    assert len(set(ALL)) == 49


@pytest.mark.parametrize("category", CATEGORIES, ids=lambda category: category.name)
def test_a_category_has_the_tasks_of_its_group_file(category: Category) -> None:
    assert list(category.tasks) == FILES[category.name]


@pytest.mark.parametrize("category", CATEGORIES, ids=lambda category: category.name)
def test_the_groups_of_the_leaderboard_share_a_category_out(category: Category) -> None:
    members: list[Any] = [task for tasks in category.groups.values() for task in tasks]
    assert sorted(members) == sorted(category.tasks)
    assert all(
        sorted(tasks) in [sorted(map(str, found)) for found in FILES.values()] for tasks in category.groups.values()
    )
