"""The blocks of an answer, and the questions about them in a row of ISG-Bench.

The questions are under ``predict``. They were written by a model, so the form of their
JSON varies. A faulty question does not make the row fail: :func:`irregularities`
reports what is odd.

    {"block_qa": {"questions": [{"subject": "<gen_text1>", "object": "<query_img1>", "Question": "..."}]},
     "image_qa": {"questions": [{"image": "<gen_img1>", "Question": "...", "id": 0, "Preliminary": []}]}}
"""  # noqa: E501

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from mmeval.media import Interleaved, Part
from mmeval.metrics.judged.material import question_content
from mmeval.metrics.judged.reading import Reading
from mmeval.records import Sample, Trial
from mmeval.system.wording import shortened

CATEGORY, GRAPH = "category", "predict"
"""Labels of a sample: its subtask as the data spells it, and its questions."""
BLOCK_QUESTIONS, IMAGE_QUESTIONS = "block_qa", "image_qa"
ALL = "<all>"
UNLABELLED = object()
ENDS_HERE = "the released script ends here"
"""The reason for a score begins with these words if the released script raises an
exception for the sample."""
_LISTS = (
    (BLOCK_QUESTIONS, "questions"),
    (IMAGE_QUESTIONS, "questions"),
    ("block_tuple", ""),
    ("image_tuple", ""),
)


class BlockQuestion(NamedTuple):
    """A question about two blocks, with its number in the row, counted from 0."""

    number: int
    subject: str
    object: str
    words: str


class ImageQuestion(NamedTuple):
    """A question about one picture.

    ``parents`` are the ids of the questions that must be answered with yes first.
    ``words`` is empty if the row contains no words for the question.
    """

    id: int | str
    image: str
    words: str
    parents: tuple[int | str, ...]


def blocks_of(content: Interleaved | None) -> tuple[Part, ...]:
    """Returns the parts without hidden reasoning. Blank texts are kept."""
    if content is None:
        return ()
    return tuple(part for part in content.parts if part.kind != "reasoning")


def tokens_of(trial: Trial) -> dict[str, Part]:
    """Returns the blocks of the question and the answer by their tokens."""
    return tokens_between(question_content(trial.sample), trial.output)


def tokens_between(query: Interleaved, answer: Interleaved | None) -> dict[str, Part]:
    """Returns the blocks by their tokens, numbered by side and kind from 1.

    A block that is neither a text nor a picture gets no token.
    """
    blocks: dict[str, Part] = {}
    for side, content in (("query", query), ("gen", answer)):
        counts: Counter[str] = Counter()
        for part in blocks_of(content):
            if part.kind in ("text", "image") and not is_foreign(part):
                kind = "img" if part.kind == "image" else "text"
                counts[kind] += 1
                blocks[f"<{side}_{kind}{counts[kind]}>"] = part
    return blocks


def is_foreign(part: Part) -> bool:
    """Returns True if a block of an answer file has an unknown type.

    Such a block is a picture part with the type as ``raw``.
    """
    return part.kind == "image" and part.dangling and bool(part.raw) and not part.label


def is_shown(part: Part) -> bool:
    """Returns True if a judge can see a block: a text, or a file that is a picture."""
    if part.media is None:
        return part.kind == "text"
    return part.kind == "text" or part.media.mime.startswith("image/")


def structure_of(content: Interleaved | None, reading: Reading = "robust") -> str:
    """Returns the kinds of the blocks in order, one letter per block: ``TITI``.

    In the official reading, every block except text counts as a picture. In the robust
    reading a different letter stands for each kind, and an unknown type becomes ``?``.
    """
    letters = ""
    for part in blocks_of(content):
        if reading == "official" and part.kind != "text":
            letters += "I"
        elif is_foreign(part):
            letters += "?"
        else:
            letters += part.kind[0].upper()
    return letters


def structure_fault(
    trial: Trial, reading: Reading = "robust", *, pictures_alone: bool = False
) -> str:
    """Returns why the structure of an answer is wrong; empty if the structure is right.

    Official oddity: questions that the released script cannot read are also a fault.
    With ``pictures_alone`` a label with only the picture questions is accepted, since
    such a label does not come from a row of the data.
    """
    fault = _order_fault(trial, reading)
    predict = trial.sample.metadata.get(GRAPH, UNLABELLED)
    if fault or reading != "official" or predict is UNLABELLED:
        return fault
    labels = set(predict) if isinstance(predict, Mapping) else set()
    if pictures_alone and labels == {IMAGE_QUESTIONS}:
        predict = {BLOCK_QUESTIONS: {"questions": []}, **predict}
    return ended_early(predict)


def ends_early(trial: Trial) -> bool:
    """Returns True if the structure is right but the released script fails.

    This is an official oddity.
    """
    if _order_fault(trial, "official"):
        return False
    return bool(structure_fault(trial, "official"))


def unscorable(trial: Trial) -> str:
    """Returns why a trial cannot be scored; empty if it can."""
    if trial.output is None:
        return "there is no answer to score"
    if not trial.sample.references:
        return "the golden answer is missing"
    return ""


def block_questions(sample: Sample) -> list[BlockQuestion]:
    """Returns the questions about pairs of blocks.

    A question's field is empty if the row's value is not a string.
    """
    rows = listed(predict_of(sample).get(BLOCK_QUESTIONS))
    questions: list[BlockQuestion] = []
    for number, row in enumerate(rows):
        fields = [_text(row, key) for key in ("subject", "object", "Question")]
        questions.append(BlockQuestion(number, *fields))
    return questions


def image_questions(sample: Sample, reading: Reading = "robust") -> list[ImageQuestion]:
    """Returns the questions about pictures.

    A question without an id gets its number as id, such as ``#3``. Official oddities:
    the first list of an object is used, whatever its key is, and a parent that is not
    an id is still treated as a parent.
    """
    image_qa = predict_of(sample).get(IMAGE_QUESTIONS)
    if reading == "official" and isinstance(image_qa, Mapping):
        image_qa = next(iter(image_qa.values()), None)
    questions: list[ImageQuestion] = []
    for number, row in enumerate(listed(image_qa)):
        row_id = parents = None
        if isinstance(row, Mapping):
            row_id, parents = row.get("id"), row.get("Preliminary")
        if not isinstance(parents, list | tuple):
            # Official oddity: a value that is not a list counts as a parent, unless it
            # is empty.
            parents = [parents] if parents or reading == "robust" else []
        parent_ids: list[int | str] = []
        for parent in parents:
            if is_id(parent):
                parent_ids.append(parent)
            elif reading == "official":
                parent_ids.append(f"no id: {parent!r:.40}")
        question_id = row_id if is_id(row_id) else f"#{number}"
        image, words = _text(row, "image"), _text(row, "Question")
        questions.append(ImageQuestion(question_id, image, words, tuple(parent_ids)))
    return questions


def is_id(value: Any) -> TypeGuard[int | str]:
    return isinstance(value, int | str) and not isinstance(value, bool)


def listed(value: Any) -> Sequence[Any]:
    """Returns a list itself, or the list in an object.

    In an object, the list under ``questions`` is used, or else the first list.
    """
    values = [value]
    if isinstance(value, Mapping):
        values = [value.get("questions"), *value.values()]
    for rows in values:
        if isinstance(rows, list | tuple):
            return rows
    return ()


def ended_early(predict: Any) -> str:
    """Returns the fault in a row's questions that makes the released script fail.

    The text is empty if there is no such fault. Official oddity: a sample with the
    right structure and such a fault gets the lowest value on all four levels.
    """
    if not isinstance(predict, Mapping):
        return f"{ENDS_HERE}: the row has no questions"
    block_qa = predict.get(BLOCK_QUESTIONS)
    rows = block_qa.get("questions") if isinstance(block_qa, Mapping) else None
    if not isinstance(rows, list | tuple):
        return f"{ENDS_HERE}: block_qa has no questions"
    if IMAGE_QUESTIONS not in predict:
        return ""
    rows = predict[IMAGE_QUESTIONS]
    if isinstance(rows, Mapping):
        rows = next(iter(rows.values()), None)
    if not isinstance(rows, list | tuple):
        return f"{ENDS_HERE}: image_qa has no list"
    for row in rows:
        if not isinstance(row, Mapping) or not row.keys() >= {"id", "Preliminary"}:
            return f"{ENDS_HERE}: a question of image_qa lacks id or Preliminary"
    return ""


def irregularities(predict: Any, blocks: Mapping[str, Part]) -> Iterator[str]:
    """Yields what is odd about the questions of a row.

    ``blocks`` are the blocks of the question and the golden answer. The yielded strings
    are part of the sample's digest, so they must not change.
    """
    if not isinstance(predict, Mapping):
        yield "predict is missing"
        return
    if "structural" in predict and "structure" not in predict:
        yield 'predict has the older key "structural"'
    for name, key in _LISTS:
        value = predict.get(name)
        if value is None and key:
            yield f"{name} is missing"
        elif isinstance(value, Mapping) and key and key not in value:
            yield f"{name} has its list under {', '.join(map(repr, value)) or 'no key'}"
        elif not isinstance(value, Mapping | list | tuple) and value is not None:
            yield f"{name} is not a list"
    for number, row in enumerate(listed(predict.get(BLOCK_QUESTIONS))):
        where = f"block question {number}"
        for key in ("subject", "object", "Question"):
            if not _text(row, key):
                yield f"{where} lacks {key}"
        ends = {_text(row, "subject"), _text(row, "object")}
        for end in sorted(ends - {"", ALL, *blocks}):
            yield f"{where} is about {_short(end)!r}, which is not a block"
    yield from _image_irregularities(listed(predict.get(IMAGE_QUESTIONS)), blocks)


def _order_fault(trial: Trial, reading: Reading) -> str:
    expected = structure_of(trial.sample.references[0], reading)
    actual = structure_of(trial.output, reading)
    if not actual:
        return "the answer is empty"
    if actual == expected:
        return ""
    return (
        f"the blocks are {_short(actual)}, and those of the golden answer "
        f"{_short(expected)}"
    )


def _image_irregularities(
    rows: Sequence[Any], blocks: Mapping[str, Part]
) -> Iterator[str]:
    ids: Counter[int | str] = Counter()
    for row in rows:
        if isinstance(row, Mapping) and is_id(row.get("id")):
            ids[row["id"]] += 1
    for number, row in enumerate(rows):
        where = f"image question {number}"
        if not isinstance(row, Mapping):
            yield f"{where} is not an object"
            continue
        for key in ("image", "Question"):
            if not _text(row, key):
                yield f"{where} lacks {key}"
        if _text(row, "image") and row["image"] not in blocks:
            yield f"{where} is about {_short(row['image'])!r}, which is not a block"
        row_id = row.get("id")
        if not is_id(row_id) or ids[row_id] > 1:
            yield f"{where} has no id of its own"
        parents = row.get("Preliminary")
        if not isinstance(parents, list | tuple):
            yield f"{where} has no list Preliminary"
            continue
        for parent in parents:
            if not is_id(parent) or parent not in ids or parent == row_id:
                yield f"{where} depends on {parent!r:.40}, not another question"


def predict_of(sample: Sample) -> Mapping[str, Any]:
    """Returns the object under ``predict``, or an empty object for any other value."""
    predict = sample.metadata.get(GRAPH)
    if isinstance(predict, Mapping):
        return predict
    return {}


def _text(row: Any, key: str) -> str:
    value = row.get(key) if isinstance(row, Mapping) else None
    if isinstance(value, str):
        return value
    return ""


def _short(text: str) -> str:
    # The result is part of the sample's digest, so the cut must not change.
    if len(text) <= 40:
        return text
    return shortened(text, 37)
