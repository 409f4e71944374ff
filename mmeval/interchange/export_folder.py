"""The base class of writers that export a run as a folder of answers."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from mmeval.errors import UsageError
from mmeval.interchange.contract import (
    AnsweredRun,
    AnsweredTask,
    ExportSummary,
    ScoredTrial,
)
from mmeval.interchange.sidecar import exact_parts
from mmeval.media.media import Media
from mmeval.media.media_type import suffix_for
from mmeval.media.parts import Interleaved
from mmeval.records.digests import content_digest, digest
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial
from mmeval.system.wording import file_name, listed

_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")


class _TrialKey(NamedTuple):
    id: str
    repeat: int


class _TaskAnswer(NamedTuple):
    task: str
    digest: str


class ExportFolder(ABC):
    """A folder in a benchmark's layout, with one entry for each repeat of a sample.

    Each layout implements the abstract methods. Tasks with the same questions share an
    answer. If the model failed in one task, the answer from the other task is used.

    - ``entry``: the noun of the layout for an entry
    - ``unanswered``: the text that describes what is written for a failed answer
    - ``gaps``, ``notes``: what each number in ``counts`` means, by its key
    - ``nouns``: plural noun for what a number counts, by its key; the default is
      ``answers``
    - ``scored``: True if the layout includes scores
    - ``manifest``: fields of the manifest, for the reader of the layout
    """

    benchmark: ClassVar[str]
    entry: ClassVar[str]
    unanswered: ClassVar[str]
    gaps: ClassVar[Mapping[str, str]] = {}
    notes: ClassVar[Mapping[str, str]]
    nouns: ClassVar[Mapping[str, str]] = {}
    scored: ClassVar[bool] = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts: Counter[str] = Counter()
        self.manifest: dict[str, Any] = {}
        self._places: dict[_TrialKey, _TaskAnswer | None] = {}

    @abstractmethod
    def takes(self, sample: Sample) -> bool:
        """Returns True if the layout allows an entry for this sample."""

    @abstractmethod
    def add(self, scored_trial: ScoredTrial) -> None:
        """Writes a trial to its entry."""

    def again(self, scored_trial: ScoredTrial) -> None:  # noqa: B027
        """Adds the scores of another task that contains the same answer.

        Most layouts do not include scores, so by default this does nothing.
        """

    @abstractmethod
    def finish(self) -> Sequence[str]:
        """Writes the files. Returns further gaps."""

    def fill(self, run: AnsweredRun) -> ExportSummary:
        """Writes the answers of a run.

        Tasks of other benchmarks are left out and reported as a gap. Raises UsageError
        if no task is left, or if two tasks have different answers to one sample. Raises
        MissingDataError or CorruptMediaError if a medium of the run is missing or
        changed.
        """
        own_tasks: list[AnsweredTask] = []
        other_tasks: list[str] = []
        for task in run.tasks:
            if self._has_places(task):
                own_tasks.append(task)
            else:
                other_tasks.append(task.name)
        if not self._places:
            reason = "all its samples are damaged"
            if other_tasks:
                reason = (
                    f"its tasks are not in {self.benchmark} ({listed(other_tasks, 3)})"
                )
            raise UsageError(f"the run does not fit this format: {reason}")
        faulty: set[_TrialKey] = set()
        taken: set[_TrialKey] = set()
        for task in own_tasks:
            unscored_trials = (ScoredTrial(trial, {}) for trial in task.trials())
            for scored_trial in task.scored() if self.scored else unscored_trials:
                trial = scored_trial.trial
                key = _trial_key(trial)
                if trial.sample.fault:
                    faulty.add(key)
                elif trial.output is None and self._places[key] is not None:
                    continue  # the answer from another task is used
                elif key in taken:
                    self.again(scored_trial)
                else:
                    taken.add(key)
                    self.add(scored_trial)
        gaps: list[str] = []
        if other_tasks:
            gaps.append(
                f"left out, not tasks of {self.benchmark}: {listed(other_tasks, 3)}"
            )
        further_gaps = self.finish()
        self.counts["faulty"] = len(faulty)
        missing = {
            "failed": f"the model failed; {self.unanswered}",
            "unasked": f"the model could not be asked; {self.unanswered}",
            "faulty": f"the sample is damaged and was not asked; no {self.entry}",
            **self.gaps,
        }
        gaps += self._lines(missing)
        gaps += further_gaps
        return ExportSummary(
            self.counts["answers"],
            self.counts["media"],
            tuple(gaps),
            tuple(self._lines(self.notes)),
            self.manifest,
        )

    def mmeval_fields(self, trial: Trial) -> dict[str, Any]:
        """Counts an answer, and returns its fields for the key ``mmeval``.

        The fields are the error, and the kinds that were not requested.
        """
        fields: dict[str, Any] = {}
        if trial.output is not None:
            self.counts["answers"] += 1
            self.counts["repeats"] += trial.repeat > 0
        else:
            assert trial.error is not None
            is_unasked = trial.error.kind == "unsupported"
            self.counts["unasked" if is_unasked else "failed"] += 1
            fields["error"] = trial.error.to_json()
        if trial.left_out:
            fields["left_out"] = list(trial.left_out)
        return fields

    def exact_fields(
        self, output: Interleaved, files: Mapping[str, str], seal: str
    ) -> dict[str, Any]:
        """Returns the exact parts of an answer that the entry cannot reproduce.

        ``files`` maps the digests of the answer's media to file names.
        """
        self.counts["exact"] += 1
        return {"of": seal, "parts": exact_parts(output, files)}

    def put(self, medium: Media, stem: str) -> str:
        """Writes a medium and returns its path in the folder."""
        return self.write(f"{stem}{suffix_for(medium.mime)}", medium.read())

    def write(self, name: str, content: bytes) -> str:
        file = self.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
        self.counts["media"] += 1
        return name

    def write_lines(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Writes rows as lines of ASCII JSON."""
        with (self.path / name).open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=True, allow_nan=False) + "\n")

    def _has_places(self, task: AnsweredTask) -> bool:
        """Records the answers of a task if all its trials fit the layout.

        Otherwise, records no answer and returns False.
        """
        answers: dict[_TrialKey, _TaskAnswer | None] = {}
        for trial in task.trials():
            if not trial.sample.fault:
                if not self.takes(trial.sample):
                    return False
                answers[_trial_key(trial)] = None
                if trial.output is not None:
                    answer_digest = content_digest(b"answer", [("", trial.output)])
                    answers[_trial_key(trial)] = _TaskAnswer(task.name, answer_digest)
        for key, answer in answers.items():
            earlier = self._places.get(key)
            if earlier and answer and earlier.digest != answer.digest:
                raise UsageError(
                    f"{earlier.task} and {answer.task} have different answers to "
                    f"{key.id}, repeat {key.repeat}, but the format stores only one; "
                    "export one of the tasks with --tasks"
                )
            self._places[key] = earlier or answer
        return True

    def _lines(self, words: Mapping[str, str]) -> Iterator[str]:
        """Yields a line for each number in ``counts`` that is above 0."""
        for key, how in words.items():
            count = self.counts[key]
            if count:
                yield f"{self.nouns.get(key, 'answers')}: {count:,}; {how}"


def _trial_key(trial: Trial) -> _TrialKey:
    return _TrialKey(trial.sample.id, trial.repeat)


def stem_of(name: str, repeat: int) -> str:
    """Returns the start of the file names of a trial's media, from its sample's id.

    An id that cannot be part of a file name is shortened, and a digest is appended to
    it.
    """
    stem = name
    if not _PLAIN_ID.fullmatch(name):
        stem = f"{file_name(name)[:40]}_{digest(name)[:8]}"
    return f"{stem}_repeat{repeat}" if repeat else stem
