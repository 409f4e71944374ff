"""A run of changed answers, which is scored as every run is.

It has the answers of a run once unchanged and once for each change, each as a sample of
its own. Its seed differs from that of the run, so that a judge which is asked about an
unchanged answer replies anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from mmeval.records.digests import digest
from mmeval.results.stored_run import StoredRun
from mmeval.trust.audit.changed_answers import AGAIN, CHANGES
from mmeval.trust.kept_answers import KeptAnswer, write_run

FOLDER = "audit"
_VERSION = 3
"""Raised if a change is made in another way, so that judges are asked anew."""
_NUMBERS = {check: number for number, check in enumerate(CHANGES)}


class ChangedTrial(NamedTuple):
    """A changed trial: its task and its position in the run of changed answers, and the
    place of the plain answer. ``form`` is that of the change, if it has several."""

    check: str
    task: str
    sample_index: int
    repeat: int
    place: int
    form: str


class ChangedRun:
    """The answers of a run, changed for some checks, and the folder for them.

    Equal answers have the same folder, whatever the checks are. So an audit can be
    continued, and one with further checks asks only about the changes of these.
    """

    def __init__(
        self, run: StoredRun, answers: Sequence[KeptAnswer], checks: Sequence[str]
    ) -> None:
        self._run = run
        self._checks = dict.fromkeys((AGAIN, *checks))
        self._changed = list(_changed(answers, self._checks))
        digests = [answer.digest for answer in answers]
        places = [[answer.task, answer.index] for answer in answers]
        name = digest([_VERSION, places, digests])[:12]
        self.folder = run.folder / FOLDER / name

    @property
    def trials(self) -> list[ChangedTrial]:
        """All changed trials."""
        return [trial for trial, _ in self._changed]

    @property
    def answers(self) -> list[tuple[ChangedTrial, KeptAnswer]]:
        """All changed trials with their answers."""
        return self._changed

    @property
    def indices(self) -> Mapping[str, tuple[int, ...]]:
        """The indices of the changed samples in the folder, by task."""
        of_task: dict[str, list[int]] = {}
        for trial in self.trials:
            of_task.setdefault(trial.task, []).append(trial.sample_index)
        return {task: tuple(indices) for task, indices in of_task.items()}

    def write(self) -> None:
        """Writes the changes that the folder does not have. Raises StorageError."""
        answers = []
        for trial, answer in self._changed:
            answers.append(replace(answer, index=trial.sample_index))
        record = self._run.record
        identity = record["identity"]
        asked_anew = {**identity, "seed": identity["seed"] + 1}
        described = {**record, "identity": asked_anew}
        write_run(self.folder, answers, described, self._checks)


def _changed(
    answers: Sequence[KeptAnswer], checks: Iterable[str]
) -> Iterator[tuple[ChangedTrial, KeptAnswer]]:
    for check in checks:
        for place, answer in CHANGES[check](answers).items():
            # each change of a sample is a sample of its own
            index = answer.index * len(CHANGES) + _NUMBERS[check]
            trial = ChangedTrial(
                check, answer.task, index, answer.repeat, place, answer.form
            )
            yield trial, answer
