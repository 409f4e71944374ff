"""Writes answers in UniM's layout (:mod:`mmeval.tasks.unim.output.layout`)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.content import Interleaved, Media, suffix_for
from mmeval.errors import UsageError
from mmeval.interchange import MANIFEST, OWN, AnsweredRun, AnsweredTask, Exported, exact_parts
from mmeval.records import ErrorInfo, Sample, Trial, content_digest, digest
from mmeval.tasks.unim.labels import DIFFICULTIES, Names
from mmeval.tasks.unim.output.layout import (
    SHORT,
    WORDS,
    Flat,
    flattened,
    names_of_sample,
    question_of,
    read_flat,
    seal,
    to_text,
    whole_text,
)
from mmeval.wording import counted, file_name

MAX_FILE_BYTES = 2**27
"""A larger file of answers is continued in another one, since readers decode a file as a whole."""

_NOT_THERE = f"there is no record of it, and {MANIFEST} says why"
_LEVELS = {word: int(level) for level, word in DIFFICULTIES.items()}
_NUMBER = re.compile(r"[1-9][0-9]{0,3}")
_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")


class _Slot(NamedTuple):
    """The place of an answer: field and domain, id, repeat."""

    names: Names
    id: str
    repeat: int


class _Written(NamedTuple):
    """The task of an answer, and its digest."""

    task: str
    digest: str


def write_output(run: AnsweredRun, folder: Path) -> Exported:
    """Fill the folder of one model.

    Tasks of other benchmarks are left out, which is one of the gaps. Raises UsageError where nothing is left, or where
    two tasks have different answers to the same question; MissingDataError and CorruptMediaError for a medium of the
    run that is missing or changed.
    """
    writer = _Writer(folder)
    foreign = [task.name for task in run.tasks if not writer.write(task)]
    if len(foreign) == len(run.tasks):
        raise UsageError(f"nothing of this run has a place in the layout: {', '.join(foreign)} are no tasks of UniM")
    failed = writer.failed()
    told = _Told(writer.counts, [error for _, error in failed], writer.faulty)
    gaps = (*(f"{name} is no task of UniM, and was left out" for name in foreign), *told.gaps())
    noted = {"failed": [_failure(*failure) for failure in failed]} if failed else {}
    return Exported(writer.counts["answers"], writer.counts["media"], gaps, tuple(told.notes()), noted)


def _failure(slot: _Slot, error: ErrorInfo) -> dict[str, Any]:
    names = slot.names
    return {
        "field": names.field,
        "domain": names.domain,
        "id": slot.id,
        "repeat": slot.repeat,
        "error": error.to_json(),
    }


class _Writer:
    """Writes answers one by one, each medium before its record.
    Tasks with the same request share an answer; one of them may have failed."""

    def __init__(self, folder: Path) -> None:
        self.counts: Counter[str] = Counter()
        self._folder = folder
        self._written: dict[_Slot, _Written] = {}
        self._failed: dict[_Slot, ErrorInfo] = {}
        self._faulty: set[tuple[str, int]] = set()

    def write(self, task: AnsweredTask) -> bool:
        """Write the trials of a task; false if one has no place: then none of them is written."""
        if not all(trial.sample.fault or names_of_sample(trial.sample) for trial in task.trials()):
            return False
        for trial in task.trials():
            names = names_of_sample(trial.sample)
            if trial.sample.fault:
                self._faulty.add((trial.sample.id, trial.repeat))
            else:
                assert names is not None
                number = trial.sample.id.removeprefix(f"{names.field}/{names.domain}/")
                self._trial(task.name, trial, _Slot(names, number, trial.repeat))
        return True

    @property
    def faulty(self) -> int:
        """The number of trials of damaged samples, which were not asked."""
        return len(self._faulty)

    def failed(self) -> list[tuple[_Slot, ErrorInfo]]:
        """The failures without an answer of another task."""
        return [(slot, error) for slot, error in self._failed.items() if slot not in self._written]

    def _trial(self, task: str, trial: Trial, slot: _Slot) -> None:
        if trial.output is None:
            assert trial.error is not None
            self._failed.setdefault(slot, trial.error)
            return
        name = content_digest(b"answer", [("answer", trial.output)])
        before = self._written.get(slot)
        if before is None:
            self._written[slot] = _Written(task, name)
            self._record(trial.sample, trial.output, slot)
        elif before.digest != name:
            raise UsageError(
                f"{before.task} and {task} have different answers to {trial.sample.id}, repeat {trial.repeat}, and the "
                "layout has one place for both; export one of them with --tasks"
            )

    def _record(self, sample: Sample, output: Interleaved, slot: _Slot) -> None:
        place = self._folder / slot.names.field / slot.names.domain
        files = _Files(place, slot, sample)
        answer = _answer(output, question_of(sample), files, self.counts)
        row: dict[str, Any] = {"domain": slot.names.field, "subdomain": slot.names.domain, "id": slot.id}
        if (level := _LEVELS.get(str(sample.metadata.get("difficulty")))) is not None:
            row["difficulty_level"] = level
        if slot.repeat:
            row["repeat"] = slot.repeat
        _append(place, slot.repeat, to_text({**row, "input": _question(sample), **answer}))
        self.counts["answers"] += 1
        self.counts["media"] += files.written
        self.counts["repeats"] += slot.repeat > 0


def _append(place: Path, repeat: int, line: bytes) -> None:
    """Append a line to the file of answers that has room."""
    place.mkdir(parents=True, exist_ok=True)
    name, number = f"answers_repeat{repeat}" if repeat else "answers", 1
    while True:
        file = place / (f"{name}.jsonl" if number == 1 else f"{name}_part{number}.jsonl")
        if not file.exists() or file.stat().st_size + len(line) <= MAX_FILE_BYTES:
            break
        number += 1
    with file.open("ab") as out:
        out.write(line)


def _question(sample: Sample) -> dict[str, Any]:
    """The question as in the data set, with the names of its media, which stay there."""
    modal: dict[str, str] = {}
    for message in sample.input:
        for part in message.content.parts:
            kind = part.label.rstrip("0123456789")
            name = f"{WORDS[kind]}{part.label.removeprefix(kind)}" if kind in WORDS else ""
            if part.kind == "code" and part.text is not None and name:
                modal[name] = whole_text(part.text)
            elif part.media is not None and part.media.path is not None and name:
                modal[name] = "/".join(part.media.path.parts[-2:])
    return {"modal": modal, "content": whole_text(question_of(sample))}


class _Files:
    """The media of one answer: each written once, under the next free name."""

    def __init__(self, place: Path, slot: _Slot, sample: Sample) -> None:
        self.written = 0
        self.names: dict[str, str] = {}
        self._place = place
        self._stem = _stem(slot)
        parts = (part for message in sample.input for part in message.content.parts)
        self._numbers: Counter[str] = Counter(part.kind for part in parts if part.media is not None)

    def put(self, medium: Media, kind: str) -> str:
        """The name of a medium's file, relative to the answers."""
        if medium.sha256 not in self.names:
            data = medium.read()
            folder = self._place / WORDS[kind]
            folder.mkdir(parents=True, exist_ok=True)
            name = self._free(folder, kind, suffix_for(medium.mime))
            (folder / name).write_bytes(data)
            self.written += 1
            self.names[medium.sha256] = f"{WORDS[kind]}/{name}"
        return self.names[medium.sha256]

    def _free(self, folder: Path, kind: str, suffix: str) -> str:
        while True:
            self._numbers[kind] += 1
            name = f"{SHORT[kind]}_{self._stem}_{self._numbers[kind]:02d}{suffix}"
            if not (folder / name).exists():
                return name


def _stem(slot: _Slot) -> str:
    if _NUMBER.fullmatch(slot.id):
        stem = f"{int(slot.id):04d}"
    elif _PLAIN_ID.fullmatch(slot.id):
        stem = slot.id
    else:
        stem = f"{file_name(slot.id)[:40]}_{digest(slot.id)[:8]}"
    return f"{stem}_repeat{slot.repeat}" if slot.repeat else stem


def _answer(output: Interleaved, question: str, files: _Files, counts: Counter[str]) -> dict[str, Any]:
    """``output`` of a record, and our own key for what it cannot hold."""
    flat = flattened(output, question)
    modal = {name: item if isinstance(item, str) else files.put(item, _kind(name)) for name, item in flat.modal.items()}
    counts["untagged"] += sum(part.raw == "" and part.media is not None for part in output.parts)
    counts["dangling"] += sum(part.dangling for part in output.parts)
    row: dict[str, Any] = {"output": {"modal": modal, "content": flat.content}}
    if read_flat(flat) == output:
        return row
    for part in output.parts:
        if part.media is not None:
            files.put(part.media, part.kind if part.kind in WORDS else part.media.kind)
    _count_inexact(output, flat, counts)
    parts = json.dumps(exact_parts(output, files.names), allow_nan=False)
    return {**row, OWN: {"of": seal(flat.content, modal), "parts": parts}}


def _kind(name: str) -> str:
    word = name.rstrip("0123456789")
    return next(kind for kind, said in WORDS.items() if said == word)


def _count_inexact(output: Interleaved, flat: Flat, counts: Counter[str]) -> None:
    whole = whole_text(output.text)
    counts["reasoning"] += any(part.kind == "reasoning" for part in output.parts)
    counts["rewritten"] += flat.content != whole
    counts["halves"] += whole != output.text


class _Told:
    """The remarks on an export."""

    def __init__(self, counts: Mapping[str, int], errors: list[ErrorInfo], faulty: int) -> None:
        self._counts, self._errors, self._faulty = counts, errors, faulty

    def gaps(self) -> Iterator[str]:
        unasked = sum(error.kind == "unsupported" for error in self._errors)
        if failed := len(self._errors) - unasked:
            yield f"{counted(failed, 'answer')}: the model had failed; {_NOT_THERE}"
        if unasked:
            yield f"{counted(unasked, 'answer')}: the model could not be asked; {_NOT_THERE}"
        if self._faulty:
            yield f"{counted(self._faulty, 'answer')}: the sample is damaged and was not asked; no record"

    def notes(self) -> Iterator[str]:
        said = (
            ("reasoning", "answer", f"hidden reasoning has no place in the layout; it is kept under {OWN!r}"),
            ("rewritten", "answer", f"written with tags as the scripts know them; their own stand under {OWN!r}"),
            ("halves", "answer", f"halves of characters are written as U+FFFD; they stand under {OWN!r}"),
            ("untagged", "medium", "no tag of the answer names them; they are listed, and the text is left as it is"),
            ("dangling", "tag", "there is no medium, so that they stand in the text alone"),
            ("repeats", "answer", "further ones to the same question, in files answers_repeat<n>.jsonl of their own"),
        )
        for key, what, how in said:
            if count := self._counts[key]:
                yield f"{_several(count, what)}: {how}"


def _several(count: int, what: str) -> str:
    return counted(count, what) if what != "medium" else f"{count:,} media"
