"""Asks judges and reads their replies as typed verdicts.

A judged metric describes the reply that it wants, asks, and gets verdicts:

    FORM = ReplyForm((Text("reason"), YesNo("polite", unsure=True)))

    def polite(trial, judge, *, prompt: Annotated[str | Mapping[str, Any], JudgePrompt("answer")] = "polite"):
        values = {"answer": shown(trial.output)}
        (verdict,) = yield from ask_verdicts([Question(judge, FORM, prompt, values)])
        if verdict.unknown("polite"):
            return verdict.unscored("polite", bounds=(0, 1))
        return Score(float(verdict.values["polite"]), evidence=verdict.evidence)

The reply is a JSON object, with or without text around it
(:mod:`mmeval.metric.judge.json_reply`). A reply that does not fit the form is asked for again,
``JUDGE_TRIES`` times in all, and never guessed. A verdict is then *given*, *not sure*
(where the form allows it), or *lost*, with the reason.
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
from mmeval.program.prompt_file import PromptFile, Written
from mmeval.records.response import HOPELESS, ErrorInfo, ErrorKind
from mmeval.records.score import UNUSED_REPLY, Cause, Score
from mmeval.system.arguments import OneOrMore

if TYPE_CHECKING:
    from mmeval.program.template import Value


Combine = Literal["majority", "mean", "median"]
Repeats = OneOrMore
"""A switch for how often each question is asked."""
UNREAD = "unread"
"""The key in a metric's evidence, at any depth, for the number of unreadable replies
that count all the same."""


@dataclass(frozen=True)
class Question:
    """One question to a judge: a prompt over named values, and the form of its reply.

    ``prompt`` is the value of a switch that
    :class:`mmeval.program.prompt_file.JudgePrompt` marks.
    """

    role: Role
    form: ReplyForm
    prompt: Written
    values: Mapping[str, Value]

    def call(self) -> Call:
        """Raises PromptError for an unbound prompt, or values that it cannot be made
        of."""
        values = {**self.values, "form": self.form.asked}
        messages = PromptFile.of(self.prompt).messages(values)
        call = self.role.send(messages, accept=self.form.fault)
        return replace(call, example=self.form.example)


@dataclass(frozen=True)
class Verdict:
    """The verdict of a judge, over one or several votes.

    ``values`` has a value by field, and None for a field of which the judge is not
    sure; it is empty when the verdict is ``lost`` (the reason). ``spread`` is by field
    how much the votes differ, 0 when they agree: the sample standard deviation of
    numbers for ``mean`` and ``median``, the share that is not the majority's for
    ``majority``.
    """

    values: Vote = field(default_factory=dict)
    lost: str = ""
    votes: tuple[Vote, ...] = ()
    spread: Mapping[str, float] = field(default_factory=dict)
    hopeless: bool = False
    """Whether a lost verdict will be lost again: the judge refuses the question
    itself."""
    replied: bool = False
    """Whether a lost verdict had all its replies, none of which could be used. A
    refusal is such a reply."""
    refused: bool = False
    """Whether the judge refused every reply that a lost verdict lacks."""
    unused: str = ""
    """The beginning of the first reply that could not be used, of a lost verdict."""

    @property
    def evidence(self) -> dict[str, Any]:
        """For people: the values, the votes with their spread where there are several,
        and the reply for which the verdict is lost."""
        evidence = dict(self.values)
        if len(self.votes) > 1:
            evidence["votes"] = [dict(vote) for vote in self.votes]
            evidence["spread"] = dict(self.spread)
        if self.unused:
            evidence[UNUSED_REPLY] = self.unused
        return evidence

    @property
    def loss(self) -> dict[str, str]:
        """For evidence: why the verdict is lost, with the reply; empty if it is not."""
        found = {"lost": self.lost, UNUSED_REPLY: self.unused}
        return {key: text for key, text in found.items() if text}

    def unknown(self, name: str) -> str:
        """Why a field has no value; empty when it has one."""
        if self.lost:
            return self.lost
        return "" if self.values.get(name) is not None else "the judge is not sure"

    @property
    def cause(self) -> Cause:
        """Whether asking again can help a field without a value."""
        if not self.lost:
            return "unsure"
        if self.refused:
            return "refused"
        return "final" if self.hopeless else "lost"

    def unscored(self, name: str, bounds: tuple[float, float]) -> Score:
        """The score where a field has no value; ``bounds`` are those that it could
        have."""
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
    """Ask every question ``repeats`` times at once; one verdict each, in their
    order."""
    if repeats < 1:
        raise UsageError(f"repeats={repeats}: a judge is asked once at least")
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
    """The verdict of some replies to one question.

    ``majority``: the value that more than half of the replies give; without one, ties
    among them, the judge is not sure. A lost reply is a vote for nothing: the others
    may be a majority without it, else the verdict is lost. ``mean`` and ``median`` (of
    numbers, and of yes as 1 and no as 0) need every vote: one that is lost loses the
    verdict, one that is not sure makes it not sure.
    """
    votes: list[Vote] = []
    lost, unused, kinds = "", "", set[ErrorKind]()
    for reply in replies:
        error = reply.response.error
        try:
            if error is None:
                votes.append(form.read_reply(reply.response))
        except ReplyError as fault:  # the program ran without ``accept``
            kind: ErrorKind = "refused" if reply.response.is_refused else "bad_reply"
            error = ErrorInfo(kind, str(fault), reply=excerpt(reply.response))
        if error is not None:
            lost = lost or f"{error.kind}: {error.message}"
            unused = unused or error.reply
            kinds.add(error.kind)
    gone = Verdict(
        lost=lost,
        votes=tuple(votes),
        hopeless=kinds <= HOPELESS,
        replied=bool(kinds) and kinds <= {"bad_reply", "refused"},
        refused=kinds == {"refused"},
        unused=unused,
    )
    values: dict[str, Any] = {}
    spread: dict[str, float] = {}
    for one in form.fields:
        if isinstance(one, Text):
            continue
        given = [vote[one.name] for vote in votes if one.name in vote]
        numeric = combine != "majority" and not isinstance(one, Choice)
        agreed = _centre(given, combine) if numeric else _majority(given, len(replies))
        if lost and (numeric or agreed is None):
            return gone
        if one.optional and not given:
            continue
        values[one.name] = agreed
        spread[one.name] = _spread(given, agreed, numeric=numeric)
    if lost and not votes:
        return gone
    words = _words(form, votes, values)
    return Verdict({**words, **values}, votes=tuple(votes), spread=spread)


def shown(content: Interleaved | None, *, media: bool = True) -> Interleaved:
    """An answer for a judge, without hidden reasoning; placeholders if not
    ``media``."""
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
    """The judge's words: of the first vote for the agreed values, else the first."""
    agreeing: list[Vote] = []
    others: list[Vote] = []
    for vote in votes:
        differs = any(vote.get(name) != value for name, value in agreed.items())
        (others if differs else agreeing).append(vote)
    words = {}
    for one in form.fields:
        if not isinstance(one, Text):
            continue
        for vote in (*agreeing, *others):
            if one.name in vote:
                words[one.name] = vote[one.name]
                break
    return {name: text for name, text in words.items() if text is not None}


def _centre(given: Sequence[Any], combine: Combine) -> float | None:
    if not given or None in given:
        return None
    centre = statistics.fmean if combine == "mean" else statistics.median
    return float(centre(given))


def _majority(given: Sequence[Any], asked: int) -> Any:
    for value, count in Counter(given).most_common(1):
        if 2 * count > asked:
            return value
    return None


def _spread(
    given: Sequence[Any],
    agreed: Any,
    *,
    numeric: bool,
) -> float:
    if numeric:
        sure = [value for value in given if value is not None]
        return statistics.stdev(sure) if len(sure) > 1 else 0.0
    others = [value for value in given if value != agreed]
    return len(others) / len(given) if given else 0.0
