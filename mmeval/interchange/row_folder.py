"""Writes answers in a row layout (:mod:`mmeval.interchange.row_layout`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from mmeval.interchange.contract import ScoredTrial
from mmeval.interchange.export_folder import ExportFolder, stem_of
from mmeval.interchange.row_layout import RowLayout, repeat_file
from mmeval.interchange.sidecar import OWN
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial


class RowFolder(ExportFolder):
    """Collects the rows of each file. Media are written at once.

    ``rows`` maps the name of each file to its rows, by the ids of their samples.
    """

    layout: ClassVar[RowLayout]

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.rows: dict[str, dict[str, dict[str, Any]]] = {}

    def takes(self, sample: Sample) -> bool:
        return self.layout.labels <= sample.metadata.keys()

    def add(self, scored_trial: ScoredTrial) -> None:
        trial = scored_trial.trial
        sidecar = self.mmeval_fields(trial)
        output = trial.output
        if output is None:
            row = self.layout.row(trial.sample, None, {})
        else:
            # each medium of an answer is written once
            media: dict[str, Media] = {}
            pictures = output.media("image") if self.layout.pictures else ()
            distinct = dict.fromkeys((*pictures, *output.media()))
            for number, medium in enumerate(distinct, 1):
                has_own_folder = medium in pictures
                form = self.layout.pictures if has_own_folder else self.layout.media
                file = self.put(medium, form.format(self.stem(trial), number))
                media[file] = medium
            files = {medium.sha256: file for file, medium in media.items()}
            row = self.fields(trial, output, files)
            if not self.is_given_back(row, output, media):
                sidecar |= self.exact_fields(output, files, self.layout.seal(row))
        if sidecar:
            row[OWN] = sidecar
        rows = self.rows.setdefault(self.file_of(trial), {})
        rows[trial.sample.id] = row

    def finish(self) -> Sequence[str]:
        for name, rows in self.rows.items():
            ids = list(rows)
            if self.layout.position is not None:
                ids.sort(key=self.layout.position)
            self.write_rows(name, [rows[id] for id in ids])
        return ()

    def file_of(self, trial: Trial) -> str:
        return repeat_file(self.layout.file_of(trial.sample), trial.repeat)

    def stem(self, trial: Trial) -> str:
        """Returns the start of the file names of an answer's media."""
        return stem_of(trial.sample.id, trial.repeat)

    def fields(
        self, trial: Trial, output: Interleaved, files: Mapping[str, str]
    ) -> dict[str, Any]:
        """Returns the row of an answer, without the key ``mmeval``."""
        return self.layout.row(trial.sample, output, files)

    def is_given_back(
        self, row: Mapping[str, Any], output: Interleaved, media: Mapping[str, Media]
    ) -> bool:
        """Returns True if the row reproduces the answer without the key ``mmeval``.

        ``media`` maps file names to media.
        """
        return self.layout.answer(row, media.get) == output

    def write_rows(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        if name.endswith(".jsonl"):
            self.write_lines(name, rows)
        else:
            self.write_document(name, list(rows))

    def write_document(self, name: str, document: object) -> None:
        text = json.dumps(document, indent=1, allow_nan=False)
        (self.path / name).write_text(f"{text}\n")
