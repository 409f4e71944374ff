"""Writes answers in the result files of MME-Unify's own scripts
(:mod:`mmeval.tasks.mme_unify.output.reading`).

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
from mmeval.errors import ContentError, MissingExtraError
from mmeval.interchange import (
    OWN,
    AnsweredRun,
    Exported,
    ExportFolder,
    ScoredTrial,
    stem_of,
)
from mmeval.records import Sample, Trial
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
    "unframed": "its clip cannot be decoded here; without its frames (output2), which "
    "the scripts read",
}
NOTES = {
    "exact": f"more than the fields of the layout hold; its parts stand under {OWN!r}",
    "repeats": "further ones to the same question, in *_repeat<n>.json",
}


def write_output(run: AnsweredRun, folder: Path) -> Exported:
    """Fill the folder of one model. Raises what :meth:`ExportFolder.fill` raises."""
    return _Writer(folder).fill(run)


class _Writer(ExportFolder):
    """Collects the rows of each file, and writes the media of an answer at once."""

    benchmark, entry, gaps, notes = "MME-Unify", "row", GAPS, NOTES
    unanswered = f"the row has no answer, and says so under {OWN!r} alone"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._rows: dict[str, dict[int, dict[str, Any]]] = {}

    def takes(self, sample: Sample) -> bool:
        return TASK in sample.metadata

    def add(self, one: ScoredTrial) -> None:
        trial, sample = one.trial, one.trial.sample
        name = NAMES[sample.metadata[TASK]] + (
            f"_repeat{trial.repeat}" if trial.repeat else ""
        )
        at = int(sample.id.rpartition("/")[2])
        self._rows.setdefault(name, {})[at] = question_of(
            sample.metadata
        ) | self._fields(trial)

    def finish(self) -> Sequence[str]:
        """Write the files, their rows in the order of the data."""
        for name, rows in self._rows.items():
            document = [row for _, row in sorted(rows.items())]
            (self.path / f"{name}.json").write_text(
                json.dumps(document, indent=1, allow_nan=False) + "\n"
            )
        return ()

    def _fields(self, trial: Trial) -> dict[str, Any]:
        own, output, task = self.own(trial), trial.output, trial.sample.metadata[TASK]
        if output is None:
            return {OWN: own}
        stem = _stem(trial)
        media = {
            self.put(medium, f"{stem}_{at}"): medium
            for at, medium in enumerate(dict.fromkeys(output.media()), 1)
        }
        files = {medium.sha256: file for file, medium in media.items()}
        fields = fields_of(task, output, files, trial.sample.metadata.get(CHOICE, ()))
        if FRAMES in fields and not fields[FRAMES]:
            fields[FRAMES] = list(self._frames(trial, output.media("video")))
        if answer_in(task, fields, media.get) != output:
            own |= self.exact(output, files, seal(fields))
        return {**fields, **({OWN: own} if own else {})}

    def _frames(self, trial: Trial, clips: Sequence[Media]) -> Iterator[str]:
        """The files of the key frames of a clip, which the scripts read in place of
        it."""
        try:
            frames = key_frames(clips[0]) if clips else []
        except (ContentError, MissingExtraError):
            # it cannot be decoded, or nothing here can
            self.counts["unframed"] += 1
            return
        for number, frame in enumerate(frames, 1):
            yield self.write(f"{_stem(trial)}_frame{number:02}.jpg", frame)


def _stem(trial: Trial) -> str:
    return f"media/{stem_of(trial.sample.id.replace('/', '_'), trial.repeat)}"
