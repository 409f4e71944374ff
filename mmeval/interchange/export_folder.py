"""A folder of answers in another layout, filled from a run: what its writers share."""

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


class _Place(NamedTuple):
    id: str
    repeat: int


class _Answered(NamedTuple):
    task: str
    digest: str


class ExportFolder(ABC):
    """A folder whose layout has one place for each repeat of a sample. The methods of a
    layout are abstract.

    Tasks that ask the same share an answer; where the model has failed in one of them,
    that of the other counts.

    ``entry`` is what the layout calls the place of an answer, and ``unanswered`` says
    what stands in that of a failure. ``counts`` are by the keys of ``gaps`` and
    ``notes``, which say what a count means; they are of answers, or of what ``nouns``
    has, in the plural. ``scored`` is whether there is a place for scores, and
    ``manifest`` is for the reader.
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
        self._places: dict[_Place, _Answered | None] = {}

    @abstractmethod
    def takes(self, sample: Sample) -> bool:
        """Whether the layout has a place for a sample, which is not damaged."""

    @abstractmethod
    def add(self, scored_trial: ScoredTrial) -> None:
        """Take the trial of a place."""

    def again(self, scored_trial: ScoredTrial) -> None:  # noqa: B027
        """Take the same answer from another task, which may have other scores.

        Most layouts have no place for scores and ignore it.
        """

    @abstractmethod
    def finish(self) -> Sequence[str]:
        """Write the files. Returns what they lack besides ``gaps``."""

    def fill(self, run: AnsweredRun) -> ExportSummary:
        """Write the answers of a run.

        Tasks of other benchmarks are left out, which is one of the gaps. Raises
        UsageError where nothing is left, or where two tasks have different answers to
        one sample; MissingDataError and CorruptMediaError for a medium of the run that
        is missing or changed.
        """
        own_tasks: list[AnsweredTask] = []
        foreign: list[str] = []
        for task in run.tasks:
            if self._has_places(task):
                own_tasks.append(task)
            else:
                foreign.append(task.name)
        if not self._places:
            why = "all its samples are damaged"
            if foreign:
                why = f"its tasks are not in {self.benchmark} ({listed(foreign, 3)})"
            raise UsageError(f"nothing of this run has a place in the layout: {why}")
        faulty: set[_Place] = set()
        taken: set[_Place] = set()
        for task in own_tasks:
            read = (ScoredTrial(trial, {}) for trial in task.trials())
            for scored_trial in task.scored() if self.scored else read:
                place = _place(scored_trial.trial)
                if scored_trial.trial.sample.fault:
                    faulty.add(place)
                elif (
                    scored_trial.trial.output is None
                    and self._places[place] is not None
                ):
                    continue  # another task has the answer
                elif place in taken:
                    self.again(scored_trial)
                else:
                    taken.add(place)
                    self.add(scored_trial)
        gaps: list[str] = []
        if foreign:
            gaps.append(f"left out, as not in {self.benchmark}: {listed(foreign, 3)}")
        more = self.finish()
        self.counts["faulty"] = len(faulty)
        missing = {
            "failed": f"the model had failed; {self.unanswered}",
            "unasked": f"the model could not be asked; {self.unanswered}",
            "faulty": f"the sample is damaged and was not asked; no {self.entry}",
            **self.gaps,
        }
        gaps += self._lines(missing)
        gaps += more
        return ExportSummary(
            self.counts["answers"],
            self.counts["media"],
            tuple(gaps),
            tuple(self._lines(self.notes)),
            self.manifest,
        )

    def mmeval_fields(self, trial: Trial) -> dict[str, Any]:
        """What our own key of an entry says of an answer, which is counted: why it
        failed, and the kinds that the model was not asked for."""
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
        """What it says besides of one that the entry does not give back; ``files`` are
        its media by digest."""
        self.counts["exact"] += 1
        return {"of": seal, "parts": exact_parts(output, files)}

    def put(self, medium: Media, stem: str) -> str:
        """Write a medium; returns its path below the folder."""
        return self.write(f"{stem}{suffix_for(medium.mime)}", medium.read())

    def write(self, name: str, content: bytes) -> str:
        file = self.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
        self.counts["media"] += 1
        return name

    def write_lines(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write a file of rows, each a line of ASCII."""
        with (self.path / name).open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=True, allow_nan=False) + "\n")

    def _has_places(self, task: AnsweredTask) -> bool:
        """Note the answers of a task; false where a trial has no place: then none of
        them counts."""
        found: dict[_Place, _Answered | None] = {}
        for trial in task.trials():
            if not trial.sample.fault:
                if not self.takes(trial.sample):
                    return False
                found[_place(trial)] = None
                if trial.output is not None:
                    answer = content_digest(b"answer", [("", trial.output)])
                    found[_place(trial)] = _Answered(task.name, answer)
        for place, now in found.items():
            before = self._places.get(place)
            if before and now and before.digest != now.digest:
                raise UsageError(
                    f"{before.task} and {now.task} have different answers to "
                    f"{place.id}, repeat {place.repeat}, and "
                    "the layout has one place for both; export one of them with --tasks"
                )
            self._places[place] = before or now
        return True

    def _lines(self, words: Mapping[str, str]) -> Iterator[str]:
        """A line for each count that is not 0."""
        for key, how in words.items():
            count = self.counts[key]
            if count:
                yield f"{self.nouns.get(key, 'answers')}: {count:,}; {how}"


def _place(trial: Trial) -> _Place:
    return _Place(trial.sample.id, trial.repeat)


def stem_of(name: str, repeat: int) -> str:
    """The beginning of the names of a trial's media, by a sample's id as far as it can
    be part of a file name."""
    stem = name
    if not _PLAIN_ID.fullmatch(name):
        stem = f"{file_name(name)[:40]}_{digest(name)[:8]}"
    return f"{stem}_repeat{repeat}" if repeat else stem
