"""A folder of answers in another layout, filled from a run: what its writers share."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from mmeval.content.media import Media
from mmeval.content.media_type import suffix_for
from mmeval.content.parts import Interleaved
from mmeval.errors import UsageError
from mmeval.interchange.contract import AnsweredRun, AnsweredTask, Exported, ScoredTrial
from mmeval.interchange.sidecar import exact_parts
from mmeval.records.digests import content_digest, digest
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial
from mmeval.wording import counted, file_name

_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")


class ExportFolder(ABC):
    """A folder whose layout has one place for each repeat of a sample. The methods of a layout are abstract.

    ``counts`` are answers by the keys of ``gaps`` and ``notes``, which say what a count means.
    """

    benchmark: ClassVar[str]
    gaps: ClassVar[Mapping[str, str]]
    notes: ClassVar[Mapping[str, str]]

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts: Counter[str] = Counter()
        self._digests: dict[tuple[int, str], str] = {}

    @abstractmethod
    def takes(self, sample: Sample) -> bool:
        """Whether the layout has a place for a sample, which is not damaged."""

    @abstractmethod
    def add(self, one: ScoredTrial) -> None:
        """Take a trial, and write its media."""

    @abstractmethod
    def finish(self) -> Sequence[str]:
        """Write the files. Returns what they lack besides ``gaps``."""

    def fill(self, run: AnsweredRun) -> Exported:
        """Write the answers of a run.

        Tasks of other benchmarks are left out, which is one of the gaps. Raises UsageError where nothing is left, or
        where two tasks have different answers to one sample; MissingDataError and CorruptMediaError for a medium of the
        run that is missing or changed.
        """
        foreign = [task.name for task in run.tasks if not self._add_all(task)]
        if not self._digests:
            why = f"{', '.join(foreign)} are no tasks of {self.benchmark}" if foreign else "all its samples are damaged"
            raise UsageError(f"nothing of this run has a place in the layout: {why}")
        left_out = (f"{name} is no task of {self.benchmark}, and was left out" for name in foreign)
        more = self.finish()
        gaps, notes = (tuple(self._lines(words)) for words in (self.gaps, self.notes))
        return Exported(self.counts["answers"], self.counts["media"], (*left_out, *gaps, *more), notes)

    def own(self, trial: Trial) -> dict[str, Any]:
        """What our own key of an entry says of an answer, which is counted: why it failed, and the kinds that the model
        was not asked for."""
        left_out = {"left_out": list(trial.left_out)} if trial.left_out else {}
        if trial.output is not None:
            self.counts["answers"] += 1
            self.counts["repeats"] += trial.repeat > 0
            return left_out
        assert trial.error is not None
        self.counts["failed"] += 1
        return {"error": trial.error.to_json(), **left_out}

    def exact(self, output: Interleaved, files: Mapping[str, str], seal: str) -> dict[str, Any]:
        """What it says besides of one that the entry does not give back; ``files`` are its media by digest."""
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

    def _add_all(self, task: AnsweredTask) -> bool:
        """Add the trials of a task; false where one has no place: then none of them is added."""
        if not all(trial.sample.fault or self.takes(trial.sample) for trial in task.trials()):
            return False
        for one in task.scored():
            if one.trial.sample.fault:
                self.counts["faulty"] += 1
            else:
                self._check_one_answer(one.trial)
                self.add(one)
        return True

    def _check_one_answer(self, trial: Trial) -> None:
        name = trial.sample.id
        found = content_digest(b"", []) if trial.output is None else content_digest(b"answer", [("", trial.output)])
        if self._digests.setdefault((trial.repeat, name), found) != found:
            raise UsageError(
                f"two tasks have different answers to {name}, repeat {trial.repeat}, and the layout has one place for "
                "both; export one of them with --tasks"
            )

    def _lines(self, words: Mapping[str, str]) -> Iterator[str]:
        """A line for each count that is not 0."""
        yield from (f"{counted(self.counts[key], 'answer')}: {how}" for key, how in words.items() if self.counts[key])


def stem_of(trial: Trial) -> str:
    """The name of a trial's media, by the sample's id as far as it can be part of a file name."""
    name = trial.sample.id
    stem = name if _PLAIN_ID.fullmatch(name) else f"{file_name(name)[:40]}_{digest(name)[:8]}"
    return f"{stem}_repeat{trial.repeat}" if trial.repeat else stem
