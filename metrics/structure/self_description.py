"""Self-description: reads an answer's statements about its own picture.

Each kind of statement has a parser, which the judged metrics also use. Answers may be
hostile, so every parser runs in time linear in the length of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from mmeval.media import Interleaved
from mmeval.metric import metric
from mmeval.metric.judge import strict_json
from mmeval.metrics.produced import media_of
from mmeval.metrics.structure.part_order import official_text
from mmeval.records import Sample, Score, Trial
from mmeval.system import Condition

Statements = Literal["standard", "official"]
"""How a statement is read: in the published form without its defects, or like the
released evaluator."""
Kind = Literal["count", "text", "colors", "sizes", "letters", "pattern", "words"]

LEAST_WORDS, MOST_WORDS = 5, 10
"""The minimum and maximum number of words in the text of an answer."""

_IMAGE = re.compile(r"<image_start><image_\d+><image_end>")
_OFFICIAL_COUNT = re.compile(r"<count>(\d)+</count>")
_COUNT = re.compile(r"<count>\s*+([0-9]{1,9}+)\s*+</count>")


def _letters_fault(value: str) -> str:
    if value and value == value.lower() and len(set(value)) == len(value):
        return ""
    return "different lowercase letters"


Letters = Annotated[str, Condition(_letters_fault)]


def statement_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    """Returns which label for its statement a row lacks; empty if it lacks none."""
    keys: list[str] = []
    if switches["kind"] in ("colors", "sizes"):
        keys.append(switches["object_key"])
    if switches["kind"] == "colors":
        keys.append(switches["color_key"])
    for key in keys:
        if not texts_of(sample.metadata, key):
            return f"the row has no list of texts under {key!r}"
    return ""


@metric(
    range=(0, 1),
    version="1",
    source="MMMG, self-description tasks; official: interleaved evaluators 30c9f602",
    profiles={"official": {"statements": "official"}},
    check=statement_fault,
)
def self_description(
    trial: Trial,
    *,
    kind: Kind = "words",
    object_key: str = "object",
    color_key: str = "color",
    letters: Letters = "abc",
    many: bool = False,
    least: int = LEAST_WORDS,
    most: int = MOST_WORDS,
    statements: Statements = "standard",
) -> Score:
    """1 if the answer describes its own picture in the requested form, else 0.

    Range 0 to 1, higher is better. The metric does not check if the description is
    true. ``judge_self_count`` and the other ``judge_self_*`` metrics ask a judge about
    this. The trial is unscored without an answer, or if the row lacks a label that the
    kind requires.

    Switches:

    - ``kind``: the form.

      - ``count``: a number, as in ``<count>4</count>``.
      - ``text``: ``<text>...</text>`` of ``least`` to ``most`` words, on one line.
      - ``colors``: a JSON object that maps each of the row's objects to a different one
        of the row's colours.
      - ``sizes``: a JSON list of the row's objects from the smallest to the largest, on
        one line.
      - ``letters``: a JSON list of two of the ``letters``, on one line.
      - ``pattern``: a description, as in ``<<three circles in a row>>``, on one line.
      - ``words``: any words, with exactly one picture at exactly one position.

    - ``many``: with ``words``, several pictures and positions are accepted.
    - ``object_key``, ``color_key``: the labels with the objects and the colours.
    - ``least``, ``most``: the minimum and maximum number of words in a text.
    - ``letters``: the letters to choose from.
    - ``statements``: ``standard``, or ``official`` to read like the released evaluator.
      Then a count is read as its last digit, a list of sizes may repeat an object (only
      the first entries are read), and words are separated by single spaces, so a row of
      dots is a text.

    Evidence: the ``statement``, or null.

    Example: ``mmeval try metric self_description --answer "I drew <count>4</count>
    discs." --params '{"kind": "count"}'`` gives 1.

    In a task: ``metric_list: [{metric: self_description, kind: count}]``
    """
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    switches = {"kind": kind, "object_key": object_key, "color_key": color_key}
    if fault := statement_fault(trial.sample, switches):
        return Score.unscored(fault)
    answer, words = trial.output, said_by(trial.output, statements).words
    objects = texts_of(trial.sample.metadata, object_key)
    colors = texts_of(trial.sample.metadata, color_key)
    # Any: each kind has a different type of statement.
    parsers: dict[Kind, Callable[[], Any]] = {
        "count": lambda: count_in(words, statements),
        "text": lambda: text_in(words, statements, least=least, most=most),
        "colors": lambda: colors_in(words, objects, colors),
        "sizes": lambda: sizes_in(words, objects, statements),
        "letters": lambda: letters_in(words, letters, 2),
        "pattern": lambda: pattern_in(words),
        "words": lambda: words_beside(answer, statements, many=many),
    }
    statement = parsers[kind]()
    return Score(float(statement is not None), evidence={"statement": statement})


class AnswerWords(NamedTuple):
    """An answer's words without placeholders, and its number of picture positions."""

    words: str
    places: int


def said_by(answer: Interleaved, statements: Statements = "standard") -> AnswerWords:
    """Returns the words of an answer, and the number of positions of pictures.

    ``official`` splits the text at picture placeholders like the released evaluator.
    """
    if statements == "official":
        pieces = _IMAGE.split(official_text(answer))
        return AnswerWords("".join(pieces), len(pieces) - 1)
    texts: list[str] = []
    places = 0
    for part in answer.parts:
        if part.kind in ("text", "code"):
            texts.append(part.text or "")
        places += part.kind == "image"
    return AnswerWords("".join(texts), places)


def words_beside(
    answer: Interleaved, statements: Statements = "standard", *, many: bool = False
) -> str | None:
    """Returns an answer's words if it has one picture at one position, else None.

    With ``many``, several pictures and positions are accepted. The words of other
    answers could be about any picture.
    """
    answer_words = said_by(answer, statements)
    pictures = len(media_of(answer, "image"))
    fewest = min(answer_words.places, pictures)
    highest = max(answer_words.places, pictures)
    if fewest < 1 or (highest > 1 and not many):
        return None
    return answer_words.words


def count_in(words: str, statements: Statements = "standard") -> int | None:
    """Returns the number in ``<count>4</count>``.

    >>> count_in("<count>15</count>"), count_in("<count>15</count>", "official")
    (15, 5)
    """
    form = _OFFICIAL_COUNT if statements == "official" else _COUNT
    match = form.search(words)
    if match is None:
        return None
    return int(match[1])


def text_in(
    words: str,
    statements: Statements = "standard",
    *,
    least: int = LEAST_WORDS,
    most: int = MOST_WORDS,
) -> str | None:
    """Returns the text in ``<text>...</text>`` if it has ``least`` to ``most`` words.

    The text must be on one line, and must contain a letter or a digit. A row of dots is
    empty after normalisation, so a picture without text would match it.

    Official oddity: words are separated by single spaces, so a double space adds a
    word, and dots are words.
    """
    enclosed = first_enclosed(words, "<text>", "</text>")
    if enclosed is None:
        return None
    text = enclosed.removeprefix("<text>").removesuffix("</text>")
    if statements == "official":
        count, has_word = text.count(" ") + 1, True
    else:
        count, has_word = len(text.split()), any(map(str.isalnum, text))
    if has_word and least <= count <= most:
        return text
    return None


def colors_in(
    words: str, objects: Sequence[str], colors: Sequence[str]
) -> dict[str, str] | None:
    """Returns the first ``{...}`` if it is JSON that maps the objects to the colours.

    The JSON must contain exactly these objects and colours. The JSON may span lines.
    """
    start = words.find("{")
    end = words.find("}", start)
    if start < 0 or end < 0:
        return None
    source = words[start : end + 1]
    mapping = strict_json(source)
    if mapping is None:
        mapping = strict_json(" ".join(source.split()))
    if not isinstance(mapping, dict) or set(mapping) != set(objects):
        return None
    values = list(mapping.values())
    if all(isinstance(color, str) for color in values) and set(values) == set(colors):
        return mapping
    return None


def sizes_in(
    words: str, objects: Sequence[str], statements: Statements = "standard"
) -> list[str] | None:
    """Returns the first ``[...]`` on one line if it is JSON with exactly these objects.

    Official oddity: the list may repeat an object. Only its first entries are read, as
    many as there are objects.
    """
    names = texts_in(words)
    if names is None or set(names) != set(objects):
        return None
    if statements == "standard" and len(names) != len(objects):
        return None
    return names[: len(objects)]


def letters_in(
    words: str,
    letters: str,
    count: int,
) -> list[int] | None:
    """Returns the first ``[...]`` on one line if it is JSON with ``count`` letters.

    The result contains their positions in ``letters``. Case and spaces around a letter
    do not matter.

    >>> letters_in('["A", "B"]', "abc", 2)
    [0, 1]
    """
    names = [item.strip().lower() for item in texts_in(words) or ()]
    if len(names) != count or not set(letters).issuperset(names):
        return None
    return list(map(letters.index, names))


def pattern_in(words: str) -> str | None:
    """Returns the text between the first ``<<`` and ``>>`` on one line."""
    enclosed = first_enclosed(words, "<<", ">>")
    if enclosed is None:
        return None
    return enclosed[2:-2]


def texts_in(words: str) -> list[str] | None:
    """Returns the first list of strings that is strict JSON on one line.

    The result is None if there is no such list.
    """
    enclosed = first_enclosed(words, "[", "]")
    if enclosed is None:
        return None
    items = strict_json(enclosed)
    if isinstance(items, list) and all(isinstance(item, str) for item in items):
        return items
    return None


def first_enclosed(
    text: str,
    opening: str,
    closing: str,
) -> str | None:
    """Returns the first text between two marks on one line.

    The result includes the marks, and is None if there is no such text.
    """
    for line in text.split("\n"):
        start = line.find(opening)
        if start >= 0:
            end = line.find(closing, start + len(opening))
            if end >= 0:
                return line[start : end + len(closing)]
    return None


def texts_of(labels: Mapping[str, Any], key: str) -> list[str]:
    """Returns the texts under a label.

    The label is a text or a list. The result is empty for anything else.
    """
    items = labels.get(key)
    if isinstance(items, str):
        items = [items]
    if not isinstance(items, list | tuple):
        return []
    if not all(isinstance(item, str) and item.strip() for item in items):
        return []
    return list(items)
