"""Reads and checks the replies of the five stages of question generation.

    1  {"Query": ["<query_text1>"], "Answer": ["<gen_text1>", "<gen_img1>"]}
    2  {"relation": [["<gen_text1>", "<gen_img1>", "describes"]]}
    3  {"questions": [{"subject": "<gen_text1>", "object": "<gen_img1>", "relation": "describes", "Question": "..."}]}
    4  {"tuple": [["entity", "lamp", "<gen_img1>"], ["attribute", "red", "lamp", "<gen_img1>"]]}
    5  {"questions": [{"image": "<gen_img1>", "Question": "...", "id": 0, "Preliminary": []}]}

A reply may contain other keys (``Thought``), and prose may surround it. Each reader
raises ReplyError for a faulty reply. A reader checks a reply only against the content
of its prompt, since a reply is reused for every equal request.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from mmeval.metric.judge import ReplyError, read_object
from mmeval.metrics.judged.isg.rows import ALL, is_id

FORMS = {
    "structure": '{"Query": ["<query_text1>", ...], "Answer": ["<gen_text1>", '
    '"<gen_img1>", '
    "...]}",
    "relations": '{"relation": [["<token>", "<token>", "<relation>"], ...]}',
    "block_questions": '{"questions": [{"subject": "<token>", "object": "<token>", '
    '"relation": "<relation>", "Question": "<a question to answer with yes or no>"}, '
    "...]}",
    "tuples": '{"tuple": [["entity", "<name>", "<gen_img1>"], ["attribute", '
    '"<attribute>", "<entity>", "<gen_img1>"], ["relation", "<relation>", "<entity>", '
    '"<other entity>", "<gen_img1>"], ...]}',
    "image_questions": '{"questions": [{"image": "<gen_img1>", "Question": "<a '
    'question to answer with yes or no>", "id": 0, "Preliminary": []}, ...]}',
}
"""The form of the reply in each stage, as the prompt states it."""
_TUPLE_LENGTHS = {"entity": 3, "attribute": 4, "relation": 5}
"""The length of a tuple about a picture, by its kind."""


class Structure(NamedTuple):
    """The blocks of a task, and the blocks of its answer in order."""

    query: tuple[str, ...]
    answer: tuple[str, ...]

    @property
    def written(self) -> dict[str, tuple[str, ...]]:
        """The structure in the form of the data."""
        return {"Query": self.query, "Answer": self.answer}

    @property
    def pictures(self) -> tuple[str, ...]:
        """The pictures of the answer."""
        return tuple(token for token in self.answer if "_img" in token)


def read_structure(text: str, query: Sequence[str] | None = None) -> Structure:
    """Reads the first stage.

    ``query`` are the blocks of the task. Without ``query``, the reply may name any
    blocks of the task.
    """
    try:
        read_object(text, ("structure", "block_tuple"))
    except ReplyError:
        pass  # the reply belongs to a single stage, as requested
    else:
        raise ReplyError(
            "the reply contains all stages at once, as replies of --model reference "
            "do; use --protocol single"
        )
    reply = read_object(text, ("Query", "Answer"))
    query_blocks = _texts(reply["Query"], "Query")
    answer = _texts(reply["Answer"], "Answer")
    if query is not None and sorted(query_blocks) != sorted(query):
        raise ReplyError(
            f"Query is {_short(query_blocks)}, and the task has {_short(query)}"
        )
    counts = {"text": 0, "img": 0}
    for number, token in enumerate(answer):
        kind = "img" if token.startswith("<gen_img") else "text"
        counts[kind] += 1
        expected = f"<gen_{kind}{counts[kind]}>"
        if token != expected:
            raise ReplyError(
                f"block {number + 1} of Answer is {token!r:.40}, not {expected}"
            )
        if kind == "text" and number and "_text" in answer[number - 1]:
            raise ReplyError(
                f"{answer[number - 1]} and {token} follow each other: neighbouring "
                "texts are one block"
            )
    if not answer:
        raise ReplyError("Answer has no blocks")
    return Structure(query_blocks, answer)


def read_relations(text: str, structure: Structure) -> list[list[str]]:
    """Reads the second stage: a list of triples (subject, object, relation).

    The list may be empty.
    """
    blocks = {*structure.query, *structure.answer, ALL}
    rows = [_texts(row, "a relation") for row in _rows(text, "relation")]
    for row in rows:
        if len(row) != 3:
            raise ReplyError(f"{_short(row)} is not a subject, object and relation")
        _check_pair(row[0], row[1], blocks)
    _check_unique(rows)
    return [list(row) for row in rows]


def read_block_questions(
    text: str, relations: Sequence[Sequence[str]]
) -> list[dict[str, Any]]:
    """Reads the third stage: a question per relation, about the relation's blocks."""
    blocks: set[str] = set()
    for relation in relations:
        blocks.update(relation[:2])
    keys = ("subject", "object", "relation", "Question")
    rows = [_fields(row, keys) for row in _rows(text, "questions")]
    for row in rows:
        _check_pair(row["subject"], row["object"], blocks)
    _check_unique([tuple(row[key] for key in keys[:3]) for row in rows])
    if not rows:
        raise ReplyError("there is no question")
    return rows


def read_tuples(text: str, structure: Structure) -> list[list[str]]:
    """Reads the fourth stage: the content of each picture.

    Also adds each entity that only an attribute or a relation names.
    """
    rows = [_texts(row, "a tuple") for row in _rows(text, "tuple")]
    for row in rows:
        if not row or len(row) != _TUPLE_LENGTHS.get(row[0]):
            raise ReplyError(
                f"{_short(row)} is not an entity, attribute or relation of a picture"
            )
        if row[-1] not in structure.pictures:
            raise ReplyError(f"{row[-1]!r:.40} is not a picture of the answer")
    _check_unique([tuple(map(plain_name, row)) for row in rows])
    entities = set()
    for kind, name, *_, picture in rows:
        if kind == "entity":
            entities.add((plain_name(name), picture))
    tuples: list[list[str]] = []
    for kind, first, *names, picture in rows:
        for name in names:
            entity = (plain_name(name), picture)
            if entity not in entities:
                entities.add(entity)
                tuples.append(["entity", name, picture])
        tuples.append([kind, first, *names, picture])
    return tuples


def read_image_questions(
    text: str, tuples: Sequence[Sequence[str]]
) -> list[dict[str, Any]]:
    """Reads the fifth stage: a question per tuple, which may depend on others."""
    known_pictures = {row[-1] for row in tuples}
    rows: list[dict[str, Any]] = []
    for row in _rows(text, "questions"):
        words = _fields(row, ("image", "Question"))
        row_id, parents = row.get("id"), row.get("Preliminary") or []
        if words["image"] not in known_pictures:
            raise ReplyError(
                f"{words['image']!r:.40} is not a picture of these statements"
            )
        if not isinstance(parents, list) or not all(map(is_id, [row_id, *parents])):
            raise ReplyError(
                f"question {row_id!r:.40}: the id is missing, or Preliminary is not a "
                "list of ids"
            )
        rows.append({**words, "id": row_id, "Preliminary": parents})
    if not rows:
        raise ReplyError("there is no question")
    pictures = {row["id"]: row["image"] for row in rows}
    if len(pictures) < len(rows):
        raise ReplyError("two questions have the same id")
    for row in rows:
        for parent in row["Preliminary"]:
            if parent == row["id"] or pictures.get(parent) != row["image"]:
                raise ReplyError(
                    f"question {row['id']!r} depends on {parent!r:.40}, which is not "
                    "another question of its picture"
                )
    try:
        TopologicalSorter({row["id"]: row["Preliminary"] for row in rows}).prepare()
    except CycleError:
        raise ReplyError("questions depend on each other in a circle") from None
    return rows


def plain_name(name: str) -> str:
    """Returns an entity's name for comparisons: in lowercase, with spaces."""
    return name.lower().replace("_", " ")


def _rows(text: str, key: str) -> list[Any]:
    rows = read_object(text, (key,))[key]
    if not isinstance(rows, list):
        raise ReplyError(f"{key} is not a list")
    return rows


def _texts(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(map(_is_text, value)):
        raise ReplyError(f"{name} is {value!r:.80}, not a list of texts")
    return tuple(value)


def _fields(row: Any, keys: Sequence[str]) -> dict[str, Any]:
    """Returns the texts under these keys of an object."""
    values = {}
    if isinstance(row, Mapping):
        values = {key: row.get(key) for key in keys}
    if not values or not all(map(_is_text, values.values())):
        raise ReplyError(f"{row!r:.80} is not a question with {', '.join(keys)}")
    return values


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _check_pair(
    subject: str,
    object_: str,
    blocks: Collection[str],
) -> None:
    for token in (subject, object_):
        if token not in blocks:
            raise ReplyError(f"{token!r:.40} is not a block")
    if subject.startswith("<query_") and object_.startswith("<query_"):
        raise ReplyError(f"{subject} and {object_} are both blocks of the task")


def _check_unique(rows: Sequence[tuple[str, ...]]) -> None:
    seen: set[tuple[str, ...]] = set()
    for row in rows:
        if row in seen:
            raise ReplyError(f"{_short(row)} occurs twice")
        seen.add(row)


def _short(pieces: Sequence[str]) -> str:
    return f"{' '.join(pieces):.80}"
