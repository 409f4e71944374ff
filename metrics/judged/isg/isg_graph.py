"""How well a model has written the questions of a row of ISG-Bench, beside the row's
own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from mmeval.metric import MetricScores, metric
from mmeval.metric.judge import ReplyError, read_object, strict_json
from mmeval.metrics.judged.isg.rows import (
    BLOCK_QUESTIONS,
    GRAPH,
    IMAGE_QUESTIONS,
    listed,
    predict_of,
)
from mmeval.records import Sample, Score, Trial
from mmeval.system import Share

STRUCTURE, BLOCK, IMAGE = "isg_graph_structure", "isg_graph_block", "isg_graph_image"
OUTPUTS = (STRUCTURE, BLOCK, IMAGE)
_WORD = re.compile(r"\w+")


class AskedThing(NamedTuple):
    """A question: the blocks that it is about, and its words."""

    about: tuple[str, ...]
    words: str


@metric(
    range=(0, 1),
    version="1",
    source="ISG (ICLR 2025), question generation; words in common in place of its "
    "BERTScore",
    outputs=OUTPUTS,
)
def isg_graph(trial: Trial, *, alike: Share = 0.5) -> MetricScores:
    """The share of a row's questions that the written ones hold, of those about blocks
    and of those about pictures.

    ``isg_graph_structure`` is 1 when the blocks of the answer are those of the row.
    ``isg_graph_block`` and ``_image`` are the shares of the row's questions to which a
    written one is alike: about the same subject and object, or the same picture, with
    an F1 of their different words of ``alike`` at least; each counts once. Range 0 to
    1, higher is better. The paper takes a BERTScore above 0.8 for alike, so that its
    numbers do not compare with these. The answer is the JSON that a row has under
    ``predict``; any other text is 0. Inapplicable where the row has none. Evidence: the
    numbers of the row's questions that were ``missed``.
    """
    if trial.output is None:
        return dict.fromkeys(OUTPUTS, Score.unscored("there is no answer to score"))
    fault: dict[str, str] = {}
    written = strict_json(trial.output.text)
    if not isinstance(written, dict):
        try:
            written = read_object(trial.output.text)
        except ReplyError as error:
            written, fault = {}, {"reason": str(error)}
    answer = Sample(trial.sample.id, (), metadata={GRAPH: written})
    scores = dict.fromkeys(OUTPUTS, Score.inapplicable("the row has none"))

    wanted, found = _structure(trial.sample), _structure(answer)
    if wanted:
        evidence = {"found": found, "wanted": wanted, **fault}
        scores[STRUCTURE] = Score(float(found == wanted), evidence=evidence)
    for output, label, keys in (
        (BLOCK, BLOCK_QUESTIONS, ("subject", "object")),
        (IMAGE, IMAGE_QUESTIONS, ("image",)),
    ):
        own = _questions(trial.sample, label, keys)
        if own:
            missed = _missed(own, _questions(answer, label, keys), alike)
            share = 1 - len(missed) / len(own)
            scores[output] = Score(share, evidence={"missed": missed, **fault})
    return scores


def _structure(sample: Sample) -> list[str]:
    """The blocks of the answer; nothing where there is no list of texts."""
    predict = predict_of(sample)
    found = predict.get("structure", predict.get("structural"))
    if not isinstance(found, dict):
        return []
    answer = found.get("Answer")
    if not isinstance(answer, list | tuple):
        return []
    return list(map(str, answer))


def _questions(
    sample: Sample,
    label: str,
    keys: Sequence[str],
) -> list[AskedThing]:
    """The questions under a label that have words and all their blocks."""
    questions: list[AskedThing] = []
    for row in listed(predict_of(sample).get(label)):
        if isinstance(row, dict):
            about = tuple(str(row.get(key) or "") for key in keys)
            words = str(row.get("Question") or "")
            if words and all(about):
                questions.append(AskedThing(about, words))
    return questions


def _missed(
    wanted: Sequence[AskedThing], written: Sequence[AskedThing], alike: float
) -> list[int]:
    """The numbers of the wanted questions to which none is alike that is not taken yet.
    Equal ones are taken first, then for each the nearest."""
    equal = Counter(map(_folded, written))
    rest: list[int] = []
    for number, question in enumerate(map(_folded, wanted)):
        if equal[question]:
            equal[question] -= 1
        else:
            rest.append(number)
    left: dict[tuple[str, ...], list[frozenset[str]]] = {}
    for about, words in equal.elements():
        left.setdefault(about, []).append(frozenset(words))
    missed: list[int] = []
    for number in rest:
        about, words = _folded(wanted[number])
        own = frozenset(words)
        others = left.get(about, [])
        near: list[float] = []
        for other in others:
            shared = len(own & other)
            # The F1 of the two sets of words; neither has one where both are empty.
            near.append(2 * shared / max(len(own) + len(other), 1))
        if near and max(near) >= alike:
            del others[near.index(max(near))]
        else:
            missed.append(number)
    return missed


_Folded: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]


def _folded(question: AskedThing) -> _Folded:
    """What a question is about, and its words in small letters."""
    words = _WORD.findall(question.words.casefold())
    return question.about, tuple(words)
