"""The blocks of an answer, and the questions about them that a row of ISG-Bench carries
under ``predict``.

The questions were written by a model and come in many shapes. Each is read here without
failing the row, and :func:`irregularities` names what was odd.

    {"block_qa": {"questions": [{"subject": "<gen_text1>", "object": "<query_img1>", "Question": "..."}]},
     "image_qa": {"questions": [{"image": "<gen_img1>", "Question": "...", "id": 0, "Preliminary": []}]}}
"""  # noqa: E501

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from mmeval.media import Interleaved, Part
from mmeval.metrics.judged.material import asked_of
from mmeval.metrics.judged.reading import Reading
from mmeval.records import Sample, Trial
from mmeval.system.wording import shortened

CATEGORY, GRAPH = "category", "predict"
"""The labels of a sample that hold its subtask, in the spelling of the data, and its
questions."""
BLOCK_QUESTIONS, IMAGE_QUESTIONS = "block_qa", "image_qa"
ALL = "<all>"
UNLABELLED = object()
ENDS_HERE = "the released script ends here"
"""How the reason of a score begins where that script ends a sample with an
exception."""
_LISTS = (
    (BLOCK_QUESTIONS, "questions"),
    (IMAGE_QUESTIONS, "questions"),
    ("block_tuple", ""),
    ("image_tuple", ""),
)


class BlockQuestion(NamedTuple):
    """A question about two blocks, by its number in the row from 0."""

    number: int
    subject: str
    object: str
    words: str


class ImageQuestion(NamedTuple):
    """A question about one picture; ``parents`` are the ids of those that must be
    answered with yes before. ``words`` are empty where the row has none."""

    id: int | str
    image: str
    words: str
    parents: tuple[int | str, ...]


def blocks_of(content: Interleaved | None) -> tuple[Part, ...]:
    """The blocks as they stand, blank ones included; hidden reasoning is none."""
    if content is None:
        return ()
    return tuple(part for part in content.parts if part.kind != "reasoning")


def tokens_of(trial: Trial) -> dict[str, Part]:
    """The blocks of the question and the answer by their tokens."""
    return tokens_between(asked_of(trial.sample), trial.output)


def tokens_between(query: Interleaved, answer: Interleaved | None) -> dict[str, Part]:
    """The blocks by their tokens, numbered by side and kind from 1.
    A block that is neither text nor picture has none."""
    found: dict[str, Part] = {}
    for side, content in (("query", query), ("gen", answer)):
        seen: Counter[str] = Counter()
        for part in blocks_of(content):
            if part.kind in ("text", "image") and not is_foreign(part):
                kind = "img" if part.kind == "image" else "text"
                seen[kind] += 1
                found[f"<{side}_{kind}{seen[kind]}>"] = part
    return found


def is_foreign(part: Part) -> bool:
    """Whether a block of a file of answers has a type that is not a kind of part: a
    picture whose ``raw`` is that type."""
    return part.kind == "image" and part.dangling and bool(part.raw) and not part.label


def is_shown(part: Part) -> bool:
    """Whether a judge can look at a block: a text, or a file that is a picture."""
    if part.media is None:
        return part.kind == "text"
    return part.kind == "text" or part.media.mime.startswith("image/")


def structure_of(content: Interleaved | None, reading: Reading = "robust") -> str:
    """The kinds of the blocks in order, a letter each: ``TITI``. Official: all that is
    no text counts as a picture; else each kind has its own letter, and an unknown type
    has ``?``.
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
    """Why an answer has not the structure of the golden one; empty where it has.
    Official oddity: questions that the released script cannot read are such a reason,
    too. With ``pictures_alone`` a label of the questions about pictures alone is no row
    of the data, and has not lost the others."""
    fault = _order_fault(trial, reading)
    predict = trial.sample.metadata.get(GRAPH, UNLABELLED)
    if fault or reading != "official" or predict is UNLABELLED:
        return fault
    labels = set(predict) if isinstance(predict, Mapping) else set()
    if pictures_alone and labels == {IMAGE_QUESTIONS}:
        predict = {BLOCK_QUESTIONS: {"questions": []}, **predict}
    return ended_early(predict)


def ends_early(trial: Trial) -> bool:
    """Official oddity: whether the released script ends a sample of the right structure
    with an exception."""
    if _order_fault(trial, "official"):
        return False
    return bool(structure_fault(trial, "official"))


def unscorable(trial: Trial) -> str:
    """Why a trial cannot be scored at all; empty when it can."""
    if trial.output is None:
        return "there is no answer to score"
    if not trial.sample.references:
        return "the golden answer is missing"
    return ""


def block_questions(sample: Sample) -> list[BlockQuestion]:
    """The questions about pairs of blocks, a text for each piece that is one and else
    an empty one."""
    rows = listed(predict_of(sample).get(BLOCK_QUESTIONS))
    questions: list[BlockQuestion] = []
    for number, row in enumerate(rows):
        pieces = [_text(row, key) for key in ("subject", "object", "Question")]
        questions.append(BlockQuestion(number, *pieces))
    return questions


def image_questions(sample: Sample, reading: Reading = "robust") -> list[ImageQuestion]:
    """The questions about pictures; one without an id is called by its number, as
    ``#3``. Official oddities: of an object the first list counts, whatever it is
    called; what is not an id is a parent too."""
    asked = predict_of(sample).get(IMAGE_QUESTIONS)
    if reading == "official" and isinstance(asked, Mapping):
        asked = next(iter(asked.values()), None)
    found: list[ImageQuestion] = []
    for number, row in enumerate(listed(asked)):
        written = parents = None
        if isinstance(row, Mapping):
            written, parents = row.get("id"), row.get("Preliminary")
        if not isinstance(parents, list | tuple):
            # Official oddity: what is no list is a parent, unless it is empty.
            parents = [parents] if parents or reading == "robust" else []
        ahead: list[int | str] = []
        for parent in parents:
            if is_id(parent):
                ahead.append(parent)
            elif reading == "official":
                ahead.append(f"no id: {parent!r:.40}")
        own = written if is_id(written) else f"#{number}"
        image, words = _text(row, "image"), _text(row, "Question")
        found.append(ImageQuestion(own, image, words, tuple(ahead)))
    return found


def is_id(value: Any) -> TypeGuard[int | str]:
    return isinstance(value, int | str) and not isinstance(value, bool)


def listed(value: Any) -> Sequence[Any]:
    """The list of a bare list, or of an object: that of ``questions``, else the first
    one."""
    values = [value]
    if isinstance(value, Mapping):
        values = [value.get("questions"), *value.values()]
    for rows in values:
        if isinstance(rows, list | tuple):
            return rows
    return ()


def ended_early(predict: Any) -> str:
    """Official oddity: what in a row's questions ends a sample of the right structure
    with an exception; else empty. Such a sample has the lowest values of all four
    levels."""
    if not isinstance(predict, Mapping):
        return f"{ENDS_HERE}: the row has no questions"
    asked = predict.get(BLOCK_QUESTIONS)
    rows = asked.get("questions") if isinstance(asked, Mapping) else None
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
    """What is odd about the questions of a row whose blocks, with the golden answer,
    are these."""
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
            yield f"{name} is no list"
    for number, row in enumerate(listed(predict.get(BLOCK_QUESTIONS))):
        where = f"block question {number}"
        for key in ("subject", "object", "Question"):
            if not _text(row, key):
                yield f"{where} lacks {key}"
        ends = {_text(row, "subject"), _text(row, "object")}
        for end in sorted(ends - {"", ALL, *blocks}):
            yield f"{where} is about {_short(end)!r}, which is no block"
    yield from _image_irregularities(listed(predict.get(IMAGE_QUESTIONS)), blocks)


def _order_fault(trial: Trial, reading: Reading) -> str:
    wanted = structure_of(trial.sample.references[0], reading)
    found = structure_of(trial.output, reading)
    if not found:
        return "the answer is empty"
    if found == wanted:
        return ""
    return (
        f"the blocks are {_short(found)}, and those of the golden answer "
        f"{_short(wanted)}"
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
            yield f"{where} is no object"
            continue
        for key in ("image", "Question"):
            if not _text(row, key):
                yield f"{where} lacks {key}"
        if _text(row, "image") and row["image"] not in blocks:
            yield f"{where} is about {_short(row['image'])!r}, which is no block"
        own = row.get("id")
        if not is_id(own) or ids[own] > 1:
            yield f"{where} has no id of its own"
        parents = row.get("Preliminary")
        if not isinstance(parents, list | tuple):
            yield f"{where} has no list Preliminary"
            continue
        for parent in parents:
            if not is_id(parent) or parent not in ids or parent == own:
                yield f"{where} depends on {parent!r:.40}, which is no other question"


def predict_of(sample: Sample) -> Mapping[str, Any]:
    """What a row carries under ``predict``; nothing where that is not an object."""
    found = sample.metadata.get(GRAPH)
    if isinstance(found, Mapping):
        return found
    return {}


def _text(row: Any, key: str) -> str:
    value = row.get(key) if isinstance(row, Mapping) else None
    if isinstance(value, str):
        return value
    return ""


def _short(text: str) -> str:
    # it is part of the sample's digest
    if len(text) <= 40:
        return text
    return shortened(text, 37)
