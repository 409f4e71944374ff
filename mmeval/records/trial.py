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
        answers = [
            ("answer", e.response.output)
            for e in self.exchanges
            if e.response.output is not None
        ]
        if self.output is not None and not any(
            self.output is answer for _, answer in answers
        ):
            answers.append(("output", self.output))
        requests = [
            # A failed request has no answer, so the mark distinguishes it.
            e.request_digest if e.response.error is None else f"{e.request_digest}!"
            for e in self.exchanges
        ]
        kinds = [f"-{kind}" for kind in self.left_out]
        return content_digest(
            "/".join(
                (self.sample.digest, str(self.repeat), *requests, *kinds)
            ).encode(),
            answers,
        )


def warnings_of(exchanges: Sequence[Exchange]) -> list[str]:
    """Returns the warnings of all exchanges of a trial, without duplicates."""
    return list(
        dict.fromkeys(
            text for exchange in exchanges for text in exchange.response.warnings
        )
    )


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
