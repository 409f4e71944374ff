"""Questions to a judge about pairs of blocks, which are texts or pictures."""

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
from mmeval.program import JudgePrompt, Program, PromptValue, Role, Value
from mmeval.records import Trial

LikePrompt = Annotated[
    PromptValue, JudgePrompt("first", "second", "question", "scored")
]
TextImagePrompt = Annotated[
    PromptValue, JudgePrompt("text", "picture", "question", "scored")
]


class PairPrompts(NamedTuple):
    """The prompts for two pictures, for two texts, and for a picture with a text."""

    images: PromptValue
    texts: PromptValue
    text_image: PromptValue


class PairVerdicts(NamedTuple):
    """The verdicts by question number, and why the other questions were skipped."""

    by_number: Mapping[int, Verdict]
    skipped: Mapping[int, str]

    def unknown(self, lost: Lost) -> list[Verdict]:
        """Returns the verdicts that are missing and do not count as wrong."""
        verdicts = self.by_number.values()
        return [verdict for verdict in verdicts if is_unknown(verdict, lost)]

    def evidence(self, lost: Lost) -> dict[str, Any]:
        """Returns the asked questions with their verdicts.

        The evidence also states why the other questions were skipped.
        """
        verdicts = {}
        for number, verdict in self.by_number.items():
            verdicts[str(number)] = verdict_evidence(verdict)
        evidence: dict[str, Any] = {"asked": list(self.by_number), "verdicts": verdicts}
        if self.skipped:
            skipped = {str(number): reason for number, reason in self.skipped.items()}
            evidence["not_asked"] = skipped
        unread = sum(is_unread(verdict, lost) for verdict in self.by_number.values())
        if unread:
            evidence[UNREAD] = unread
        return evidence


def is_unfit(verdict: Verdict) -> bool:
    """Returns True if a value of a wrong type decides the score of the whole sample.

    This is an official oddity.
    """
    return any(vote.get("remark") == "unfit" for vote in verdict.votes)


def verdict_evidence(verdict: Verdict) -> dict[str, Any]:
    """Returns the judge's reply for the evidence, or why the verdict is missing."""
    (vote,) = verdict.votes or ({},)
    return {**vote, **verdict.loss}


def ask_pairs(
    trial: Trial, judge: Role, form: ReplyForm, prompts: PairPrompts
) -> Program[PairVerdicts]:
    """Asks all questions whose two blocks exist, all at the same time."""
    blocks = tokens_of(trial)
    questions: dict[int, Question] = {}
    skipped: dict[int, str] = {}
    for row in block_questions(trial.sample):
        if fault := _fault(row, blocks):
            skipped[row.number] = fault
        else:
            questions[row.number] = _question(row, blocks, judge, form, prompts)
    verdicts = yield from ask_verdicts(list(questions.values()))
    return PairVerdicts(dict(zip(questions, verdicts, strict=True)), skipped)


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
            return f"{token:.40} is not a block of the answer or the question"
        if not is_shown(blocks[token]):
            return f"the file of {token} is not a picture"
    return ""


def _question(
    row: BlockQuestion,
    blocks: Mapping[str, Part],
    judge: Role,
    form: ReplyForm,
    prompts: PairPrompts,
) -> Question:
    first, second = blocks[row.subject], blocks[row.object]
    contents: list[Value] = []
    for part in (first, second):
        if part.kind == "text":
            contents.append(part.text or "")
        else:
            contents.append(Interleaved((part,)))
    words = row.words
    if first.kind != second.kind:
        if first.kind == "image":
            picture, text = contents
            words = words.replace(row.object, "`Text`")
        else:
            text, picture = contents
            words = words.replace(row.subject, "`Text`")
        prompt = prompts.text_image
        values = {"text": text, "picture": picture}
    else:
        prompt = prompts.images
        if first.kind == "text":
            prompt = prompts.texts
            # The prompt calls the two texts by these names.
            names = {row.subject: "`Text 1`", row.object: "`Text 2`"}
            for token, name in names.items():
                words = words.replace(token, name)
        values = {"first": contents[0], "second": contents[1]}
    values |= {"question": words, "scored": "yes"}
    return Question(judge, form, prompt, values)
