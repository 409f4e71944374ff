"""Writes answers in MMMG's own layout (:mod:`mmeval.tasks.mmmg.output_layout`)."""

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
    flattened,
    place_of,
    read_flat,
    seal,
)
from mmeval.tasks.mmmg.rows import SUFFIXES, medium_file

SAMPLE_RATE = 22050
"""Hertz: those scripts treat every sound as having this rate and one channel."""
GAPS = {
    "absent": "none in this run, put in so that the others keep their places; "
    f"{OWN!r} says so"
}
NOTES = {
    "reasoning": "hidden reasoning has no place in the layout; it is kept under "
    f"{OWN!r}",
    "other": f"no picture or sound, which the layout knows alone; kept in {OTHER}/",
    "made rgb": "no RGB PNG, written as one without transparency; the original is in "
    f"{OTHER}/",
    "undecoded": "cannot be decoded, kept as the bytes that they are under a name in "
    ".png",
    "not 22050": f"no WAV of one channel at {SAMPLE_RATE} Hz, kept as the bytes that "
    "they are under a name in .wav",
    "exact": "written with placeholders as the layout numbers them; their own stand "
    f"under {OWN!r}",
}
NOUNS = {
    "absent": "lines",
    "other": "media files",
    "made rgb": "pictures",
    "undecoded": "pictures",
    "not 22050": "sounds",
}
_PNG_COLOUR_TYPE, _PNG_RGB = slice(25, 26), b"\x02"


class _Slot(NamedTuple):
    row: int
    repeat: int


def write_output(run: AnsweredRun, folder: Path) -> ExportSummary:
    """Fill the folder of one model. Raises what :meth:`ExportFolder.fill` raises."""
    return _Writer(folder).fill(run)


class _Writer(ExportFolder):
    """Collects the trials of each instruction file, and writes them in its order."""

    benchmark, entry, gaps, notes, nouns = "MMMG", "line", GAPS, NOTES, NOUNS
    unanswered = f"the lines are empty, and say so under {OWN!r} alone"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._files: dict[str, dict[_Slot, Trial]] = {}

    def takes(self, sample: Sample) -> bool:
        return place_of(sample) is not None

    def add(self, scored_trial: ScoredTrial) -> None:
        place = place_of(scored_trial.trial.sample)
        assert place is not None
        slots = self._files.setdefault(place.file, {})
        slots[_Slot(place.row, scored_trial.trial.repeat)] = scored_trial.trial

    def finish(self) -> Sequence[str]:
        generations = self.manifest["generations"] = {}
        for file, slots in self._files.items():
            generations[file] = 1 + max(slot.repeat for slot in slots)
            _FileWriter(self, file).write(slots, generations[file])
        return ()


class _FileWriter:
    """Writes the answers of one instruction file one by one, each with its media."""

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
        own = self._folder.mmeval_fields(trial)
        if trial.output is None:
            return {**query, **_EMPTY, OWN: own}
        return query | self._answer(trial.output, own)

    def _answer(
        self,
        output: Interleaved,
        own: dict[str, Any],
    ) -> dict[str, Any]:
        flat = flattened(output)
        files: dict[str, str] = {}
        numbers: dict[TagKind, list[int]] = {}
        shown: set[str] = set()
        for kind, items in flat.media.items():
            numbers[kind] = [self._put(medium, kind, files) for medium in items]
            shown.update(medium.sha256 for medium in items)
        line: dict[str, Any] = {"response": flat.response}
        for kind in SUFFIXES:
            line[f"{kind}_list"] = numbers.get(kind, [])
        are_exact = all(medium.sha256 in files for medium in output.media())
        if are_exact and read_flat(flat) == output:
            return {**line, OWN: own} if own else line
        counts = self._folder.counts
        for medium in output.media():
            if medium.sha256 not in files:
                self._put(medium, OTHER, files)
                counts["other"] += medium.sha256 not in shown
        counts["reasoning"] += any(part.kind == "reasoning" for part in output.parts)
        counts["exact"] += flat.response != output.text
        sealed = seal(flat.response, numbers)
        own = {**own, "of": sealed, "parts": exact_parts(output, files)}
        return {**line, OWN: own}

    def _put(
        self, medium: Media, kind: TagKind | Literal["other"], files: dict[str, str]
    ) -> int:
        """The number of a medium's file; ``files`` gets its name where it has the
        medium's bytes."""
        number = self._numbers[kind]
        self._numbers[kind] += 1
        if kind == OTHER:
            name = f"{OTHER}/{self._file}_{number}{suffix_for(medium.mime)}"
        else:
            name = medium_file(kind, self._file, number)
        data = medium.read()
        made = _rgb_png(medium, data) if kind == "image" else data
        counts = self._folder.counts
        if made is None:
            counts["undecoded"] += 1
        if made is None or made == data:
            files.setdefault(medium.sha256, name)
        else:
            counts["made rgb"] += 1
        if kind == "audio" and _wav_form(data) != (1, SAMPLE_RATE):
            counts["not 22050"] += 1
        self._folder.write(name, made or data)
        return number


_EMPTY = {"response": "", "image_list": [], "audio_list": []}


def _rgb_png(picture: Media, data: bytes) -> bytes | None:
    """A picture as an RGB PNG, its own bytes if it is one; None if it cannot be
    decoded. Transparency is dropped without a background and nothing is turned, as
    where those scripts make RGB themselves."""
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
    """Channels and sample rate of a WAV file, by its header; None for anything else."""
    import soundfile

    try:
        found = soundfile.info(io.BytesIO(data))
    except soundfile.SoundFileError:
        return None
    if found.format not in ("WAV", "WAVEX"):
        return None
    return found.channels, found.samplerate
