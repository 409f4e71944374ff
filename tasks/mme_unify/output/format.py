"""The format ``mme_unify``: answers in the result files of MME-Unify's scripts.

A result file is a question file with further fields for the answer in each row.

    {"id": 4, "category": "Text-Image_Generation", ..., "output": {"output_image": "media/tig_4_1.png"}}

Visual_CoT.json and others      the question files, with the answers in their rows
media/<task>_<row>_<n>          the media of the answers
media/<task>_<row>_frame<n>     up to 16 key frames of a clip

The fields are described in :mod:`mmeval.tasks.mme_unify.output.fields`. The keys of a
row identify its task, so files may have any name. All ``*.json`` files in the folder,
and in the released folders below it, are read. Ids are not unique, so an answer is
found by the question in its row: its id, its words, and the names of its media, if
present. A missing file becomes a part without a medium. A row without a field for the
answer, or with an ``error``, counts as an empty answer. An empty answer is wrong in
understanding and in the unify tasks, since their scripts count all rows. In generation
it is left out. Everything else is as in :mod:`mmeval.interchange.row_layout`.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmeval.errors import ContentError, MissingExtraError
from mmeval.interchange import (
    OWN,
    AnsweredRun,
    AnswerFormat,
    ExportSummary,
    FindMedium,
    MediaRoot,
    Row,
    RowAnswers,
    RowFolder,
    RowLayout,
    rows_of_list,
    stem_of,
)
from mmeval.media import Interleaved
from mmeval.records import Sample, Trial
from mmeval.tasks.mme_unify.clips.frames import key_frames
from mmeval.tasks.mme_unify.loader import CATEGORIES, TASK, question_of
from mmeval.tasks.mme_unify.mme_unify_choice import CHOICE
from mmeval.tasks.mme_unify.output.fields import (
    ANSWER_KEYS,
    FRAMES,
    fields_of,
    parts_in,
)
from mmeval.tasks.mme_unify.output.rows import (
    question_in,
    questions_of,
    result_files,
    task_in,
)

NAMES: Mapping[str, str] = {
    **dict.fromkeys(CATEGORIES["understanding"].values(), "Understanding_Unified.json"),
    **dict.fromkeys(CATEGORIES["generation"].values(), "Generation_Unified.json"),
    "iee": "Unified_Explanation.json",
    "csq": "Common_Sense_Question.json",
    "al": "Auxiliary_Lines..json",
    "sd": "Spot_Diff.json",
    "vcot": "Visual_CoT.json",
}
"""The file for each task, with the name of the released file."""


def read_output(path: Path, media_root: MediaRoot = ()) -> RowAnswers:
    """Reads the answers in a file, or in all result files in a folder.

    See :class:`mmeval.interchange.MediaPaths` for ``media_root``. Raises
    MissingDataError if there are no answers, and UsageError for a damaged file.
    """
    return RowAnswers(LAYOUT, path, media_root)


def write_output(run: AnsweredRun, folder: Path) -> ExportSummary:
    """Fills the folder of one model. Raises the errors of :meth:`ExportFolder.fill`."""
    return _MmeUnifyFolder(folder).fill(run)


def _answer(row: Row, find: FindMedium) -> Interleaved:
    if row.get("error"):
        return Interleaved()
    return Interleaved(tuple(parts_in(task_in(row), row, find)))


def _row(
    sample: Sample, output: Interleaved | None, files: Mapping[str, str]
) -> dict[str, Any]:
    labels = sample.metadata
    question = question_of(labels)
    if output is None:
        return question
    return question | fields_of(labels[TASK], output, files, labels.get(CHOICE, ()))


def _sealed(row: Row) -> dict[str, Any]:
    if row.get("error"):
        return {}
    return {key: row[key] for key in ANSWER_KEYS if key in row}


LAYOUT = RowLayout(
    files=result_files,
    rows=rows_of_list,
    file_of=lambda sample: NAMES[sample.metadata[TASK]],
    position=lambda sample_id: int(sample_id.rpartition("/")[2]),
    labels=frozenset({TASK}),
    key=question_in,
    keys=questions_of,
    keyless="rows without a known task",
    unique=False,
    answer=_answer,
    row=_row,
    sealed=_sealed,
    media="media/{}_{}",
)
GAPS = {
    "unframed": "the clip cannot be decoded on this machine, so the frames that the "
    "scripts read (output2) are missing",
}
NOTES = {
    "exact": f"the fields cannot express all parts; the parts are kept in {OWN!r}",
    "repeats": "second and later answers to a question are in *_repeat<n>.json",
}


class _MmeUnifyFolder(RowFolder):
    """Writes the answers of a run, with the key frames of clips."""

    layout = LAYOUT
    benchmark = "MME-Unify"
    entry = "row"
    gaps = GAPS
    notes = NOTES
    unanswered = f"the row has no answer, and the reason is in {OWN!r}"

    def stem(self, trial: Trial) -> str:
        return stem_of(trial.sample.id.replace("/", "_"), trial.repeat)

    def fields(
        self, trial: Trial, output: Interleaved, files: Mapping[str, str]
    ) -> dict[str, Any]:
        row = super().fields(trial, output, files)
        clips = output.media("video")
        if not clips or row.get(FRAMES) != []:
            return row
        # The scripts read frames instead of the clip.
        try:
            frames = key_frames(clips[0])
        except (ContentError, MissingExtraError):
            # The clip is damaged, or no decoder is installed.
            self.counts["unframed"] += 1
            return row
        for number, frame in enumerate(frames, 1):
            name = f"media/{self.stem(trial)}_frame{number:02}.jpg"
            row[FRAMES].append(self.write(name, frame))
        return row


FORMAT = AnswerFormat(
    about="The result files of MME-Unify's scripts: question files with the answers in "
    "their rows.",
    read=read_output,
    write=write_output,
)
