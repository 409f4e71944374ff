"""Reads the answers of a run folder: the output of each trial."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange.contract import AnswerPlace, MissingAnswer, StoredAnswer
from mmeval.interchange.recorded import (
    error_of,
    kinds_of,
    parts_of,
    question_of,
    read_or_missing,
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
from mmeval.results.stored_run import StoredRun, StoredTask, journal_notes
from mmeval.system.json_lines import from_line, to_line

MODEL = "model"


class _TrialRecord(NamedTuple):
    """A trial of the run: its number, the digest of its question and its record."""

    number: int
    question: str
    line: bytes


class RunAnswers:
    """The answers of a run folder, as they are now if the run is still in progress."""

    def __init__(self, folder: Path) -> None:
        self._run = StoredRun(folder)
        self._media = folder / "media"
        self._damaged = 0
        names = self._run.record.get("tasks", {})
        self._trials = {name: dict(self._records(name)) for name in names}

    @property
    def model(self) -> str:
        return self._run.model

    @cached_property
    def digest(self) -> str:
        """A digest of the failures, and of the digests of all answered trials."""
        sha256 = hashlib.sha256()
        for task, trials in sorted(self._trials.items()):
            for (sample, repeat), record in sorted(trials.items()):
                row = from_line(record.line)
                facts = [task, sample, repeat, row.get("d"), row.get("error")]
                sha256.update(to_line(facts))
        return sha256.hexdigest()[:DIGEST_CHARS]

    @property
    def counts(self) -> Mapping[str, int]:
        return {name: len(trials) for name, trials in self._trials.items()}

    @property
    def remarks(self) -> Sequence[str]:
        remarks = list(journal_notes(self._run))
        if self._damaged:
            remarks.append(
                f"{self._run.folder}: damaged trials, left out: {self._damaged:,}"
            )
        return remarks

    def answer(
        self,
        task: str,
        sample: Sample,
        repeat: int,
    ) -> StoredAnswer | MissingAnswer:
        question = question_of(sample)
        matches = [task] if task in self._trials else []
        if not matches:  # a renamed task is found if only one task has this question
            for other, trials in self._trials.items():
                first_repeat = trials.get((sample.id, 0))
                if first_repeat is not None and first_repeat.question == question:
                    matches.append(other)
        if len(matches) != 1:
            task_names = ", ".join(self._trials) or "none"
            return MissingAnswer(
                f"{self._run.folder} has no task {task}; its tasks are: {task_names}"
            )
        name = matches[0]
        record = self._trials[name].get((sample.id, repeat))
        if record is None:
            return MissingAnswer(
                f"{self._run.folder} has no answer to {sample.id!r}, repeat {repeat}"
            )
        if record.question != question:
            return MissingAnswer(
                f"{self._run.folder} has an answer to {sample.id!r}, but to another "
                "question"
            )
        line = record.line
        return read_or_missing(
            AnswerPlace(name, record.number),
            f"{sample.id!r}, repeat {repeat}",
            lambda: self._response(from_line(line)),
            where="record",
        )

    def close(self) -> None:
        self._run.close()

    def _response(self, row: Mapping[str, Any]) -> Response:
        if row.get("error") is not None:
            return error_of(row["error"])
        # Without an output in the row, the answer is the model's last reply. A program
        # records its output in the row; it may have called no model, or its replies are
        # missing.
        reply: Mapping[str, Any] | None = None
        finishes: list[FinishReason] = []
        for _, role, key in row.get("x", ()):
            if role != MODEL:
                continue
            line = self._run.journal.row(key)
            reply = None if line is None else line["r"]
            if reply is not None:
                finishes.append(finish_reason_from(reply.get("finish_reason")))
        if reply is None and "output" not in row:
            raise MissingDataError("its answer is no longer in the journal")
        reply = reply or {}
        parts = row["output"] if "output" in row else reply.get("output")
        return Response(
            output=parts_of(parts, self._media),
            finish_reason=worst_finish(finishes),
            served=str(reply.get("served", "")),
            warnings=tuple(map(str, reply.get("warnings", ()))),
            fingerprint=str(reply.get("fingerprint", "")),
            left_out=kinds_of(row.get("left_out")),
        )

    def _records(
        self,
        name: str,
    ) -> Iterator[tuple[tuple[str, int], _TrialRecord]]:
        task = StoredTask(name, {}, self._run.folder, None)
        number = 0
        for trial in task.trials():
            if trial is None:
                self._damaged += 1
                continue
            try:
                key = (str(trial.sample["id"]), int(trial.repeat))
                question = recorded_question(trial.sample, self._media)
            except (UsageError, KeyError, TypeError, ValueError):
                self._damaged += 1
                continue
            if trial.sample.get("fault"):  # this sample was not sent
                continue
            yield key, _TrialRecord(number, question, to_line(trial.row))
            number += 1
