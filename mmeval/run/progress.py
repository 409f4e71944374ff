"""The progress of a run: counts of trials, notes about answers, and reports."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mmeval.dataset.bad_sample import BadSamples
from mmeval.findings.finding import Finding, Kind, Subject
from mmeval.media.parts import PartKind
from mmeval.records.response import ErrorInfo, Response
from mmeval.records.trial import Exchange, warnings_of
from mmeval.system.wording import shortened

MAX_KINDS = 100
"""Maximum number of distinct warnings that are counted separately."""
MAX_SHOWN = 3
LIMIT = "ended by the limit of tokens"
REFUSED = "the model refused; --refusals states whether such answers count"
MAX_WARNING_CHARS = 300

_DIGITS = re.compile(r"\d+")


@dataclass
class AnswerNotes:
    """Notes about a run's answers; each is the number of trials it applies to.

    The notes are not errors, and the trials are scored.
    """

    answered: int = 0
    cut_off: int = 0
    only_reasoning: int = 0
    """Number of trials whose answer contains only reasoning and was not cut off."""
    refused: int = 0
    """Number of trials with an answer that the model refused, in whole or in part."""
    unread: Counter[PartKind] = field(default_factory=Counter)
    """Number of trials with media that added no prompt tokens, by kind."""
    warned: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    """Number of trials by warning.

    Warnings that differ only in digits are counted under the first of these warnings.
    """
    _words: dict[str, str] = field(default_factory=dict)

    def add(self, exchanges: Sequence[Exchange]) -> None:
        """Counts the exchanges of an answered trial."""
        self.answered += 1
        is_cut_off = is_only_reasoning = is_refused = False
        kept: list[Exchange] = []
        unread: dict[PartKind, None] = {}
        for exchange in exchanges:
            response = exchange.response
            for kind in response.unread:
                unread[kind] = None
            if not response.is_refused:
                # warnings of a refusal would count it twice
                kept.append(exchange)
            if exchange.role != "model":
                continue
            is_cut_off = is_cut_off or response.finish_reason == "length"
            is_only_reasoning = is_only_reasoning or _is_only_reasoning(response)
            is_refused = is_refused or response.is_refused
        self.cut_off += is_cut_off
        self.only_reasoning += is_only_reasoning
        for kind in unread:
            self.unread[kind] += 1
        self.refused += is_refused
        warnings = warnings_of(kept)
        if warnings:
            self.warned += 1
            distinct: dict[str, None] = {}
            for text in warnings:
                words = self._first_wording(text)
                if words is not None:
                    distinct[words] = None
            self.kinds.update(list(distinct))

    def findings(self) -> Iterator[Finding]:
        """Yields a finding for each note and each of the most frequent warnings."""
        causes: tuple[tuple[Kind, int, str, str], ...] = (
            ("cut_off", self.cut_off, LIMIT, "--gen_kwargs max_gen_toks=N"),
            (
                "cut_off",
                self.only_reasoning,
                "only reasoning; --log_samples shows such answers",
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
        for part_kind, count in self.unread.most_common():
            yield Finding(
                "unsupported",
                Subject(role="model"),
                count,
                self.answered,
                cause=f"{part_kind} was sent, but added no prompt tokens by the "
                "server's count, so it was probably not read",
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

    def _first_wording(self, text: str) -> str | None:
        shape = _DIGITS.sub("0", text)
        if shape not in self._words and len(self._words) == MAX_KINDS:
            return None
        return self._words.setdefault(shape, text)


def _is_only_reasoning(response: Response) -> bool:
    """Returns True if an answer contains only hidden reasoning and was not cut off."""
    output = response.output
    if output is None or response.finish_reason != "stop" or not output.empty:
        return False
    return any(part.kind == "reasoning" and part.text for part in output.parts)


@dataclass
class RunTally:
    """Numbers of trials so far, by result."""

    kept: int = 0
    new: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)
    partial: Counter[str] = field(default_factory=Counter)
    """Number of trials for which some kinds were not requested, by these kinds."""
    reasons: dict[str, Counter[str]] = field(default_factory=dict)
    """The number of trials with each reason, by kind of failure."""
    bad: BadSamples = field(default_factory=BadSamples)
    """Samples that cannot be asked. Their trials count as failed."""
    answer_notes: AnswerNotes = field(default_factory=AnswerNotes)

    @property
    def made(self) -> int:
        """Number of trials that have ended, with or without an answer."""
        return self.kept + self.new + self.failed.total() + self.unsupported.total()

    def recall(self, error: ErrorInfo | None, left_out: Sequence[str]) -> None:
        """Counts a trial that a run folder has recorded."""
        if error is None:
            self.kept += 1
            if left_out:
                self.partial[", ".join(left_out)] += 1
        else:
            self.fail(error)

    def fail(self, error: ErrorInfo) -> None:
        """Counts a trial without an answer."""
        if error.kind == "unsupported":
            self.unsupported[error.message] += 1
        else:
            self.failed[error.kind] += 1
            reasons = self.reasons.setdefault(error.kind, Counter())
            if error.words in reasons or len(reasons) < MAX_KINDS:
                reasons[error.words] += 1


class Progress(Protocol):
    """Receives the progress of a run.

    - ``start``: number of all trials, and of trials kept from an earlier process
    - ``judging``: only judging remains, of ``total`` trials
    - ``judged``: a trial was judged; this may be called before ``judging``
    - ``costs``: a function that returns the US dollars spent, or None if no price is
      known
    - ``waiting``: the roles that all calls wait for; "" at the end of the outage
    - ``loading``: when loading begins, the model and None; when it ends, the model and
      the seconds that it took; if it fails, "" and None
    - ``tick``: some seconds have passed; a call shows that the run is alive
    """

    def start(self, total: int, kept: int) -> None: ...
    def advance(self, *, ok: bool) -> None: ...
    def judging(self, total: int) -> None: ...
    def judged(self) -> None: ...
    def costs(self, dollars: Callable[[], float | None]) -> None: ...
    def waiting(self, awaited: str) -> None: ...
    def loading(self, model: str, seconds: float | None) -> None: ...
    def note(self, text: str) -> None: ...
    def tick(self) -> None: ...
    def close(self) -> None: ...


def opening(
    *,
    kept: int,
    new: int,
    since: str = "",
    exact: bool = True,
    unaskable: int = 0,
    some_unaskable: bool = False,
    none_known: bool = False,
) -> str:
    """Returns the first line of a run, with the numbers of kept and missing answers.

    ``unaskable`` is the number of trials that cannot be asked, because the model does
    not support them or their samples are bad. ``exact`` is False if fewer answers may
    be requested, because tasks may share calls, and filters or the model's abilities
    may not be applied yet. ``some_unaskable`` is True if some of the first samples
    cannot be asked, ``none_known`` if none of them can.
    """
    when = f" from {since}" if since else ""
    facts = [f"answers kept: {kept:,}{when}"] if kept else []
    limit = "" if exact and not some_unaskable else "at most "
    facts.append(f"answers to ask: {limit}{new:,}" if new else "nothing to ask")
    if unaskable:
        facts.append(f"cannot be asked: {unaskable:,}")
    elif new and none_known:
        facts.append("none of the first samples can be asked")
    elif new and some_unaskable:
        facts.append("some samples cannot be asked")
    return "; ".join(facts)


def left_to_judge(count: int) -> str:
    """Returns the line for a run whose model finishes before its judge."""
    return f"the model is done; answers still to be judged: {count:,}"
