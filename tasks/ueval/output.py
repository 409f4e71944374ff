"""The format ``ueval``: answers in the files that UEval's scripts use.

For a scored run the results file is also written.

    [{"id": "501", "text_answer": "1. ...", "image_answer": ["images/501_1.png", "images/501_2.png"]}]

answers.json       the answers
images/<id>_<n>    their pictures; media of other kinds are in other/
results.json       each question with its verdicts, and the means over questions
                   (:mod:`mmeval.tasks.ueval.results_file`)

``image_answer`` may be one path or null, and its list may contain empty entries. The
names of both answer fields are options, since the scripts of some models use other
names. An empty name means that the model was not asked for this kind. Everything else
is as in :mod:`mmeval.interchange.row_layout`.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mmeval.errors import UsageError
from mmeval.interchange import (
    OWN,
    AnsweredRun,
    AnswerFormat,
    ExportSummary,
    FindMedium,
    MediaRoot,
    PlacedRow,
    Row,
    RowAnswers,
    RowFolder,
    RowLayout,
    ScoredTrial,
    files_named,
    rows_of_list,
)
from mmeval.media import Interleaved, Part, PartKind, text_part
from mmeval.metrics.judged.ueval.ueval_rubric import OUTPUTS
from mmeval.records import Sample
from mmeval.tasks.ueval.loader import TASK
from mmeval.tasks.ueval.results_file import item_of, results_file, summary_of

ANSWERS = "answers.json"
TEXT, IMAGE = "text_answer", "image_answer"


def read_output(
    path: Path,
    text_field: str = TEXT,
    image_field: str = IMAGE,
    media_root: MediaRoot = (),
) -> RowAnswers:
    """Reads the answers in a file, or in a folder with ``answers.json``.

    ``text_field`` and ``image_field`` name the fields of the text and the pictures. An
    empty name means that the model was not asked for this kind.
    :class:`mmeval.interchange.MediaPaths` describes ``media_root``. Raises
    MissingDataError if there are no answers, and UsageError for a damaged file.
    """
    return RowAnswers(_layout(_Fields(text_field, image_field)), path, media_root)


def write_output(run: AnsweredRun, folder: Path) -> ExportSummary:
    """Fills the folder of one model. Raises the errors of :meth:`ExportFolder.fill`."""
    return _UevalFolder(folder).fill(run)


@dataclass(frozen=True)
class _Fields:
    """The names of a row's fields with the text and the pictures."""

    text: str
    image: str

    def rows(self, file: Path) -> Iterator[PlacedRow]:
        """Returns the rows of a file.

        Raises UsageError if no row contains one of the fields.
        """
        rows = list(rows_of_list(file))
        keys: set[str] = set()
        for _, value in rows:
            if isinstance(value, dict) and value.get("id") is not None:
                keys.update(value)
        if keys and keys.isdisjoint((self.text, self.image)):
            raise UsageError(
                f"{file}: no entry has {self.text!r} or {self.image!r}; set "
                "text_field= and image_field="
            )
        return iter(rows)

    def answer(self, row: Row, find: FindMedium) -> Interleaved:
        """Returns the text, followed by the pictures."""
        parts: list[Part] = []
        text = self._text(row)
        if text:
            parts.append(text_part(text))
        for path in self._pictures(row):
            parts.append(Part("image", media=find(path)))
        return Interleaved(tuple(parts))

    def sealed(self, row: Row) -> list[Any]:
        return [self._text(row), self._pictures(row)]

    def left_out(self) -> tuple[PartKind, ...]:
        kinds: list[PartKind] = []
        if not self.text:
            kinds.append("text")
        if not self.image:
            kinds.append("image")
        return tuple(kinds)

    def _text(self, row: Row) -> str:
        value = row.get(self.text)
        if not isinstance(value, str | None):
            raise UsageError(f"{self.text!r} is {value!r:.80}; write a string or null")
        return value or ""

    def _pictures(self, row: Row) -> list[str]:
        value = row.get(self.image)
        paths = value if isinstance(value, list) else [value]
        if not all(isinstance(path, str | None) for path in paths):
            raise UsageError(
                f"{self.image!r} is {value!r:.80}; write a list of paths, one path, or "
                "null"
            )
        return [path for path in paths if path]


def _row(
    sample: Sample, output: Interleaved | None, files: Mapping[str, str]
) -> dict[str, Any]:
    if output is None:
        return {"id": sample.id, TEXT: "", IMAGE: []}
    pictures = [files[picture.sha256] for picture in output.media("image")]
    return {"id": sample.id, TEXT: output.words, IMAGE: pictures}


def _layout(fields: _Fields) -> RowLayout:
    return RowLayout(
        files=partial(files_named, ANSWERS),
        rows=fields.rows,
        file_of=lambda _: ANSWERS,
        labels=frozenset({TASK}),
        answer=fields.answer,
        row=_row,
        sealed=fields.sealed,
        keeps_place=False,
        left_out=fields.left_out(),
        pictures="images/{}_{}",
        media="other/{}_{}",
    )


NOTES = {
    "exact": "they are not a text followed by pictures; the parts are kept under "
    f"{OWN!r}",
    "repeats": "second and later answers to a question, in answers_repeat<n>.json",
}


class _UevalFolder(RowFolder):
    """The answers of a run, and the results file if the run is scored."""

    layout = _layout(_Fields(TEXT, IMAGE))
    benchmark = "UEval"
    entry = "entry"
    notes = NOTES
    scored = True
    unanswered = f"the entry is empty, with the reason under {OWN!r}"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._results: dict[str, list[dict[str, Any]]] = {}

    def add(self, scored: ScoredTrial) -> None:
        super().add(scored)
        if scored.scores.keys() & set(OUTPUTS):
            name = self.file_of(scored.trial)
            row = self.rows[name][scored.trial.sample.id]
            item = item_of(scored, text=row[TEXT], pictures=row[IMAGE])
            self._results.setdefault(name, []).append(item)

    def finish(self) -> Sequence[str]:
        for name, items in self._results.items():
            document = {"items": items, "summary": summary_of(items)}
            self.write_document(results_file(name), document)
        answers = sum(len(rows) for rows in self.rows.values())
        scored = sum(len(items) for items in self._results.values())
        super().finish()
        if 0 < scored < answers:
            unscored = answers - scored
            return [f"questions without scores, left out of results.json: {unscored:,}"]
        return []


FORMAT = AnswerFormat(
    about="The answer files of UEval's scripts; a scored run also has their "
    "results.json.",
    read=read_output,
    write=write_output,
)
