"""The examples in the prompts of question generation: the bundled rows, which are our
own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
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
    alike = next(
        (names.subtasks for names in CATEGORIES.values() if subtask in names.subtasks),
        {},
    )
    rows = (
        row for row in _rows() if stage in row.replies and row.texts != tuple(texts)
    )
    others = [row for row in rows if row.subtask in alike or not alike]
    return sorted(others, key=lambda row: row.subtask != subtask)[:count]


@cache
def _rows() -> tuple[Example, ...]:
    return tuple(map(_example, (row.values for row in read_jsonl(_FILE))))


def _example(row: Any) -> Example:
    predict = row["predict"]
    structure = predict.get("structure") or predict["structural"]
    replies = {"structure": json.dumps(structure)}
    for stage, key, name in _STAGES:
        if rows := listed(predict[key]):
            replies[stage] = json.dumps({name: rows})
    texts = tuple(block["content"] for block in row["Query"] if block["type"] == "text")
    query = "\n".join(_named(structure["Query"], row["Query"]))
    return Example(row["Category"], texts, query, replies)


def _named(tokens: Sequence[str], blocks: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for token, block in zip(tokens, blocks, strict=True):
        yield f"{token}: {block['content']}" if block["type"] == "text" else token
