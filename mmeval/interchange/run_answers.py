"""Answers of a run folder: the scored answer of each trial."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange.contract import Absent, AnswerPlace, StoredAnswer
from mmeval.interchange.recorded import (
    error_of,
    kinds_of,
    parts_of,
    question_of,
    recorded_question,
)
from mmeval.records.digests import DIGEST_CHARS
from mmeval.records.response import (
    FinishReason,
    Response,
    finish_reason_from,
    worst_finish,
)
from mmeval.records.sample import Sample
from mmeval.results.stored_run import StoredRun, StoredTask, StoredTrial, journal_notes
from mmeval.system.json_lines import from_line, to_line

MODEL = "model"


class _Made(NamedTuple):
    """One trial of the run: the digest of its question, and its row as it is
    recorded."""

    number: int
    question: str
    line: bytes


class RunAnswers:
    """A run folder opened for reading, if in progress in its present state."""

    def __init__(self, folder: Path) -> None:
        self._run = StoredRun(folder)
        self._media = folder / "media"
        self._damaged = 0
        self._trials = {
            name: dict(self._made(name)) for name in self._run.record.get("tasks", {})
        }

    @property
    def model(self) -> str:
        return self._run.model

    @cached_property
    def digest(self) -> str:
        """A digest of the digests of trials, which cover their answers, and of
        failures."""
        sha256 = hashlib.sha256()
        for task, trials in sorted(self._trials.items()):
            for (sample, repeat), made in sorted(trials.items()):
                row = from_line(made.line)
                sha256.update(
                    to_line([task, sample, repeat, row.get("d"), row.get("error")])
                )
        return sha256.hexdigest()[:DIGEST_CHARS]

    @property
    def counts(self) -> Mapping[str, int]:
        return {name: len(trials) for name, trials in self._trials.items()}

    @property
    def remarks(self) -> Sequence[str]:
        lost = list(journal_notes(self._run))
        if self._damaged:
            lost.append(
                f"{self._run.folder}: damaged trials, left out: {self._damaged:,}"
            )
        return lost

    def answer(self, task: str, sample: Sample, repeat: int) -> StoredAnswer | Absent:
        question = question_of(sample)
        name = task if task in self._trials else self._renamed(sample.id, question)
        if name is None:
            known = ", ".join(self._trials) or "none"
            return Absent(
                f"{self._run.folder} has no task {task}; its tasks are: {known}"
            )
        made = self._trials[name].get((sample.id, repeat))
        if made is None:
            return Absent(
                f"{self._run.folder} has no answer to {sample.id!r}, repeat {repeat}"
            )
        if made.question != question:
            return Absent(
                f"what {self._run.folder} answers under {sample.id!r} is another "
                "question"
            )
        place = AnswerPlace(name, made.number)
        try:
            return StoredAnswer(place, self._response(from_line(made.line)))
        except (UsageError, MissingDataError) as error:
            return Absent(f"{sample.id!r}, repeat {repeat}: {error}", place)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return Absent(
                f"{sample.id!r}, repeat {repeat}: its record is damaged "
                f"({type(error).__name__}: {error})",
                place,
            )

    def _renamed(self, sample: str, question: str) -> str | None:
        """The only task with this sample and question; None for none or several."""
        asked = [
            name
            for name, trials in self._trials.items()
            if (m := trials.get((sample, 0))) and m.question == question
        ]
        return asked[0] if len(asked) == 1 else None

    def close(self) -> None:
        self._run.close()

    def _response(self, row: Mapping[str, Any]) -> Response:
        if row.get("error") is not None:
            return error_of(row["error"])
        own = self._last_reply(row)
        if own is None:
            raise MissingDataError("its answer is no longer in the journal")
        output = parts_of(
            row["output"] if "output" in row else own.get("output"), self._media
        )
        return Response(
            output=output,
            finish_reason=self._finish(row),
            served=str(own.get("served", "")),
            warnings=tuple(map(str, own.get("warnings", ()))),
            fingerprint=str(own.get("fingerprint", "")),
            left_out=kinds_of(row.get("left_out")),
        )

    def _finish(self, row: Mapping[str, Any]) -> FinishReason:
        """How the trial's answer ended, over all replies of the model."""
        keys = [key for _, role, key in row.get("x", ()) if role == MODEL]
        lines = [self._run.journal.row(key) for key in keys]
        replies = [line["r"] for line in lines if line is not None]
        return worst_finish(
            finish_reason_from(reply.get("finish_reason")) for reply in replies
        )

    def _last_reply(self, row: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The model's last reply in a trial, the answer of one call; empty for
        programs."""
        keys = [key for _, role, key in row.get("x", ()) if role == MODEL]
        if not keys:
            return {} if "output" in row else None
        line = self._run.journal.row(keys[-1])
        if line is None:
            return {} if "output" in row else None
        reply: Mapping[str, Any] = line["r"]
        return reply

    def _made(self, name: str) -> Iterator[tuple[tuple[str, int], _Made]]:
        task = StoredTask(name, {}, self._run.folder, None)
        number = 0
        for trial in task.trials():
            try:
                key, question = self._key_of(trial)
            except (UsageError, KeyError, TypeError, ValueError):
                self._damaged += 1
                continue
            assert trial is not None
            if trial.sample.get("fault"):  # it was never asked, so there is no answer
                continue
            yield key, _Made(number, question, to_line(trial.row))
            number += 1

    def _key_of(self, trial: StoredTrial | None) -> tuple[tuple[str, int], str]:
        if trial is None:
            raise UsageError("damaged")
        return (str(trial.sample["id"]), int(trial.repeat)), recorded_question(
            trial.sample, self._media
        )
