"""Reads MME-Unify's rows from the authors' seven question files, with the hub's media.

``dataset_kwargs: {file: NAME}`` names the file (``FILES``). Each row belongs to one of
the file's tasks. ``mask: true`` adds the mask of an editing row to the question. Media
paths are relative to the data folder.

The id of a sample is ``<task>/<row>``, with the row counted from 0, since the ids in
the data are not unique. The labels of a sample are the row's keys, and ``paths`` with
the paths of media. The ``action`` and ``coordinate`` of a maze are as in the data.
Further labels are added:

- ``mme_unify_task`` is the task.
- ``question_key`` is the same for the two rows of a question.
- ``usable`` is true if there is a medium to compare with.
- ``size`` and ``last`` describe a maze (``last`` is its last row).
- ``irregularities`` lists what is odd about a row that can still be read.

The candidates are the pictures to choose from, with the right picture first, or the
states of a maze in order. A candidate with a missing file is a part without a medium,
so that metrics that do not need it can still score.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mmeval.dataset import BadRow, DataSource, InterleavedDataset, MediaFolder, SameStem
from mmeval.errors import MissingDataError, UnknownNameError, UsageError
from mmeval.media import Interleaved, Part, media_part, path_inside, text_part
from mmeval.records import Sample, digest, user
from mmeval.system.wording import listed
from mmeval.tasks.mme_unify.mme_unify_choice import are_texts
from mmeval.tasks.mme_unify.mme_unify_maze import (
    ACTION,
    COORDINATE,
    cell_of,
    maze_fault,
)
from mmeval.tasks.mme_unify.turns import MazeTurn, answer_of

TASK = "mme_unify_task"
KEY = "question_key"
PATHS = "paths"
IRREGULARITIES = "irregularities"
USABLE = "usable"
PROMPT = "Text_Prompt"
OPTIONS = ("file", "mask")
_UNIFY = "U[in][in]fy_[Cc]apability"
FILES: Mapping[str, tuple[str, ...]] = {
    "understanding": ("Understanding/Understanding_Unified.json",),
    "generation": ("Generation/Generation_Unified.json",),
    "iee": (f"{_UNIFY}/Image_Editing_and_Expla*ning/Unified_Explanation.json",),
    "csq": (f"{_UNIFY}/Common_Sense_Question/Common_Sense_Question.json",),
    "al": (
        f"{_UNIFY}/Auxiliary_Lines/Auxiliary_Lines..json",
        f"{_UNIFY}/Auxiliary_Lines/Auxiliary_Lines.json",
    ),
    "sd": (f"{_UNIFY}/SpotDiff/Spot_Diff.json",),
    "vcot": (f"{_UNIFY}/Visual_CoT/Visual_CoT.json",),
}
"""The possible paths of each question file. One folder has two spellings, and one file
has two dots in its name."""
CATEGORIES: Mapping[str, Mapping[str, str]] = {
    "understanding": {
        "single image perception and understanding": "sipu",
        "multiple images and text interlaced": "mitiu",
        "video perception and understanding": "vpu",
    },
    "generation": {
        "conditional image to video generation": "civg",
        "fine-grained image reconstruction": "fir",
        "text-image editing": "tie",
        "text-image generation": "tig",
        "text-to-video generation": "tvg",
        "video prediction": "vp",
    },
}
"""The tasks of the two files with several tasks, by category. The data spell categories
with spaces or underscores, in upper or lower case."""
_CANDIDATES = {
    "iee": ("edited_image", "fake_image1", "fake_image2", "fake_image3"),
    "csq": ("image", "fake_image1", "fake_image2", "fake_image3"),
    "al": (
        "image_Auxiliary_lines",
        "image_Auxiliary_lines_negative1",
        "image_Auxiliary_lines_negative2",
        "image_Auxiliary_lines_negative3",
    ),
    "sd": (
        "img_diff_a",
        "img_diff_a_negative1",
        "img_diff_a_negative2",
        "img_diff_a_negative3",
    ),
}
_SHOWN = {
    "iee": ("image",),
    "csq": (),
    "al": ("image",),
    "sd": ("img_a", "img_b"),
}
_SIZE = re.compile(r"data_([1-9][0-9]?)x\1")
_ADDED = (TASK, KEY, PATHS, IRREGULARITIES, USABLE, ACTION, COORDINATE, "size", "last")
_MARKER = "<img>"
_log = logging.getLogger(__name__)


def load(source: DataSource) -> InterleavedDataset:
    """Loads the rows of a question file.

    Raises MissingDataError if the file is missing, UsageError if there are several
    copies, and UnknownNameError for an unknown option or file.
    """
    source.check_options(OPTIONS)
    name = str(source.options.get("file", ""))
    if name not in FILES:
        raise UnknownNameError(
            "question file of MME-Unify",
            name,
            FILES,
            f"Set dataset_kwargs: {{file: {'|'.join(FILES)}}}",
        )
    root = source.folder.absolute()
    files: list[Path] = []
    for folder in (root, root / "Unify_Dataset"):
        for pattern in FILES[name]:
            files += [file for file in sorted(folder.glob(pattern)) if file.is_file()]
    if not files:
        file_name = FILES[name][0].replace(_UNIFY, "Uinfy_capability")
        file_name = file_name.replace("Expla*ning", "Explaning")
        raise MissingDataError(
            f"{root}: the authors' question file {file_name} is missing. Put their "
            "Unify_Dataset next to the media, and name the folder with --data_dir"
        )
    if len(files) > 1:
        raise UsageError(
            f"{root}: there are {len(files)} copies of the question file. Keep one of "
            f"{', '.join(map(str, files))}"
        )
    reader = MmeUnifyRowReader(name, mask=bool(source.options.get("mask")))
    return InterleavedDataset(
        files=(path_inside(root, files[0].relative_to(root).as_posix()),),
        root=root,
        media_folder=root,
        read=reader.read,
        labels=reader.known_labels,
    )


class _Content(NamedTuple):
    """The content of a row: the question, the reference, and the candidates."""

    question: Sequence[Part]
    reference: Interleaved | None
    candidates: Sequence[Interleaved] = ()


@dataclass(frozen=True)
class MmeUnifyRowReader:
    """Converts the rows of a question file to samples."""

    file: str
    mask: bool = False
    _find: SameStem = field(default_factory=SameStem)
    _logged: set[str] = field(default_factory=set)
    """The tasks of which one odd row has been logged as info."""

    def read(
        self, row: Mapping[str, Any], position: str, resolve: MediaFolder
    ) -> Sample | BadRow:
        """Converts a row to a sample."""
        number = int(position) - 1
        task = self._task(row)
        if not task:
            fault = (
                f'"category" is {row.get("category")!r:.80}, which is not a task of '
                f"{self.file}"
            )
            return BadRow("", fault, f"{self.file}/{number}")
        sample_id, labels = f"{task}/{number}", _labels(row, task)
        reader = _UnifyRow(row, resolve, self._find)
        try:
            content = reader.content(task, mask=self.mask)
        except UsageError as error:
            return BadRow("", str(error), sample_id, labels)
        if reader.odd:
            labels[IRREGULARITIES] = reader.odd
        if reader.notable:
            self._log(task, sample_id, reader.notable)
        return Sample(
            id=sample_id,
            input=(user(*content.question),),
            references=() if content.reference is None else (content.reference,),
            metadata=labels,
            candidates=tuple(content.candidates),
        )

    def known_labels(self, row: Mapping[str, Any]) -> dict[str, str]:
        """Returns the label by which tasks select rows.

        A row of an unknown task has no such label.
        """
        task = self._task(row)
        return {TASK: task} if task else {}

    def _task(self, row: Mapping[str, Any]) -> str:
        if self.file in CATEGORIES:
            return task_of(self.file, row.get("category"))
        return self.file

    def _log(
        self,
        task: str,
        sample_id: str,
        notable: Sequence[str],
    ) -> None:
        """Logs what is odd about a row, as info only for the first odd row of a
        task."""
        if task in self._logged:
            _log.debug("%s: %s", sample_id, "; ".join(notable))
            return
        self._logged.add(task)
        _log.info(
            "%s: %s (--verbosity DEBUG logs other rows like it)",
            sample_id,
            listed(notable, 1),
        )


def task_of(file: str, category: Any) -> str:
    """Returns the task of a category in ``understanding`` or ``generation``.

    Returns an empty string for an unknown category.
    """
    if not isinstance(category, str):
        return ""
    name = category.replace("_", " ").strip().casefold()
    return CATEGORIES[file].get(name, "")


def question_of(labels: Mapping[str, Any]) -> dict[str, Any]:
    """Restores the row from which a sample was made, using the sample's labels."""
    row = {key: value for key, value in labels.items() if key not in _ADDED}
    if isinstance(labels[PATHS], list):
        return {**row, "image": labels[PATHS]}
    data = dict(labels[PATHS])
    if ACTION in labels:
        path = {"Action": labels[ACTION], "Coordinate": labels[COORDINATE]}
        data = path | data
    return {**row, "data": data}


def _labels(row: Mapping[str, Any], task: str) -> dict[str, Any]:
    row_data = row.get("data")
    data: Mapping[str, Any] = row_data if isinstance(row_data, dict) else {}
    labels = dict(row)
    labels.pop("image", None)
    labels.pop("data", None)
    question = {key: value for key, value in row.items() if key != "question_id"}
    labels[TASK] = task
    labels[KEY] = digest(question)
    if "image" in row:
        labels[PATHS] = row["image"]
    else:
        labels[PATHS] = {
            key: path for key, path in data.items() if isinstance(path, str)
        }
    if task in CATEGORIES["generation"].values():
        labels[USABLE] = bool(data.get("video" if task in ("civg", "vp") else "image"))
    if task == "vcot":
        labels |= {ACTION: data.get("Action"), COORDINATE: data.get("Coordinate")}
        size = _SIZE.fullmatch(str(row.get("subcategory")))
        if size:
            labels["size"] = int(size[1])
            labels["last"] = int(size[1]) - 1
    return labels


@dataclass
class _UnifyRow:
    """Reads a row.

    ``odd`` collects irregularities. The irregularities in ``notable`` are logged. The
    texts in ``odd`` are part of the sample's digest, so they must not change.
    """

    row: Mapping[str, Any]
    resolve: MediaFolder
    find: SameStem
    odd: list[str] = field(default_factory=list)
    notable: list[str] = field(default_factory=list)

    def content(self, task: str, *, mask: bool) -> _Content:
        if task in ("sipu", "mitiu", "vpu"):
            return self._understanding("video" if task == "vpu" else "image")
        if task in _CANDIDATES:
            return self._unify(task)
        return self._maze() if task == "vcot" else self._generation(task, mask=mask)

    def _understanding(self, kind: Literal["image", "video"]) -> _Content:
        paths = self.row.get("image")
        if not isinstance(paths, list) or not paths:
            raise UsageError('"image" is not a list of paths')
        media = [self._medium(path, "image", kind) for path in paths]
        # Media replace the markers; extra media precede the text.
        text = "\n".join((self._text("question"), *self._choice()))
        texts = text.split(_MARKER)
        markers = len(texts) - 1
        marker_count = min(markers, len(media))
        if marker_count and markers != len(media):
            self.odd.append(f"{markers} places for {len(media)} media")
        leading = len(media) - marker_count
        texts_between = [*texts[:marker_count], _MARKER.join(texts[marker_count:])]
        parts = [*media[:leading], text_part(texts_between[0])]
        for medium, piece in zip(media[leading:], texts_between[1:], strict=True):
            parts += [medium, text_part(piece)]
        question = [part for part in parts if part.media is not None or part.text]
        return _Content(question, Interleaved((text_part(self.row["answer"]),)))

    def _generation(self, task: str, *, mask: bool) -> _Content:
        words = self._text(PROMPT, blank=task == "fir").strip()
        prompt = [text_part(words)] if words else []
        if task == "tvg":
            clip = None
            if self._data.get("image"):
                clip = Interleaved((self._part("image", "video"),))
            return _Content(prompt, clip)
        picture = self._part("image")
        if task == "fir":
            return _Content([picture], Interleaved((picture,)))
        if task == "tig":
            return _Content(prompt, Interleaved((picture,)))
        if task == "tie":
            inputs = [picture]
            if mask and self._data.get("mask_img"):
                inputs.append(self._part("mask_img"))
            edited = self._part("edited_image")
            return _Content([*inputs, *prompt], Interleaved((edited,)))
        clip = Interleaved((self._part("video", "video"),))
        return _Content([picture, *prompt], clip)

    def _unify(self, task: str) -> _Content:
        inputs = [self._part(key) for key in _SHOWN[task]]
        choice, answer = self._choice(), self.row["answer"]
        candidates = [self._candidate(key) for key in _CANDIDATES[task]]
        words = [self._text("question")] if task != "sd" else []
        reference = []
        if task == "iee":
            # The right option comes first and the letters are out of order, so the
            # letter before an option's text identifies it.
            letter = re.compile(rf"\W*{answer}\s*[:.)]")
            options = [option for option in choice if letter.match(option)]
            if options:
                reference.append(text_part(options[0]))
            else:
                self.odd.append("no option has the letter of the answer")
        else:
            words += choice
            reference.append(text_part(answer))
        reference += [part for part in candidates[0].parts if not part.dangling]
        question = [*inputs, text_part("\n".join(words))]
        return _Content(question, Interleaved(tuple(reference)), candidates)

    def _maze(self) -> _Content:
        actions, coordinates = self._data.get("Action"), self._data.get("Coordinate")
        fault = maze_fault({ACTION: actions, COORDINATE: coordinates})
        if fault or actions is None or coordinates is None:
            raise UsageError(fault)
        if not _SIZE.fullmatch(str(self.row.get("subcategory"))):
            raise UsageError(
                f'"subcategory" is {self.row.get("subcategory")!r:.80}; write the '
                "size, such as data_3x3"
            )
        cells = []
        for coordinate in coordinates:
            cell = cell_of(coordinate) or (0, 0)
            if coordinate != list(cell):
                self._note(f"the cell {coordinate} is read as {list(cell)}")
            cells.append(cell)
        start = self._part("Step_0")
        states = [Interleaved((start,))]
        for step in range(1, len(actions) - 1):
            states.append(self._candidate(f"Step_{step}"))
        turns = []
        for step, action in enumerate(actions):
            row, column = cells[min(step + 1, len(cells) - 1)]
            picture = None
            if step + 1 < len(states):
                state = states[step + 1].parts[0]
                picture = None if state.dangling else state
            turns.append(MazeTurn(step, action, [column - 1, row - 1], picture))
        return _Content([start], answer_of(turns), states)

    def _note(self, irregularity: str) -> None:
        self.odd.append(irregularity)
        self.notable.append(irregularity)

    @property
    def _data(self) -> Mapping[str, Any]:
        data = self.row.get("data")
        if not isinstance(data, dict):
            raise UsageError('"data" is not an object')
        return data

    def _text(self, key: str, *, blank: bool = False) -> str:
        text = self.row.get(key, "" if blank else None)
        if not isinstance(text, str):
            raise UsageError(f'"{key}" is not a text')
        return text

    def _choice(self) -> list[str]:
        choice, answer = self.row.get("choice"), self.row.get("answer")
        if not are_texts(choice) or not choice:
            raise UsageError('"choice" is not a list of texts')
        letters = [chr(ord("A") + number) for number in range(len(choice))]
        if answer not in letters:
            raise UsageError(
                f'"answer" is {answer!r:.80}; write the letter of an option'
            )
        return choice

    def _candidate(self, key: str) -> Interleaved:
        try:
            return Interleaved((self._part(key),))
        except UsageError as error:
            self._note(f"candidate: {error}")
            return Interleaved((Part("image"),))

    def _part(self, key: str, kind: Literal["image", "video"] = "image") -> Part:
        return self._medium(self._data.get(key), key, kind)

    def _medium(
        self,
        path: Any,
        key: str,
        kind: Literal["image", "video"],
    ) -> Part:
        if not isinstance(path, str) or not path:
            raise UsageError(f'"{key}" is not a path')
        file = self.find(self.resolve, path, f'"{key}"', kind)
        if file.name:
            self.odd.append(f"{path} is the file {file.name}")
        return media_part(file.media, kind)
