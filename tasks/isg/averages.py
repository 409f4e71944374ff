"""The averages in ISG-Bench's tables, from the values of its samples.

A category's value is the mean of its samples, not of its subtasks; the average is the
plain mean of the categories with a value (paper, tables 3 to 7). The released script
prints no average, and its category table has a 0 where a category has no value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from mmeval.aggregate import known_mean
from mmeval.tasks.isg.subtasks import CATEGORIES, LEVELS, SEMANTIC, category_of

Row = Mapping[str, Any]
"""A sample: its ``category``, as the data spell its subtask, and its value on each
level (None: it has none)."""
Levels: TypeAlias = "dict[str, float | None]"


class Averages(TypedDict):
    """The values of each category, in the tables' order, and their mean, by level."""

    categories: dict[str, Levels]
    average: Levels


def roll_up(
    rows: Sequence[Row], profile: Literal["standard", "official"] = "standard"
) -> Averages:
    """The averages of samples; a sample without a value on a level is left out of that
    level's mean.

    Official oddities: Semantic Segmentation is left out, and a category without a value
    has 0, which counts in the average; only that of the pictures is without VQA. Raises
    UnknownNameError for an unknown category.
    """
    official = profile == "official"
    by_category: dict[str, list[Row]] = {}
    for row in rows:
        if official and row["category"] == SEMANTIC:
            continue
        by_category.setdefault(category_of(row["category"]), []).append(row)
    categories: dict[str, Levels] = {}
    for name in CATEGORIES:
        own = by_category.get(name, [])
        if not own and not official:
            continue
        means: Levels = {}
        for level in LEVELS:
            mean = known_mean(row[level] for row in own)
            if mean is None and official:
                mean = 0.0
            means[level] = mean
        categories[name] = means
    return {
        "categories": categories,
        "average": average_of(categories, official=official),
    }


def average_of(categories: Mapping[str, Levels], *, official: bool = False) -> Levels:
    """The plain mean of the categories on each level; one without a value is left
    out."""
    average: Levels = {}
    for level in LEVELS:
        counted = dict(categories)
        if official and level == "image":
            counted.pop("vqa", None)
        average[level] = known_mean(values[level] for values in counted.values())
    return average
