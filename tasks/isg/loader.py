"""Reads ISG-Bench's rows from ``ISG-Bench.jsonl``.

The pictures are in the folder ``images`` or the archive ``images.zip`` next to it.

    {"id": "0000", "Category": "Prediction", "predict": {...},
     "Query": [{"type": "text", "content": "..."}, {"type": "image", "content": "images/0000_q1.png"}],
     "Golden": [...]}

``Query`` is the question and ``Golden`` is the reference, block by block. The labels
are ``category``, ``predict`` (the questions, :mod:`mmeval.metrics.judged.isg.rows`),
``paths`` (the paths of the pictures as in the data), and ``irregularities`` (what is
odd about a row that can be read). The option ``judge_file`` is the name or the pattern
of a file of the released judge script. The option adds two labels: ``result`` is the
file's result for the row, and ``earlier`` lists the results of earlier lines with the
same id. With ``questions`` the reference is the row's ``predict`` as JSON, for models
that write questions, and the label ``row`` contains both sides as in the data.
"""  # noqa: E501

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mmeval.dataset import (
    BadRow,
    DataSource,
    InterleavedDataset,
    MediaFolder,
    SameStem,
    read_jsonl,
    row_files,
    row_id,
    unpacked,
)
from mmeval.errors import MissingDataError, UsageError
from mmeval.media import Interleaved, Part, media_part, path_inside, text_part
from mmeval.metrics.judged.isg.isg_recorded import ANSWERED, EARLIER, RESULT
from mmeval.metrics.judged.isg.rows import (
    CATEGORY,
    GRAPH,
    irregularities,
    tokens_between,
)
from mmeval.records import Sample, user
from mmeval.system.wording import listed
from mmeval.tasks.isg.subtasks import TASKS

FILE, FOLDER, ARCHIVE = "ISG-Bench.jsonl", "images", "images.zip"
PATHS, IRREGULARITIES = "paths", "irregularities"
ROW = "row"
OPTIONS = ("data_file", "judge_file", "questions")


def load(source: DataSource) -> InterleavedDataset:
    """Loads the rows.

    Raises MissingDataError if the file is missing, and UnknownNameError for an unknown
    option.
    """
    source.check_options(OPTIONS)
    options = {"data_file": source.options.get("data_file", FILE)}
    pattern = source.options.get("judge_file")
    results = None if pattern is None else _results(source.folder, str(pattern))
    files = row_files(replace(source, options=options))
    root = source.folder.absolute()
    questions = source.options.get("questions") is True
    packed = not (root / FOLDER).is_dir() and (root / ARCHIVE).is_file()
    reader = IsgRowReader(
        results, unpacked(root / ARCHIVE) if packed else None, questions=questions
    )
    return InterleavedDataset(
        files=files, root=root, read=reader.read, labels=known_labels
    )


def known_labels(row: Mapping[str, Any]) -> dict[str, str]:
    """Returns the label that tasks use to select rows.

    The label is empty for an unknown category.
    """
    category = row.get("Category")
    return {CATEGORY: category if isinstance(category, str) else ""}


@dataclass(frozen=True)
class IsgRowReader:
    """Turns rows into samples.

    ``results`` contains the lines of a judge file by id, in order. ``results`` is None
    without a judge file. ``archive`` is the folder of the unpacked pictures. The folder
    may contain a folder ``images``.
    """

    results: Mapping[str, Sequence[Mapping[str, Any]]] | None = None
    archive: Path | None = None
    questions: bool = field(default=False, kw_only=True)
    _find: SameStem = field(default_factory=SameStem)

    def read(
        self, row: Mapping[str, Any], position: str, resolve: MediaFolder
    ) -> Sample | BadRow:
        """Turns a row into a sample. Raises UsageError for an invalid id."""
        category, predict = row.get("Category"), row.get("predict")
        labels: dict[str, Any] = {**known_labels(row), GRAPH: predict}
        odd: list[str] = []
        if category not in TASKS.values():
            odd.append(f"Category {category!r:.80} is not a subtask")
        try:
            query = self._content(row, "Query", resolve, odd)
            golden = self._content(row, "Golden", resolve, odd)
        except UsageError as error:
            return BadRow("", str(error), labels=labels)
        sample_id = row_id(row, position)
        odd += irregularities(predict, tokens_between(query, golden))
        sides = {key: row[key] for key in ("Query", "Golden")}
        if self.questions:
            reference = Interleaved((text_part(json.dumps(predict)),))
            labels[ROW] = sides
        else:
            reference = golden
            labels[PATHS] = {}
            for key, blocks in sides.items():
                paths = [
                    block["content"] for block in blocks if block["type"] == "image"
                ]
                labels[PATHS][key] = paths
        if odd:
            labels[IRREGULARITIES] = odd
        if self.results is not None:
            *earlier, last = self.results.get(sample_id, ({RESULT: None},))
            labels[RESULT] = last[RESULT]
            if earlier:
                labels[EARLIER] = earlier
        return Sample(
            id=sample_id,
            input=(user(*query.parts),),
            references=(reference,),
            metadata=labels,
        )

    def _content(
        self, row: Mapping[str, Any], key: str, resolve: MediaFolder, odd: list[str]
    ) -> Interleaved:
        """Reads one side of a row. Adds odd names of pictures to ``odd``."""
        blocks = row.get(key)
        if not isinstance(blocks, list) or not blocks:
            raise UsageError(f'"{key}" has no blocks')
        parts: list[Part] = []
        for number, block in enumerate(blocks, 1):
            kind = content = None
            if isinstance(block, dict):
                kind, content = block.get("type"), block.get("content")
            if kind not in ("text", "image") or not isinstance(content, str):
                raise UsageError(
                    f'block {number} of "{key}" is neither a text nor a picture'
                )
            if kind == "text":
                parts.append(text_part(content))
                continue
            if self.archive is not None:
                inner = self.archive / FOLDER
                start = inner if inner.is_dir() else self.archive
                resolve = MediaFolder(self.archive, start)
                content = content.removeprefix(f"{FOLDER}/")
            picture = self._find(resolve, content, f'"{key}"', "image")
            if picture.name:
                odd.append(f"{content} is the file {picture.name}")
            parts.append(media_part(picture.media, "image"))
        return Interleaved(tuple(parts))


def _results(
    folder: Path,
    pattern: str,
) -> dict[str, list[dict[str, Any]]]:
    """Reads the results of a judge file by sample.

    Each result also states if its line has an answer. Raises MissingDataError unless
    exactly one file matches the pattern.
    """
    names: list[str] = []
    if "/" not in pattern:
        files = sorted(folder.glob(pattern))
        names = [file.name for file in files if file.is_file()]
    if len(names) != 1:
        fault = f"no judge file matches {pattern!r}"
        if names:
            fault = f"several judge files match {pattern!r}: {listed(names, 5)}"
        raise MissingDataError(
            f"{folder}: {fault}. Name one file with dataset_kwargs: judge_file"
        )
    lines: dict[str, list[dict[str, Any]]] = {}
    for stored in read_jsonl(path_inside(folder, names[0])):
        row = stored.values
        if not isinstance(row, dict):
            continue
        output = row.get("output")
        first = output[0] if isinstance(output, list) and output else None
        # The released aggregator ignores an answer that begins with an empty text.
        answered = isinstance(first, dict) and (
            first.get("type") != "text" or first.get("content") != ""
        )
        line = {RESULT: row.get("result"), ANSWERED: answered}
        lines.setdefault(str(row.get("id")), []).append(line)
    return lines
