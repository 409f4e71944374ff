"""Questions about pairs of blocks: how each is put to a judge, by the kinds of its
blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from mmeval.media import Interleaved, Part
from mmeval.metric.judge import UNREAD, Question, ReplyForm, Verdict, ask_verdicts
from mmeval.metrics.judged.isg.rows import (
    BlockQuestion,
    block_questions,
    is_shown,
    tokens_of,
)
from mmeval.metrics.judged.reading import Lost, is_unknown, is_unread
from mmeval.program import JudgePrompt, Program, Role, Value, Written
from mmeval.records import Trial

LikePrompt = Annotated[Written, JudgePrompt("first", "second", "question", "scored")]
TextImagePrompt = Annotated[
    Written, JudgePrompt("text", "picture", "question", "scored")
]


class PairPrompts(NamedTuple):
    """The prompts for two pictures, two texts, and one of each."""

    images: Written
    texts: Written
    text_image: Written


class PairVerdicts(NamedTuple):
    """The verdicts by the number of their question, and why the others were not
    asked."""

    given: Mapping[int, Verdict]
    unasked: Mapping[int, str]

    def unknown(self, lost: Lost) -> list[Verdict]:
        """Those of which nothing is known, and which do not count as wrong."""
        return [verdict for verdict in self.given.values() if is_unknown(verdict, lost)]

    def evidence(self, lost: Lost) -> dict[str, Any]:
        """The numbers of the questions that were asked, their verdicts, and why the
        others were not."""
        verdicts = {
            str(number): said(verdict) for number, verdict in self.given.items()
        }
        evidence: dict[str, Any] = {"asked": list(self.given), "verdicts": verdicts}
        if self.unasked:
            not_asked = {str(number): why for number, why in self.unasked.items()}
            evidence["not_asked"] = not_asked
        unread = sum(is_unread(verdict, lost) for verdict in self.given.values())
        if unread:
            evidence[UNREAD] = unread
        return evidence


def is_unfit(verdict: Verdict) -> bool:
    """Official oddity: whether a value has a type that spoils the whole sample."""
    return any(vote.get("remark") == "unfit" for vote in verdict.votes)


def said(verdict: Verdict) -> dict[str, Any]:
    """A verdict for evidence: what the judge said, or why nothing is known of it."""
    (vote,) = verdict.votes or ({},)
    return {**vote, **verdict.loss}


def ask_pairs(
    trial: Trial, judge: Role, form: ReplyForm, prompts: PairPrompts
) -> Program[PairVerdicts]:
    """Ask every question about two blocks that there are, all at the same time."""
    blocks = tokens_of(trial)
    asked: dict[int, Question] = {}
    unasked: dict[int, str] = {}
    for question in block_questions(trial.sample):
        if fault := _fault(question, blocks):
            unasked[question.number] = fault
        else:
            asked[question.number] = _put(question, blocks, judge, form, prompts)
    verdicts = yield from ask_verdicts(list(asked.values()))
    return PairVerdicts(dict(zip(asked, verdicts, strict=True)), unasked)


def _fault(question: BlockQuestion, blocks: Mapping[str, Part]) -> str:
    for name, value in (
        ("subject", question.subject),
        ("object", question.object),
        ("Question", question.words),
    ):
        if not value:
            return f"it has no {name}"
    for token in (question.subject, question.object):
        if token not in blocks:
            return f"{token:.40} is no block"
        if not is_shown(blocks[token]):
            return f"{token} holds no picture"
    return ""


def _put(
    question: BlockQuestion,
    blocks: Mapping[str, Part],
    judge: Role,
    form: ReplyForm,
    prompts: PairPrompts,
) -> Question:
    first, second = blocks[question.subject], blocks[question.object]
    shown: list[Value] = []
    for part in (first, second):
        if part.kind == "text":
            shown.append(part.text or "")
        else:
            shown.append(Interleaved((part,)))
    words = question.words
    if first.kind != second.kind:
        if first.kind == "image":
            picture, text = shown
            words = words.replace(question.object, "`Text`")
        else:
            text, picture = shown
            words = words.replace(question.subject, "`Text`")
        prompt = prompts.text_image
        values = {"text": text, "picture": picture}
    else:
        prompt = prompts.images
        if first.kind == "text":
            prompt = prompts.texts
            # The names by which the two texts are shown.
            names = {question.subject: "`Text 1`", question.object: "`Text 2`"}
            for token, name in names.items():
                words = words.replace(token, name)
        values = {"first": shown[0], "second": shown[1]}
    values |= {"question": words, "scored": "yes"}
    return Question(judge, form, prompt, values)
