"""Writes answers in MMMG's layout (:mod:`mmeval.tasks.mmmg.output_layout`)."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mmeval.errors import ContentError
from mmeval.interchange import (
    OWN,
    AnsweredRun,
    ExportFolder,
    ExportSummary,
    ScoredTrial,
    exact_parts,
)
from mmeval.media import Interleaved, Media, TagKind, suffix_for
from mmeval.media.decode import stored_image
from mmeval.records import Sample, Trial
from mmeval.system import to_line
from mmeval.tasks.mmmg.output_layout import (
    OTHER,
    line_answer_of,
    place_of,
    read_line_answer,
    seal,
)
from mmeval.tasks.mmmg.rows import SUFFIXES, medium_file

SAMPLE_RATE = 22050
"""The sample rate in hertz. The scripts treat every sound as having this rate and one
channel."""
GAPS = {
    "absent": "the run has no answer; an empty line takes its place, with the reason "
    f"under {OWN!r}"
}
NOTES = {
    "reasoning": f"the layout has no field for hidden reasoning; kept under {OWN!r}",
    "other": f"neither pictures nor sounds, so not in the layout; kept in {OTHER}/",
    "made rgb": "converted to RGB PNG without transparency; the original is kept in "
    f"{OTHER}/",
    "undecoded": "they cannot be decoded; the bytes are kept unchanged in a .png file",
    "not 22050": f"not a WAV file with one channel at {SAMPLE_RATE} Hz; the bytes are "
    "kept unchanged in a .wav file",
    "exact": "placeholders were renumbered for the layout; the original numbers are "
    f"kept under {OWN!r}",
}
NOUNS = {
    "absent": "lines",
    "other": "media files",
    "made rgb": "pictures",
    "undecoded": "pictures",
    "not 22050": "sounds",
}
# Byte 25 of a PNG file is the colour type; 2 is RGB without a palette.
_PNG_COLOUR_TYPE, _PNG_RGB = slice(25, 26), b"\x02"


class _Slot(NamedTuple):
    row: int
    repeat: int


def write_output(run: AnsweredRun, folder: Path) -> ExportSummary:
    """Fills the folder of one model. Raises the errors of :meth:`ExportFolder.fill`."""
    return _MmmgFolder(folder).fill(run)


class _MmmgFolder(ExportFolder):
    """Collects each instruction file's trials and writes them in the file's order."""

    benchmark, entry, gaps, notes, nouns = "MMMG", "line", GAPS, NOTES, NOUNS
    unanswered = f"the line is empty, with the reason under {OWN!r}"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._files: dict[str, dict[_Slot, Trial]] = {}

    def takes(self, sample: Sample) -> bool:
        return place_of(sample) is not None

    def add(self, scored: ScoredTrial) -> None:
        place = place_of(scored.trial.sample)
        assert place is not None
        slots = self._files.setdefault(place.file, {})
        slots[_Slot(place.row, scored.trial.repeat)] = scored.trial

    def finish(self) -> Sequence[str]:
        generations = self.manifest["generations"] = {}
        for file, slots in self._files.items():
            generations[file] = 1 + max(slot.repeat for slot in slots)
            _FileWriter(self, file).write(slots, generations[file])
        return ()


class _FileWriter:
    """Writes the answers of an instruction file, each with its media."""

    def __init__(self, folder: ExportFolder, file: str) -> None:
        self._folder, self._file = folder, file
        self._numbers: Counter[str] = Counter()

    def write(self, slots: Mapping[_Slot, Trial], repeats: int) -> None:
        rows = 1 + max(slot.row for slot in slots)
        with (self._folder.path / f"{self._file}.jsonl").open("wb") as out:
            for row in range(rows):
                for repeat in range(repeats):
                    trial = slots.get(_Slot(row, repeat))
                    out.write(to_line(self._line(trial)) + b"\n")

    def _line(self, trial: Trial | None) -> dict[str, Any]:
        if trial is None:
            self._folder.counts["absent"] += 1
            return {**_EMPTY, OWN: {"absent": True}}
        query = {"query": {"instruction": trial.sample.question}}
        extra = self._folder.mmeval_fields(trial)
        if trial.output is None:
            return {**query, **_EMPTY, OWN: extra}
        return query | self._answer(trial.output, extra)

    def _answer(
        self,
        output: Interleaved,
        extra: dict[str, Any],
    ) -> dict[str, Any]:
        line_answer = line_answer_of(output)
        files: dict[str, str] = {}
        numbers: dict[TagKind, list[int]] = {}
        listed_digests: set[str] = set()
        for kind, items in line_answer.media.items():
            numbers[kind] = [self._put(medium, kind, files) for medium in items]
            listed_digests.update(medium.sha256 for medium in items)
        line: dict[str, Any] = {"response": line_answer.response}
        for kind in SUFFIXES:
            line[f"{kind}_list"] = numbers.get(kind, [])
        are_exact = all(medium.sha256 in files for medium in output.media())
        if are_exact and read_line_answer(line_answer) == output:
            return {**line, OWN: extra} if extra else line
        counts = self._folder.counts
        for medium in output.media():
            if medium.sha256 not in files:
                self._put(medium, OTHER, files)
                counts["other"] += medium.sha256 not in listed_digests
        counts["reasoning"] += any(part.kind == "reasoning" for part in output.parts)
        counts["exact"] += line_answer.response != output.text
        line_seal = seal(line_answer.response, numbers)
        extra = {**extra, "of": line_seal, "parts": exact_parts(output, files)}
        return {**line, OWN: extra}

    def _put(
        self, medium: Media, kind: TagKind | Literal["other"], files: dict[str, str]
    ) -> int:
        """Writes a medium and returns the number of its file.

        If the file contains the medium's unchanged bytes, its name is added to
        ``files``.
        """
        number = self._numbers[kind]
        self._numbers[kind] += 1
        if kind == OTHER:
            name = f"{OTHER}/{self._file}_{number}{suffix_for(medium.mime)}"
        else:
            name = medium_file(kind, self._file, number)
        data = medium.read()
        converted = _rgb_png(medium, data) if kind == "image" else data
        counts = self._folder.counts
        if converted is None:
            counts["undecoded"] += 1
        if converted is None or converted == data:
            files.setdefault(medium.sha256, name)
        else:
            counts["made rgb"] += 1
        if kind == "audio" and _wav_form(data) != (1, SAMPLE_RATE):
            counts["not 22050"] += 1
        self._folder.write(name, converted or data)
        return number


_EMPTY = {"response": "", "image_list": [], "audio_list": []}


def _rgb_png(picture: Media, data: bytes) -> bytes | None:
    """Converts a picture to an RGB PNG, or returns None if it cannot be decoded.

    An RGB PNG is not changed. For other pictures, transparency is removed without a
    background and the picture is not rotated, as in the scripts.
    """
    if data.startswith(b"\x89PNG") and data[_PNG_COLOUR_TYPE] == _PNG_RGB:
        return data
    try:
        pixels = stored_image(picture).convert("RGB")
    except ContentError:
        return None
    out = io.BytesIO()
    pixels.save(out, "PNG")
    return out.getvalue()


def _wav_form(data: bytes) -> tuple[int, int] | None:
    """Returns the channels and sample rate of a WAV file, or None for other files."""
    import soundfile

    try:
        info = soundfile.info(io.BytesIO(data))
    except soundfile.SoundFileError:
        return None
    if info.format not in ("WAV", "WAVEX"):
        return None
    return info.channels, info.samplerate
