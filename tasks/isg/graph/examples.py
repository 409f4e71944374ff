"""Selects examples for the prompts of question generation from the bundled rows."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.dataset import read_jsonl
from mmeval.metrics.judged.isg.rows import BLOCK_QUESTIONS, IMAGE_QUESTIONS, listed
from mmeval.tasks.isg.subtasks import CATEGORIES

_STAGES = (
    ("relations", "block_tuple", "relation"),
    ("block_questions", BLOCK_QUESTIONS, "questions"),
    ("tuples", "image_tuple", "tuple"),
    ("image_questions", IMAGE_QUESTIONS, "questions"),
)
"""The stages after the first: name, key under ``predict``, and key of the reply."""
_FILE = Path(__file__).parents[1] / "bundled" / "ISG-Bench.jsonl"


class Example(NamedTuple):
    """A row as an example: texts, query with named blocks, and replies by stage."""

    subtask: str
    texts: tuple[str, ...]
    query: str
    replies: Mapping[str, str]


def examples_for(
    stage: str, subtask: str, texts: Sequence[str], count: int
) -> list[Example]:
    """Returns rows of the same category for a stage.

    Rows of the same subtask come first.

    The row with the same texts is left out.
    """
    category: Collection[str] = ()
    for names in CATEGORIES.values():
        if subtask in names.subtasks:
            category = names.subtasks
    same_subtask: list[Example] = []
    same_category: list[Example] = []
    for row in _rows():
        if stage not in row.replies or row.texts == tuple(texts):
            continue
        if row.subtask == subtask:
            same_subtask.append(row)
        elif row.subtask in category or not category:
            same_category.append(row)
    return [*same_subtask, *same_category][:count]


@cache
def _rows() -> tuple[Example, ...]:
    rows = []
    for stored in read_jsonl(_FILE):
        row: Any = stored.values
        predict = row["predict"]
        structure = predict.get("structure") or predict["structural"]
        replies = {"structure": json.dumps(structure)}
        for stage, key, name in _STAGES:
            rows_of_stage = listed(predict[key])
            if rows_of_stage:
                replies[stage] = json.dumps({name: rows_of_stage})
        texts = []
        query = []
        for token, block in zip(structure["Query"], row["Query"], strict=True):
            if block["type"] == "text":
                texts.append(block["content"])
                query.append(f"{token}: {block['content']}")
            else:
                query.append(token)
        task = "\n".join(query)
        rows.append(Example(row["Category"], tuple(texts), task, replies))
    return tuple(rows)
