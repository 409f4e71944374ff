"""How far a run has come: what it counts, and what it reports while it goes on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mmeval.dataset.bad_sample import BadSamples
from mmeval.findings.finding import Finding, Kind, Subject
from mmeval.records.response import ErrorInfo, Response
from mmeval.records.trial import Exchange, warnings_of
from mmeval.system.wording import shortened

MAX_KINDS = 100
"""So many different warnings are counted each for itself; further ones count as
warnings alone."""
MAX_SHOWN = 3
LIMIT = "the limit of tokens ended it"
REFUSED = "the model refused; --refusals states whether such answers count"
MAX_WARNING_CHARS = 300

_DIGITS = re.compile(r"\d+")


@dataclass
class AnswerNotes:
    """Notes on a run's answers, in trials, whether asked now or kept.
    None of it is an error: the trials are scored as they are."""

    answered: int = 0
    cut_off: int = 0
    only_reasoning: int = 0
    """Trials with an answer that ended by itself and is empty beside its reasoning."""
    refused: int = 0
    """Trials with an answer that the model refused, in whole or in part."""
    warned: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    """Trials by warning; warnings that differ by digits alone are one, under the words
    that came first."""
    _words: dict[str, str] = field(default_factory=dict)

    def add(self, exchanges: Sequence[Exchange]) -> None:
        """The exchanges of one trial that has an answer."""
        self.answered += 1
        is_cut_off = is_only_reasoning = is_refused = False
        kept: list[Exchange] = []
        for exchange in exchanges:
            response = exchange.response
            if not response.is_refused:
                # what a service said when it refused is not a second fact
                kept.append(exchange)
            if exchange.role != "model":
                continue
            is_cut_off = is_cut_off or response.finish_reason == "length"
            is_only_reasoning = is_only_reasoning or _is_only_reasoning(response)
            is_refused = is_refused or response.is_refused
        self.cut_off += is_cut_off
        self.only_reasoning += is_only_reasoning
        self.refused += is_refused
        warnings = warnings_of(kept)
        if warnings:
            self.warned += 1
            known: dict[str, None] = {}
            for text in warnings:
                words = self._known(text)
                if words is not None:
                    known[words] = None
            self.kinds.update(list(known))

    def findings(self) -> Iterator[Finding]:
        """One for each thing, the most frequent warnings in their own words."""
        causes: tuple[tuple[Kind, int, str, str], ...] = (
            ("cut_off", self.cut_off, LIMIT, "--gen_kwargs max_gen_toks=N"),
            (
                "cut_off",
                self.only_reasoning,
                "empty beside reasoning; look at one with --log_samples",
                "--reasoning_tags OPEN,CLOSE --fresh",
            ),
            ("refused", self.refused, REFUSED, ""),
        )
        for kind, count, cause, remedy in causes:
            if count:
                subject = Subject(role="model")
                yield Finding(
                    kind, subject, count, self.answered, cause, remedy, "note"
                )
        for words, count in self.kinds.most_common(MAX_SHOWN):
            text = shortened(" ".join(words.split()), MAX_WARNING_CHARS)
            yield Finding(
                "plugin",
                Subject(role="model"),
                count,
                self.answered,
                cause=f"a warning: {text}",
                severity="note",
            )
        more = len(self.kinds) - MAX_SHOWN
        if more > 0:
            cause = "other warnings"
            yield Finding(
                "plugin",
                Subject(role="model"),
                more,
                cause=cause,
                remedy="--log_samples",
                severity="note",
            )

    def _known(self, text: str) -> str | None:
        shape = _DIGITS.sub("0", text)
        if shape not in self._words and len(self._words) == MAX_KINDS:
            return None
        return self._words.setdefault(shape, text)


def _is_only_reasoning(response: Response) -> bool:
    """Whether an answer that was not cut off holds nothing but hidden reasoning."""
    output = response.output
    if output is None or response.finish_reason != "stop" or not output.empty:
        return False
    return any(part.kind == "reasoning" and part.text for part in output.parts)


@dataclass
class RunTally:
    """What has happened so far, in trials."""

    kept: int = 0
    new: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)
    partial: Counter[str] = field(default_factory=Counter)
    """Trials asked without some wanted kinds, by those kinds, where the task allows
    it."""
    reasons: dict[str, Counter[str]] = field(default_factory=dict)
    """By kind of failure, how many trials have each reason."""
    bad: BadSamples = field(default_factory=BadSamples)
    """Samples that cannot be asked; their trials are among those that failed."""
    answer_notes: AnswerNotes = field(default_factory=AnswerNotes)

    @property
    def made(self) -> int:
        """Trials that came to an end, whatever end it was."""
        return self.kept + self.new + self.failed.total() + self.unsupported.total()

    def recall(self, error: ErrorInfo | None, left_out: Sequence[str]) -> None:
        """Count a trial that a run folder has recorded."""
        if error is None:
            self.kept += 1
            if left_out:
                self.partial[", ".join(left_out)] += 1
        else:
            self.fail(error)

    def fail(self, error: ErrorInfo) -> None:
        """Count a trial without an answer."""
        if error.kind == "unsupported":
            self.unsupported[error.message] += 1
        else:
            self.failed[error.kind] += 1
            reasons = self.reasons.setdefault(error.kind, Counter())
            if error.words in reasons or len(reasons) < MAX_KINDS:
                reasons[error.words] += 1


class Progress(Protocol):
    """Reports of a run; ``total`` counts trials, ``kept`` those of an earlier process.

    ``judging`` begins where nothing is left but to judge a number of trials; ``judged``
    is called for each, also before. ``costs`` hands over what gives the dollars spent
    so far, None without a price. ``waiting`` names the roles that every call waits for,
    "" when the outage is over. ``loading`` names the model that is loaded; the seconds
    that it took when it is, and no model when it cannot be.
    """

    def start(self, total: int, kept: int) -> None: ...
    def advance(self, *, ok: bool) -> None: ...
    def judging(self, total: int) -> None: ...
    def judged(self) -> None: ...
    def costs(self, dollars: Callable[[], float | None]) -> None: ...
    def waiting(self, awaited: str) -> None: ...
    def loading(self, model: str, seconds: float | None) -> None: ...
    def note(self, text: str) -> None: ...
    def close(self) -> None: ...


def opening(
    *,
    kept: int,
    new: int,
    since: str = "",
    exact: bool = True,
    unaskable: bool = False,
    none_known: bool = False,
) -> str:
    """The first line of a run: how many answers are kept, from when, and how many are
    to be asked.

    ``exact`` is False where fewer may be asked: a call may answer for several tasks, a
    filter has yet to choose. ``unaskable`` states that some of the first samples cannot
    be asked, ``none_known`` that none of them can.
    """
    when = f" from {since}" if since else ""
    facts = [f"answers kept: {kept:,}{when}"] if kept else []
    limit = "" if exact and not unaskable else "at most "
    facts.append(f"answers to ask: {limit}{new:,}" if new else "nothing to ask")
    if new and none_known:
        facts.append("none of the first samples can be asked")
    elif new and unaskable:
        facts.append("some samples cannot be asked")
    return "; ".join(facts)


def left_to_judge(count: int) -> str:
    """The line of a run whose model is done before its judge."""
    return f"the model is done; answers still to be judged: {count:,}"
