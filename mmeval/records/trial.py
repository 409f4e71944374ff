"""A trial: one answer of the model to one sample, with its calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mmeval.media.parts import Interleaved, PartKind
from mmeval.records.digests import content_digest
from mmeval.records.response import ErrorInfo, Response, worst_finish
from mmeval.records.sample import Sample


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call and its reply.

    ``path`` is the position of the call in the program, such as ``0`` or ``2.1``.
    """

    path: str
    role: str
    request_digest: str
    response: Response


@dataclass(frozen=True, slots=True)
class Trial:
    """One answer of the model to a sample: the exchanges in order, and their outcome.

    Exactly one of ``output`` and ``error`` is set. ``left_out`` are the kinds of part
    that the task requires but the model cannot generate (``partial_output``). These
    kinds were not requested. Metrics score trials.
    """

    sample: Sample
    repeat: int = 0
    exchanges: tuple[Exchange, ...] = ()
    output: Interleaved | None = None
    error: ErrorInfo | None = None
    left_out: tuple[PartKind, ...] = ()

    @property
    def digest(self) -> str:
        """The digest of sample, requests and answers, on which scores depend."""
        names = [self.sample.digest, str(self.repeat)]
        answers: list[tuple[str, Interleaved]] = []
        is_answer = False
        for exchange in self.exchanges:
            response = exchange.response
            # A failed request has no answer, so the mark distinguishes it.
            mark = "" if response.error is None else "!"
            names.append(f"{exchange.request_digest}{mark}")
            if response.output is not None:
                answers.append(("answer", response.output))
                is_answer = is_answer or response.output is self.output
        if self.output is not None and not is_answer:
            answers.append(("output", self.output))
        for kind in self.left_out:
            names.append(f"-{kind}")
        return content_digest("/".join(names).encode(), answers)


def warnings_of(exchanges: Sequence[Exchange]) -> list[str]:
    """Returns the warnings of all exchanges of a trial, without duplicates."""
    warnings: dict[str, None] = {}
    for exchange in exchanges:
        for text in exchange.response.warnings:
            warnings[text] = None
    return list(warnings)


def finish_reason(trial: Trial) -> str | None:
    """Returns how the model's answer ended.

    Returns None for a failed trial without a cut-off reply.
    """
    ended = worst_finish(
        exchange.response.finish_reason
        for exchange in trial.exchanges
        if exchange.role == "model"
    )
    return None if ended == "stop" and trial.error is not None else ended


def is_refused(trial: Trial) -> bool:
    """Returns True if the model refused to answer, in whole or in part."""
    return trial.error is None and finish_reason(trial) == "refused"


def is_only_answer(trial: Trial) -> bool:
    """Returns True if the output of a trial is the answer to its only call."""
    exchanges = trial.exchanges
    return len(exchanges) == 1 and trial.output is exchanges[0].response.output
