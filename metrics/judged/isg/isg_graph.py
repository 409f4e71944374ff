"""ISG-Bench's question generation: a model's questions compared with the row's."""

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


class ComparedQuestion(NamedTuple):
    """A question, reduced to its blocks and its words."""

    blocks: tuple[str, ...]
    words: str


@metric(
    range=(0, 1),
    version="1",
    source="ISG (ICLR 2025), question generation; words in common in place of its "
    "BERTScore",
    outputs=OUTPUTS,
)
def isg_graph(trial: Trial, *, alike: Share = 0.5) -> MetricScores:
    """The share of a row's questions that the model also wrote.

    Three numbers from 0 to 1, higher is better. ``isg_graph_structure`` is 1 when the
    blocks of the answer are those of the row. ``isg_graph_block`` and
    ``isg_graph_image`` are the shares of the row's questions with a matching written
    question. Questions match if they have the same subject and object (or picture), and
    if the F1 of their sets of words is at least ``alike``. A written question can match
    only one question of the row. The paper uses a BERTScore above 0.8 instead, so its
    numbers are not comparable with these. The answer is JSON in the form of the row's
    ``predict``. Any other text scores 0. A number is inapplicable if the row contains
    no questions for it. Evidence: the numbers of the row's questions that were
    ``missed``.

    Not measured: whether the model's other questions are good.

    Labels, for example: ``{"predict": {"structure": {"Answer": ["<gen_text1>"]},
    "block_qa": {"questions": []}, "image_qa": {"questions": []}}}``.
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

    expected, actual = _structure(trial.sample), _structure(answer)
    if expected:
        evidence = {"found": actual, "wanted": expected, **fault}
        scores[STRUCTURE] = Score(float(actual == expected), evidence=evidence)
    for output, label, keys in (
        (BLOCK, BLOCK_QUESTIONS, ("subject", "object")),
        (IMAGE, IMAGE_QUESTIONS, ("image",)),
    ):
        questions = _questions(trial.sample, label, keys)
        if questions:
            missed = _missed(questions, _questions(answer, label, keys), alike)
            share = 1 - len(missed) / len(questions)
            scores[output] = Score(share, evidence={"missed": missed, **fault})
    return scores


def _structure(sample: Sample) -> list[str]:
    """Returns the blocks of the answer, or no blocks if the row does not list them."""
    predict = predict_of(sample)
    structure = predict.get("structure", predict.get("structural"))
    if not isinstance(structure, dict):
        return []
    answer = structure.get("Answer")
    if not isinstance(answer, list | tuple):
        return []
    return list(map(str, answer))


def _questions(
    sample: Sample,
    label: str,
    keys: Sequence[str],
) -> list[ComparedQuestion]:
    """Returns a label's questions that contain words and name all their blocks."""
    questions: list[ComparedQuestion] = []
    for row in listed(predict_of(sample).get(label)):
        if isinstance(row, dict):
            blocks = tuple(str(row.get(key) or "") for key in keys)
            words = str(row.get("Question") or "")
            if words and all(blocks):
                questions.append(ComparedQuestion(blocks, words))
    return questions


def _missed(
    expected: Sequence[ComparedQuestion],
    written: Sequence[ComparedQuestion],
    alike: float,
) -> list[int]:
    """Returns the numbers of the expected questions that were not written.

    Equal questions are matched first. Then each other question is matched with the most
    similar question that is left.
    """
    equal = Counter(map(_folded, written))
    unmatched: list[int] = []
    for number, question in enumerate(map(_folded, expected)):
        if equal[question]:
            equal[question] -= 1
        else:
            unmatched.append(number)
    remaining: dict[tuple[str, ...], list[frozenset[str]]] = {}
    for blocks, words in equal.elements():
        remaining.setdefault(blocks, []).append(frozenset(words))
    missed: list[int] = []
    for number in unmatched:
        blocks, words = _folded(expected[number])
        word_set = frozenset(words)
        others = remaining.get(blocks, [])
        similarities: list[float] = []
        for other in others:
            shared = len(word_set & other)
            # The F1 of two sets of words. Without the 1, two empty sets would cause a
            # division by 0.
            similarities.append(2 * shared / max(len(word_set) + len(other), 1))
        if similarities and max(similarities) >= alike:
            del others[similarities.index(max(similarities))]
        else:
            missed.append(number)
    return missed


_Folded: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]


def _folded(question: ComparedQuestion) -> _Folded:
    """Returns the blocks of a question, and its words in lowercase."""
    words = _WORD.findall(question.words.casefold())
    return question.blocks, tuple(words)
