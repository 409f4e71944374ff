"""Questions to a judge about pairs of blocks, which are texts or pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from mmeval.media import Interleaved, Part
from mmeval.metric.judge import UNREAD, Question, ReplyForm, Verdict, ask_verdicts
from mmeval.metrics.judged.isg.rows import (
    BlockQuestion,
    block_questions,
    is_shown,
    tokens_of,
)
from mmeval.metrics.judged.material import Material
from mmeval.metrics.judged.reading import Lost, ReadForm, is_unknown, is_unread
from mmeval.program import JudgePrompt, Program, PromptFile, PromptValue, Role, Value
from mmeval.records import Trial

SCORED = "scored"
"""The value of a prompt that is set if the reply is a score, not yes or no."""
LikePrompt = Annotated[
    PromptValue, JudgePrompt("first", "second", "question", SCORED, form=False)
]
TextImagePrompt = Annotated[
    PromptValue, JudgePrompt("text", "picture", "question", SCORED, form=False)
]


class PairPrompts(NamedTuple):
    """The prompts for two pictures, for two texts, and for a picture with a text."""

    images: PromptValue
    texts: PromptValue
    text_image: PromptValue


class PairVerdicts(NamedTuple):
    """The verdicts by question number, and why the other questions were skipped.

    ``yes_no`` are the verdicts on the same questions with a reply of yes or no, which
    the score does not use.
    """

    by_number: Mapping[int, Verdict]
    skipped: Mapping[int, str]
    yes_no: Mapping[int, Verdict]

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
        if self.yes_no:
            evidence["yes_no"] = {
                str(number): verdict_evidence(verdict)
                for number, verdict in self.yes_no.items()
            }
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
    trial: Trial,
    judge: Role,
    form: ReadForm,
    prompts: PairPrompts,
    *,
    yes_no: ReplyForm | None = None,
) -> Program[PairVerdicts]:
    """Asks all questions whose two blocks exist, all at the same time.

    With ``yes_no``, a released prompt is then also asked for yes or no about the same
    blocks.
    """
    blocks = tokens_of(trial)
    scored: dict[int, Question] = {}
    answered: dict[int, Question] = {}
    skipped: dict[int, str] = {}
    for row in block_questions(trial.sample):
        if fault := _fault(row, blocks):
            skipped[row.number] = fault
            continue
        question = _question(row, blocks, judge, form, prompts)
        scored[row.number] = question
        if yes_no is not None and _is_released(question):
            answered[row.number] = _asked_again(question, row, blocks, yes_no)
    verdicts = yield from ask_verdicts(_in_turn(scored, answered))
    by_number: dict[int, Verdict] = {}
    yes_no_by_number: dict[int, Verdict] = {}
    for number in scored:
        by_number[number] = verdicts.pop(0)
        if number in answered:
            yes_no_by_number[number] = verdicts.pop(0)
    return PairVerdicts(by_number, skipped, yes_no_by_number)


def _in_turn(
    scored: Mapping[int, Question], answered: Mapping[int, Question]
) -> list[Question]:
    """Returns the questions in the order of the released script."""
    questions: list[Question] = []
    for number, question in scored.items():
        questions.append(question)
        if number in answered:
            questions.append(answered[number])
    return questions


def _is_released(question: Question) -> bool:
    return bool(PromptFile.of(question.prompt).released)


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
    form: ReadForm,
    prompts: PairPrompts,
) -> Question:
    first, second = blocks[row.subject], blocks[row.object]
    values: Material
    if first.kind == second.kind:
        prompt = prompts.texts if first.kind == "text" else prompts.images
        values = {"first": _shown(first), "second": _shown(second)}
    else:
        prompt = prompts.text_image
        text, picture = first, second
        if first.kind == "image":
            text, picture = second, first
        values = {"text": _shown(text), "picture": _shown(picture)}
    question = Question(judge, form, prompt, values)
    words = _named(row, blocks)
    if form.reading == "official" and _is_released(question):
        words = _named_as_released(row, blocks)
    return replace(question, values={**values, "question": words, SCORED: "yes"})


def _asked_again(
    question: Question,
    row: BlockQuestion,
    blocks: Mapping[str, Part],
    form: ReplyForm,
) -> Question:
    """Returns the same question with a reply of yes or no.

    Official oddity: the script changes the words of the question a second time.
    """
    asked = row._replace(words=str(question.values["question"]))
    words = _named_as_released(asked, blocks)
    values = {**question.values, "question": words, SCORED: ""}
    return replace(question, form=form, values=values)


def _shown(part: Part) -> Value:
    if part.kind == "text":
        return part.text or ""
    return Interleaved((part,))


def _named(row: BlockQuestion, blocks: Mapping[str, Part]) -> str:
    """Returns the question, in which texts have the names of the prompt."""
    first, second = blocks[row.subject], blocks[row.object]
    if first.kind == second.kind == "text":
        words = row.words.replace(row.subject, "`Text 1`")
        return words.replace(row.object, "`Text 2`")
    words = row.words
    for token, part in ((row.subject, first), (row.object, second)):
        if part.kind == "text":
            words = words.replace(token, "`Text`")
    return words


def _named_as_released(row: BlockQuestion, blocks: Mapping[str, Part]) -> str:
    """Returns the question as the released script changes it.

    Official oddity: beside a picture, the script looks for the words of the text and
    not for its token, so the token remains.
    """
    first, second = blocks[row.subject], blocks[row.object]
    if first.kind == second.kind == "text":
        words = row.words.replace(row.subject, " `Text 1` ")
        return words.replace(row.object, " `Text 2` ")
    words = row.words
    for part in (first, second):
        if part.kind == "text":
            words = words.replace(part.text or "", " `Text` ")
    return words
