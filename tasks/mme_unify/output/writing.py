"""Writes answers in the result files of MME-Unify's own scripts (:mod:`mmeval.tasks.mme_unify.output.reading`).

Visual_CoT.json and others      the question files, with the answers in their rows
media/<task>_<row>_<n>          the media of the answers
media/<task>_<row>_frame<n>     up to 16 key frames of a clip
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.content import Media
from mmeval.errors import ContentError, MissingExtraError, UsageError
from mmeval.interchange import OWN, AnsweredRun, Exported, ExportFolder, exact_parts
from mmeval.records import Trial
from mmeval.tasks.mme_unify.clips.frames import key_frames
from mmeval.tasks.mme_unify.loader import CATEGORIES, TASK, question_of
from mmeval.tasks.mme_unify.mme_unify_choice import CHOICE
from mmeval.tasks.mme_unify.output.fields import FRAMES, answer_in, fields_of
from mmeval.tasks.mme_unify.output.reading import seal

NAMES: Mapping[str, str] = {
    **dict.fromkeys(CATEGORIES["understanding"].values(), "Understanding_Unified"),
    **dict.fromkeys(CATEGORIES["generation"].values(), "Generation_Unified"),
    "iee": "Unified_Explanation",
    "csq": "Common_Sense_Question",
    "al": "Auxiliary_Lines.",
    "sd": "Spot_Diff",
    "vcot": "Visual_CoT",
}
"""The file of each task, as the released one is called."""
GAPS = {
    "failed": f"the model had failed; the row has no answer, and says so under {OWN!r} alone",
    "faulty": "the sample is damaged and was not asked; no row",
    "unframed": "its clip cannot be decoded here; without its frames (output2), which the scripts read",
}
NOTES = {
    "exact": f"more than the fields of the layout hold; its parts stand under {OWN!r}",
    "repeats": "further ones to the same question, in *_repeat<n>.json",
}


def write_output(run: AnsweredRun, folder: Path) -> Exported:
    """Fill the folder of one model.

    Tasks of other benchmarks are left out, which is one of the gaps. Raises UsageError where nothing is left, or where
    two tasks have different answers to one row; MissingDataError and CorruptMediaError for a medium of the run that is
    missing or changed.
    """
    writer = _Writer(folder)
    foreign = [task.name for task in run.tasks if not all(writer.add(trial) for trial in task.trials())]
    if not writer.rows:
        raise UsageError(
            f"nothing of this run has a place in the layout: {', '.join(foreign)} are no tasks of MME-Unify"
        )
    writer.close()
    left_out = (f"{name} is no task of MME-Unify, and was left out" for name in foreign)
    return Exported(
        writer.counts["answers"], writer.counts["media"], (*left_out, *writer.lines(GAPS)), (*writer.lines(NOTES),)
    )


class _Writer(ExportFolder):
    """Collects the rows of each file, and writes the media of an answer at once."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.rows: dict[str, dict[int, dict[str, Any]]] = {}

    def add(self, trial: Trial) -> bool:
        """Take a trial; false if it has no place."""
        sample = trial.sample
        if sample.fault:
            self.counts["faulty"] += 1
            return True
        if TASK not in sample.metadata:
            return False
        self.check_one_answer(trial)
        name = NAMES[sample.metadata[TASK]] + (f"_repeat{trial.repeat}" if trial.repeat else "")
        at = int(sample.id.rpartition("/")[2])
        rows = self.rows.setdefault(name, {})
        if at not in rows:
            rows[at] = question_of(sample.metadata) | self._fields(trial)
        return True

    def close(self) -> None:
        """Write the files, their rows in the order of the data."""
        for name, rows in self.rows.items():
            document = [row for _, row in sorted(rows.items())]
            (self.path / f"{name}.json").write_text(json.dumps(document, indent=1, allow_nan=False) + "\n")

    def _fields(self, trial: Trial) -> dict[str, Any]:
        own: dict[str, Any] = {"left_out": list(trial.left_out)} if trial.left_out else {}
        if trial.output is None:
            assert trial.error is not None
            self.counts["failed"] += 1
            return {OWN: {"error": trial.error.to_json(), **own}}
        self.counts["answers"] += 1
        self.counts["repeats"] += trial.repeat > 0
        output, task = trial.output, trial.sample.metadata[TASK]
        stem = _stem(trial)
        media = {self.put(medium, f"{stem}_{at}"): medium for at, medium in enumerate(dict.fromkeys(output.media()), 1)}
        files = {medium.sha256: file for file, medium in media.items()}
        fields = fields_of(task, output, files, trial.sample.metadata.get(CHOICE, ()))
        if FRAMES in fields and not fields[FRAMES]:
            fields[FRAMES] = [*self._frames(trial, output.media("video"))]
        if answer_in(task, fields, media.get) != output:
            self.counts["exact"] += 1
            own |= {"of": seal(fields), "parts": exact_parts(output, files)}
        return {**fields, **({OWN: own} if own else {})}

    def _frames(self, trial: Trial, clips: Sequence[Media]) -> Iterator[str]:
        """The files of the key frames of a clip, which the scripts read in place of it."""
        try:
            frames = key_frames(clips[0]) if clips else []
        except (ContentError, MissingExtraError):  # it cannot be decoded, or nothing here can
            self.counts["unframed"] += 1
            return
        for number, frame in enumerate(frames, 1):
            yield self.write(f"{_stem(trial)}_frame{number:02}.jpg", frame)


def _stem(trial: Trial) -> str:
    return f"media/{trial.sample.id.replace('/', '_')}" + (f"_repeat{trial.repeat}" if trial.repeat else "")
