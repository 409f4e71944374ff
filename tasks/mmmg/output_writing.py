"""Writes answers in MMMG's own layout (:mod:`mmeval.tasks.mmmg.output_layout`)."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mmeval.content import Interleaved, Media, TagKind, suffix_for
from mmeval.decode import stored_image
from mmeval.errors import ContentError, UsageError
from mmeval.interchange import OWN, AnsweredRun, AnsweredTask, Exported, exact_parts
from mmeval.records import Trial
from mmeval.system import to_line
from mmeval.tasks.mmmg.output_layout import (
    OTHER,
    flattened,
    instruction_of,
    place_of,
    read_flat,
    seal,
)
from mmeval.tasks.mmmg.rows import SUFFIXES, medium_file
from mmeval.wording import counted

SAMPLE_RATE = 22050
"""Hertz: those scripts treat every sound as having this rate and one channel."""
_PNG_COLOUR_TYPE, _PNG_RGB = slice(25, 26), b"\x02"


class _Slot(NamedTuple):
    row: int
    repeat: int


class _Answered(NamedTuple):
    task: str
    trial: Trial


def write_output(run: AnsweredRun, folder: Path) -> Exported:
    """Fill the folder of one model.

    Tasks of other benchmarks are left out, which is one of the gaps. Raises UsageError where nothing is left, or where
    two tasks have different answers in the same place; MissingDataError and CorruptMediaError for a medium of the run
    that is missing or changed.
    """
    files: dict[str, dict[_Slot, _Answered]] = {}
    foreign = [task.name for task in run.tasks if not _collect(task, files)]
    if not files:
        raise UsageError(f"nothing of this run has a place in the layout: {', '.join(foreign)} are no tasks of MMMG")
    told = _Told()
    generations = {}
    for file, slots in files.items():
        generations[file] = 1 + max(slot.repeat for slot in slots)
        _FileWriter(folder, file, told).write(slots, generations[file])
    left_out = [f"{name} is no task of MMMG, and was left out" for name in foreign]
    gaps, notes = (*left_out, *told.gaps()), tuple(told.notes())
    media = told.counts["media"] + told.counts["other"]
    return Exported(told.counts["answers"], media, gaps, notes, {"generations": generations})


def _collect(task: AnsweredTask, files: dict[str, dict[_Slot, _Answered]]) -> bool:
    """Put the trials of a task in their places; false if one has none: then none of them is put."""
    places = [place_of(trial.sample) for trial in task.trials()]
    if not all(places):
        return False
    for place, trial in zip(places, task.trials(), strict=True):
        assert place is not None
        slots = files.setdefault(place.file, {})
        slot = _Slot(place.row, trial.repeat)
        slots[slot] = _one_of(slots.get(slot), _Answered(task.name, trial), f"{trial.sample.id}, repeat {trial.repeat}")
    return True


def _one_of(before: _Answered | None, now: _Answered, what: str) -> _Answered:
    """The answer of two tasks with the same request; one of them may have failed."""
    if before is None or before.trial.output is None:
        return now
    if now.trial.output is None or now.trial.output == before.trial.output:
        return before
    raise UsageError(
        f"{before.task} and {now.task} have different answers to {what}, and the layout has one place for both; export "
        "one of them with --tasks"
    )


class _Told:
    """Counts the remarks on an export."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def gaps(self) -> Iterator[str]:
        if self.counts["failed"]:
            what = counted(self.counts["failed"], "answer")
            yield f"{what}: the model had failed; the lines are empty, and say so under {OWN!r} alone"
        if self.counts["unasked"]:
            what = counted(self.counts["unasked"], "answer")
            yield f"{what}: the model could not be asked; the lines are empty, and say so under {OWN!r} alone"
        if self.counts["absent"]:
            what = counted(self.counts["absent"], "line")
            yield f"{what} without an answer of the run, put in so that the others keep their places; {OWN!r} says so"

    def notes(self) -> Iterator[str]:
        said = (
            ("reasoning", "answer", f"hidden reasoning has no place in the layout; it is kept under {OWN!r}"),
            ("other", "medium of another kind", f"kept in {OTHER}/; the layout knows pictures and sounds"),
            ("made rgb", "picture", f"no RGB PNG, written as one without transparency; the original is in {OTHER}/"),
            ("undecoded", "picture", "cannot be decoded, kept as the bytes that they are under a name in .png"),
            (
                "not 22050",
                "sound",
                f"no WAV of one channel at {SAMPLE_RATE} Hz, kept as the bytes that they are under a name in .wav",
            ),
            ("exact", "answer", f"written with placeholders as the layout numbers them; their own stand under {OWN!r}"),
        )
        for key, what, how in said:
            if count := self.counts[key]:
                yield f"{_several(count, what)}: {how}"


def _several(count: int, what: str) -> str:
    return counted(count, what) if what != "medium of another kind" else f"{count:,} media of other kinds"


class _FileWriter:
    """Writes the answers of one instruction file one by one, each with its media."""

    def __init__(self, folder: Path, file: str, told: _Told) -> None:
        self._folder, self._file, self._told = folder, file, told
        self._numbers: Counter[str] = Counter()

    def write(self, slots: Mapping[_Slot, _Answered], repeats: int) -> None:
        rows = 1 + max(slot.row for slot in slots)
        with (self._folder / f"{self._file}.jsonl").open("wb") as out:
            for row in range(rows):
                for repeat in range(repeats):
                    found = slots.get(_Slot(row, repeat))
                    out.write(to_line(self._line(None if found is None else found.trial)) + b"\n")

    def _line(self, trial: Trial | None) -> dict[str, Any]:
        if trial is None:
            self._told.counts["absent"] += 1
            return {**_EMPTY, OWN: {"absent": True}}
        query = {"query": {"instruction": instruction_of(trial.sample)}}
        if trial.output is None:
            assert trial.error is not None
            self._told.counts["unasked" if trial.error.kind == "unsupported" else "failed"] += 1
            return {**query, **_EMPTY, OWN: {"error": trial.error.to_json()}}
        self._told.counts["answers"] += 1
        return query | self._answer(trial.output)

    def _answer(self, output: Interleaved) -> dict[str, Any]:
        flat = flattened(output)
        files: dict[str, str] = {}
        numbers = {kind: [self._put(medium, kind, files) for medium in items] for kind, items in flat.media.items()}
        lists = {f"{kind}_list": numbers.get(kind, []) for kind in SUFFIXES}
        line = {"response": flat.response, **lists}
        if read_flat(flat) == output and all(medium.sha256 in files for medium in output.media()):
            return line
        counts = self._told.counts
        shown = {medium.sha256 for items in flat.media.values() for medium in items}
        for medium in output.media():
            if medium.sha256 not in files:
                self._put(medium, OTHER, files)
                counts["other"] += medium.sha256 not in shown
        counts["reasoning"] += any(part.kind == "reasoning" for part in output.parts)
        counts["exact"] += flat.response != output.text
        return {**line, OWN: {"of": seal(flat.response, numbers), "parts": exact_parts(output, files)}}

    def _put(self, medium: Media, kind: TagKind | Literal["other"], files: dict[str, str]) -> int:
        """The number of a medium's file; ``files`` gets its name where it has the medium's bytes."""
        number = self._numbers[kind]
        self._numbers[kind] += 1
        data = medium.read()
        name = self._name(kind, number, medium)
        counts = self._told.counts
        made = _rgb_png(medium, data) if kind == "image" else data
        counts["undecoded"] += made is None
        counts["made rgb"] += made not in (None, data)
        if made in (None, data):
            files.setdefault(medium.sha256, name)
        (self._folder / kind).mkdir(exist_ok=True)
        (self._folder / name).write_bytes(made or data)
        counts["media"] += kind != OTHER
        counts["not 22050"] += kind == "audio" and _wav_form(data) != (1, SAMPLE_RATE)
        return number

    def _name(self, kind: TagKind | Literal["other"], number: int, medium: Media) -> str:
        if kind == OTHER:
            return f"{OTHER}/{self._file}_{number}{suffix_for(medium.mime)}"
        return medium_file(kind, self._file, number)


_EMPTY = {"response": "", "image_list": [], "audio_list": []}


def _rgb_png(picture: Media, data: bytes) -> bytes | None:
    """A picture as an RGB PNG, its own bytes if it is one; None if it cannot be decoded.
    Transparency is dropped without a background and nothing is turned, as where those scripts make RGB themselves."""
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
    return (found.channels, found.samplerate) if found.format in ("WAV", "WAVEX") else None
