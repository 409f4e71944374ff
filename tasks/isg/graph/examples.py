"""The examples in the prompts of question generation: the bundled rows, which are our
own."""

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
"""The stages after the first: the key of ``predict``, and the one of the reply."""
_FILE = Path(__file__).parents[1] / "bundled" / "ISG-Bench.jsonl"


class Example(NamedTuple):
    """A row: the texts of its task, the task with its blocks named, and the reply of
    each stage that it has."""

    subtask: str
    texts: tuple[str, ...]
    query: str
    replies: Mapping[str, str]


def examples_for(
    stage: str, subtask: str, texts: Sequence[str], count: int
) -> list[Example]:
    """Rows of the same category for a stage, of the same subtask first, without the row
    that is asked about."""
    category: Collection[str] = ()
    for names in CATEGORIES.values():
        if subtask in names.subtasks:
            category = names.subtasks
    same: list[Example] = []
    others: list[Example] = []
    for row in _rows():
        if stage not in row.replies or row.texts == tuple(texts):
            continue
        if row.subtask == subtask:
            same.append(row)
        elif row.subtask in category or not category:
            others.append(row)
    return [*same, *others][:count]


@cache
def _rows() -> tuple[Example, ...]:
    rows = []
    for stored in read_jsonl(_FILE):
        row: Any = stored.values
        predict = row["predict"]
        structure = predict.get("structure") or predict["structural"]
        replies = {"structure": json.dumps(structure)}
        for stage, key, name in _STAGES:
            written = listed(predict[key])
            if written:
                replies[stage] = json.dumps({name: written})
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
