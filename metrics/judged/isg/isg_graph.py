"""How well a model has written the questions of a row of ISG-Bench, beside the row's
own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

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

OUTPUTS = ("isg_graph_structure", "isg_graph_block", "isg_graph_image")
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
    written, fault = strict_json(trial.output.text), ""
    if not isinstance(written, dict):
        try:
            written = read_object(trial.output.text)
        except ReplyError as error:
            written, fault = {}, str(error)
    sides = [trial.sample, Sample(trial.sample.id, (), metadata={GRAPH: written})]
    wanted, found = map(_structure, sides)
    scores = [
        Score(float(found == wanted), evidence={"found": found, "wanted": wanted})
        if wanted
        else None
    ]
    for questions in (_about_blocks, _about_pictures):
        own, given = map(questions, sides)
        missed = _missed(own, given, alike)
        scores.append(
            Score(1 - len(missed) / len(own), evidence={"missed": missed})
            if own
            else None
        )
    why = {"reason": fault} if fault else {}
    return {
        name: Score.inapplicable("the row has none")
        if score is None
        else Score(score.value, evidence={**score.evidence, **why})
        for name, score in zip(OUTPUTS, scores, strict=True)
    }


def _structure(sample: Sample) -> list[str]:
    """The blocks of the answer; nothing where there is no list of texts."""
    predict = predict_of(sample)
    found = predict.get("structure", predict.get("structural"))
    answer = found.get("Answer") if isinstance(found, dict) else None
    return list(map(str, answer)) if isinstance(answer, list | tuple) else []


def _about_blocks(sample: Sample) -> list[AskedThing]:
    return _questions(
        listed(predict_of(sample).get(BLOCK_QUESTIONS)), ("subject", "object")
    )


def _about_pictures(sample: Sample) -> list[AskedThing]:
    return _questions(listed(predict_of(sample).get(IMAGE_QUESTIONS)), ("image",))


def _questions(rows: Sequence[Any], keys: Sequence[str]) -> list[AskedThing]:
    """The questions that have words and all their blocks."""
    found = (
        AskedThing(
            tuple(str(row.get(key) or "") for key in keys),
            str(row.get("Question") or ""),
        )
        for row in rows
        if isinstance(row, dict)
    )
    return [one for one in found if one.words and all(one.about)]


def _missed(
    wanted: Sequence[AskedThing], written: Sequence[AskedThing], alike: float
) -> list[int]:
    """The numbers of the wanted questions to which none is alike that is not taken yet.
    Equal ones are taken first, then for each the nearest."""
    equal = Counter(map(_folded, written))
    rest: list[int] = []
    for number, one in enumerate(map(_folded, wanted)):
        if equal[one]:
            equal[one] -= 1
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
        near = [_f1(own, other) for other in others]
        if near and max(near) >= alike:
            del others[near.index(max(near))]
        else:
            missed.append(number)
    return missed


def _folded(one: AskedThing) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a question is about, and its words in small letters."""
    return one.about, tuple(_WORD.findall(one.words.casefold()))


def _f1(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0
