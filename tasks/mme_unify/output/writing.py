"""Writes answers in the result files of MME-Unify's own scripts (:mod:`mmeval.tasks.mme_unify.output.reading`).

Visual_CoT.json and others      the question files, with the answers in their rows
media/<task>_<row>_<n>          the media of the answers
media/<task>_<row>_frame<n>     up to 16 key frames of a clip
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.content import Media, suffix_for
from mmeval.errors import ContentError, MissingExtraError, UsageError
from mmeval.interchange import OWN, AnsweredRun, Exported, exact_parts
from mmeval.records import Trial, content_digest
from mmeval.tasks.mme_unify.clips.frames import key_frames
from mmeval.tasks.mme_unify.loader import CATEGORIES, TASK, question_of
from mmeval.tasks.mme_unify.mme_unify_choice import CHOICE
from mmeval.tasks.mme_unify.output.fields import FRAMES, answer_in, fields_of
from mmeval.tasks.mme_unify.output.reading import seal
from mmeval.wording import counted

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
    return Exported(writer.counts["answers"], writer.counts["media"], (*left_out, *writer.gaps()), (*writer.notes(),))


class _Writer:
    """Collects the rows of each file, and writes the media of an answer at once."""

    def __init__(self, folder: Path) -> None:
        self.rows: dict[str, dict[int, dict[str, Any]]] = {}
        self.counts: Counter[str] = Counter()
        self._digests: dict[tuple[int, str], str] = {}
        self._folder = folder

    def add(self, trial: Trial) -> bool:
        """Take a trial; false if it has no place."""
        sample = trial.sample
        if sample.fault:
            self.counts["faulty"] += 1
            return True
        if TASK not in sample.metadata:
            return False
        told = content_digest(b"", []) if trial.output is None else content_digest(b"answer", [("", trial.output)])
        if self._digests.setdefault((trial.repeat, sample.id), told) != told:
            raise UsageError(
                f"two tasks have different answers to {sample.id}, repeat {trial.repeat}, and the layout has one place "
                "for both; export one of them with --tasks"
            )
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
            (self._folder / f"{name}.json").write_text(json.dumps(document, indent=1, allow_nan=False) + "\n")

    def gaps(self) -> Iterator[str]:
        lines = (
            ("failed", f"the model had failed; the row has no answer, and says so under {OWN!r} alone"),
            ("faulty", "the sample is damaged and was not asked; no row"),
            ("unframed", "its clip cannot be decoded here; without its frames (output2), which the scripts read"),
        )
        yield from (f"{counted(self.counts[key], 'answer')}: {how}" for key, how in lines if self.counts[key])

    def notes(self) -> Iterator[str]:
        lines = (
            ("exact", f"more than the fields of the layout hold; its parts stand under {OWN!r}"),
            ("repeats", "further ones to the same question, in *_repeat<n>.json"),
        )
        yield from (f"{counted(self.counts[key], 'answer')}: {how}" for key, how in lines if self.counts[key])

    def _fields(self, trial: Trial) -> dict[str, Any]:
        own: dict[str, Any] = {"left_out": list(trial.left_out)} if trial.left_out else {}
        if trial.output is None:
            assert trial.error is not None
            self.counts["failed"] += 1
            return {OWN: {"error": trial.error.to_json(), **own}}
        self.counts["answers"] += 1
        self.counts["repeats"] += trial.repeat > 0
        output, task = trial.output, trial.sample.metadata[TASK]
        media = {
            self._put(medium, trial, number): medium for number, medium in enumerate(dict.fromkeys(output.media()), 1)
        }
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
            yield self._write(trial, f"frame{number:02}.jpg", frame)

    def _put(self, medium: Media, trial: Trial, number: int) -> str:
        return self._write(trial, f"{number}{suffix_for(medium.mime)}", medium.read())

    def _write(self, trial: Trial, name: str, content: bytes) -> str:
        stem = trial.sample.id.replace("/", "_") + (f"_repeat{trial.repeat}" if trial.repeat else "")
        file = self._folder / "media" / f"{stem}_{name}"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
        self.counts["media"] += 1
        return file.relative_to(self._folder).as_posix()
