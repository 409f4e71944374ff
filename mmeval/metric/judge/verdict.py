"""Asks judges, and reads their replies as typed verdicts.

A judged metric declares the form of a reply, asks questions, and gets verdicts:

    FORM = ReplyForm((Text("reason"), YesNo("polite", unsure=True)))

    def polite(trial, judge, *, prompt: Annotated[str | Mapping[str, Any], JudgePrompt("answer")] = "polite"):
        values = {"answer": shown(trial.output)}
        (verdict,) = yield from ask_verdicts([Question(judge, FORM, prompt, values)])
        if verdict.unknown("polite"):
            return verdict.unscored("polite", bounds=(0, 1))
        return Score(float(verdict.values["polite"]), evidence=verdict.evidence)

The reply is a JSON object, with or without text around it
(:mod:`mmeval.metric.judge.json_reply`). If a reply does not fit the form, the question
is asked again, at most ``MAX_DRAWS`` times. No value is guessed. The verdict is then
*given*, *not sure* (if the form allows it), or *lost*, with the reason.
"""  # noqa: E501

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from mmeval.errors import UsageError
from mmeval.media.parts import Interleaved, text_part
from mmeval.metric.judge.form import Choice, ReplyForm, Text, Vote
from mmeval.metric.judge.json_reply import ReplyError
from mmeval.program.calls import Call, Program, Reply, Role, ask_all, excerpt
from mmeval.program.prompt_file import PromptFile, PromptValue
from mmeval.records.response import HOPELESS, ErrorInfo, ErrorKind
from mmeval.records.score import UNUSED_REPLY, Cause, Score
from mmeval.system.arguments import OneOrMore

if TYPE_CHECKING:
    from mmeval.program.template import Value


Combine = Literal["majority", "mean", "median"]
"""How repeated verdicts on a question become one."""
Repeats = OneOrMore
"""The type of a switch that sets how many times each question is asked."""
UNREAD = "unread"
"""The evidence key for the number of unreadable replies that are scored nevertheless.
This key may be at any depth of a metric's evidence."""


@dataclass(frozen=True)
class Question:
    """One question to a judge: a prompt with named values, and the form of the reply.

    ``prompt`` is the value of a switch that
    :class:`mmeval.program.prompt_file.JudgePrompt` marks.
    """

    role: Role
    form: ReplyForm
    prompt: PromptValue
    values: Mapping[str, Value]

    def call(self) -> Call:
        """Returns the call that asks the judge.

        Raises PromptError if the prompt is unbound or cannot be rendered with the
        values.
        """
        values = {**self.values, "form": self.form.asked}
        prompt = PromptFile.of(self.prompt)
        messages = prompt.messages(values)
        params = prompt.params.overlaid(self.role.params)
        call = self.role.send(messages, params=params, accept=self.form.fault)
        # a released prompt describes its own form of reply
        schema = None if prompt.released else self.form.schema
        return replace(call, example=self.form.example, schema=schema)


@dataclass(frozen=True)
class Verdict:
    """The verdict of a judge, from one or several votes.

    ``values`` contains the value of each field, or None if the judge is not sure. It is
    empty if the verdict is lost. ``lost`` is the reason for a lost verdict. ``spread``
    is the disagreement of the votes, by field. It is 0 if they agree. For ``mean`` and
    ``median``, the spread is the sample standard deviation of the numbers. For
    ``majority``, it is the share of votes for other values.
    """

    values: Vote = field(default_factory=dict)
    lost: str = ""
    votes: tuple[Vote, ...] = ()
    spread: Mapping[str, float] = field(default_factory=dict)
    hopeless: bool = False
    """True if asking again cannot help, because the request itself fails."""
    replied: bool = False
    """True if the judge replied each time, but the reply was unreadable or a
    refusal."""
    refused: bool = False
    """True if all missing votes of a lost verdict are refusals."""
    unused: str = ""
    """The beginning of the first unusable reply of a lost verdict."""

    @property
    def evidence(self) -> dict[str, Any]:
        """Evidence for a score, as JSON.

        The evidence contains the values. If there are several votes, it also contains
        the votes and their spread. If a reply was unusable, it also contains the start
        of that reply.
        """
        evidence = dict(self.values)
        if len(self.votes) > 1:
            evidence["votes"] = [dict(vote) for vote in self.votes]
            evidence["spread"] = dict(self.spread)
        if self.unused:
            evidence[UNUSED_REPLY] = self.unused
        return evidence

    @property
    def loss(self) -> dict[str, str]:
        """Evidence for a lost verdict: the reason and the start of the reply.

        The mapping is empty for any other verdict.
        """
        evidence = {"lost": self.lost, UNUSED_REPLY: self.unused}
        return {key: text for key, text in evidence.items() if text}

    def unknown(self, name: str) -> str:
        """Returns why a field has no value.

        The string is empty if the field has a value.
        """
        if self.lost:
            return self.lost
        return "" if self.values.get(name) is not None else "the judge is not sure"

    @property
    def cause(self) -> Cause:
        """The cause of a missing value, which decides whether asking again can help."""
        if not self.lost:
            return "unsure"
        if self.refused:
            return "refused"
        return "final" if self.hopeless else "lost"

    def unscored(self, name: str, bounds: tuple[float, float]) -> Score:
        """Returns an unscored score for a field without a value.

        ``bounds`` are the lowest and the highest possible value.
        """
        return Score(
            status="unscored",
            reason=self.unknown(name),
            evidence=self.evidence,
            bounds=bounds,
            cause=self.cause,
        )


def ask_verdicts(
    questions: Sequence[Question], *, repeats: int = 1, combine: Combine = "majority"
) -> Program[list[Verdict]]:
    """Asks every question ``repeats`` times, all at once.

    Returns one verdict for each question, in order.
    """
    if repeats < 1:
        raise UsageError(f"repeats={repeats}: it must be 1 or more")
    calls: list[Call] = []
    for question in questions:
        calls += [question.call()] * repeats
    replies = yield from ask_all(calls)
    verdicts = []
    for place, question in enumerate(questions):
        answers = replies[place * repeats : (place + 1) * repeats]
        verdicts.append(combined(question.form, answers, combine))
    return verdicts


def combined(
    form: ReplyForm, replies: Sequence[Reply], combine: Combine = "majority"
) -> Verdict:
    """Combines the replies to one question into a verdict.

    With ``majority``, a value must have more than half of all replies. If there is no
    such value, as in a tie, the verdict is not sure, or lost if a reply is lost too.
    ``mean`` and ``median`` need every vote, and are computed from numbers, where yes is
    1 and no is 0. If a vote is lost, the verdict is lost. If a vote is not sure, the
    verdict is not sure.
    """
    votes: list[Vote] = []
    lost, unused, kinds = "", "", set[ErrorKind]()
    for reply in replies:
        error = reply.response.error
        try:
            if error is None:
                votes.append(form.read_reply(reply.response))
        except ReplyError as fault:  # The call had no ``accept``.
            kind: ErrorKind = "refused" if reply.response.is_refused else "bad_reply"
            error = ErrorInfo(kind, str(fault), reply=excerpt(reply.response))
        if error is not None:
            lost = lost or f"{error.kind}: {error.message}"
            unused = unused or error.reply
            kinds.add(error.kind)
    lost_verdict = Verdict(
        lost=lost,
        votes=tuple(votes),
        hopeless=kinds <= HOPELESS,
        replied=bool(kinds) and kinds <= {"bad_reply", "refused"},
        refused=kinds == {"refused"},
        unused=unused,
    )
    values: dict[str, Any] = {}
    spread: dict[str, float] = {}
    for reply_field in form.fields:
        if isinstance(reply_field, Text):
            continue
        voted = [vote[reply_field.name] for vote in votes if reply_field.name in vote]
        numeric = combine != "majority" and not isinstance(reply_field, Choice)
        agreed = _centre(voted, combine) if numeric else _majority(voted, len(replies))
        if lost and (numeric or agreed is None):
            return lost_verdict
        if reply_field.optional and not voted:
            continue
        values[reply_field.name] = agreed
        spread[reply_field.name] = _spread(voted, agreed, numeric=numeric)
    if lost and not votes:
        return lost_verdict
    words = _words(form, votes, values)
    return Verdict({**words, **values}, votes=tuple(votes), spread=spread)


def shown(content: Interleaved | None, *, media: bool = True) -> Interleaved:
    """Returns an answer as it is shown to a judge, without hidden reasoning.

    Without ``media``, the answer is reduced to its text with placeholders.
    """
    if content is None:
        return Interleaved()
    if not media:
        return Interleaved((text_part(content.rendered()),))
    parts = [part for part in content.parts if part.kind != "reasoning"]
    return Interleaved(tuple(parts))


def _words(
    form: ReplyForm,
    votes: Sequence[Vote],
    agreed: Vote,
) -> Vote:
    """Returns the texts of the first vote that agrees with the verdict.

    A text that none of these votes contains is taken from the first other vote that
    contains it.
    """
    agreeing: list[Vote] = []
    others: list[Vote] = []
    for vote in votes:
        differs = any(vote.get(name) != value for name, value in agreed.items())
        (others if differs else agreeing).append(vote)
    words = {}
    for reply_field in form.fields:
        if not isinstance(reply_field, Text):
            continue
        for vote in (*agreeing, *others):
            if reply_field.name in vote:
                words[reply_field.name] = vote[reply_field.name]
                break
    return {name: text for name, text in words.items() if text is not None}


def _centre(values: Sequence[Any], combine: Combine) -> float | None:
    if not values or None in values:
        return None
    centre = statistics.fmean if combine == "mean" else statistics.median
    return float(centre(values))


def _majority(values: Sequence[Any], reply_count: int) -> Any:
    for value, count in Counter(values).most_common(1):
        if 2 * count > reply_count:
            return value
    return None


def _spread(
    values: Sequence[Any],
    agreed: Any,
    *,
    numeric: bool,
) -> float:
    if numeric:
        numbers = [value for value in values if value is not None]
        return statistics.stdev(numbers) if len(numbers) > 1 else 0.0
    others = [value for value in values if value != agreed]
    return len(others) / len(values) if values else 0.0
