"""Computes the averages in ISG-Bench's tables from the values of the samples.

The value of a category is the mean of its samples, not of its subtasks. The average is
the plain mean of the categories with a value (paper, tables 3 to 7). The released
script does not print an average, and prints 0 for a category without a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from mmeval.aggregate import known_mean
from mmeval.tasks.isg.subtasks import CATEGORIES, LEVELS, SEMANTIC, category_of

Row = Mapping[str, Any]
"""A sample: its ``category`` (the subtask as the data spells it), and its value on each
level, or None."""
Levels: TypeAlias = "dict[str, float | None]"


class LevelAverages(TypedDict):
    """The values of each category by level, in the tables' order, and their mean."""

    categories: dict[str, Levels]
    average: Levels


def roll_up(
    rows: Sequence[Row], profile: Literal["standard", "official"] = "standard"
) -> LevelAverages:
    """Computes the averages of samples.

    The mean of a level leaves out samples without a value on this level. Official
    oddities: Semantic Segmentation is left out. A category without a value is 0, and
    this 0 is part of the average. Only the average of the image level leaves out VQA.
    Raises UnknownNameError for an unknown category.
    """
    official = profile == "official"
    by_category: dict[str, list[Row]] = {}
    for row in rows:
        if official and row["category"] == SEMANTIC:
            continue
        by_category.setdefault(category_of(row["category"]), []).append(row)
    categories: dict[str, Levels] = {}
    for name in CATEGORIES:
        category_rows = by_category.get(name, [])
        if not category_rows and not official:
            continue
        means: Levels = {}
        for level in LEVELS:
            mean = known_mean(row[level] for row in category_rows)
            if mean is None and official:
                mean = 0.0
            means[level] = mean
        categories[name] = means
    return {
        "categories": categories,
        "average": average_of(categories, official=official),
    }


def average_of(categories: Mapping[str, Levels], *, official: bool = False) -> Levels:
    """Computes the plain mean of the categories with a value, on each level."""
    average: Levels = {}
    for level in LEVELS:
        included = dict(categories)
        if official and level == "image":
            included.pop("vqa", None)
        average[level] = known_mean(values[level] for values in included.values())
    return average
