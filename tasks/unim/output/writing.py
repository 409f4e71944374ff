"""Writes answers in UniM's layout (:mod:`mmeval.tasks.unim.output.layout`)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.interchange import (
    MANIFEST,
    OWN,
    AnsweredRun,
    Exported,
    ExportFolder,
    ScoredTrial,
    exact_parts,
    stem_of,
)
from mmeval.media import Interleaved, Media, suffix_for
from mmeval.records import Sample
from mmeval.tasks.unim.labels import DIFFICULTIES, Names
from mmeval.tasks.unim.output.layout import (
    SHORT,
    WORDS,
    Flat,
    flattened,
    names_of_sample,
    read_flat,
    seal,
    to_text,
    whole_text,
)

MAX_FILE_BYTES = 2**27
"""A larger file of answers is continued in another one, since readers decode a file as
a whole."""

NOTES = {
    "reasoning": "hidden reasoning has no place in the layout; it is kept under "
    f"{OWN!r}",
    "rewritten": "written with tags as the scripts know them; their own stand under "
    f"{OWN!r}",
    "halves": f"halves of characters are written as U+FFFD; they stand under {OWN!r}",
    "untagged": "no tag of the answer names them; they are listed, and the text is "
    "left as it is",
    "dangling": "there is no medium, so that they stand in the text alone",
    "repeats": "further ones to the same question, in files answers_repeat<n>.jsonl "
    "of their own",
}
NOUNS = {"untagged": "media files", "dangling": "tags"}
_LEVELS = {word: int(level) for level, word in DIFFICULTIES.items()}
_NUMBER = re.compile(r"[1-9][0-9]{0,3}")


class _Slot(NamedTuple):
    """The place of an answer: field and domain, id, repeat."""

    names: Names
    id: str
    repeat: int


def write_output(run: AnsweredRun, folder: Path) -> Exported:
    """Fill the folder of one model. Raises what :meth:`ExportFolder.fill` raises."""
    return _Writer(folder).fill(run)


class _Writer(ExportFolder):
    """Writes answers one by one, each medium before its record."""

    benchmark, entry, notes, nouns = "UniM", "record", NOTES, NOUNS
    unanswered = f"there is no record of it, and {MANIFEST} says why"

    def takes(self, sample: Sample) -> bool:
        return names_of_sample(sample) is not None

    def add(self, one: ScoredTrial) -> None:
        sample, output = one.trial.sample, one.trial.output
        names = names_of_sample(sample)
        assert names is not None
        slot = _Slot(
            names,
            sample.id.removeprefix(f"{names.field}/{names.domain}/"),
            one.trial.repeat,
        )
        own = self.own(one.trial)
        if output is None:
            self.manifest.setdefault("failed", []).append(
                {**names._asdict(), "id": slot.id, "repeat": slot.repeat, **own}
            )
        else:
            self._record(sample, output, slot, own)

    def finish(self) -> Sequence[str]:
        return ()

    def _record(
        self, sample: Sample, output: Interleaved, slot: _Slot, own: dict[str, Any]
    ) -> None:
        place = self.path / slot.names.field / slot.names.domain
        files = _Files(place, slot, sample)
        answer = _answer(output, sample.question, files, self.counts, own)
        row: dict[str, Any] = {
            "domain": slot.names.field,
            "subdomain": slot.names.domain,
            "id": slot.id,
        }
        if (level := _LEVELS.get(str(sample.metadata.get("difficulty")))) is not None:
            row["difficulty_level"] = level
        if slot.repeat:
            row["repeat"] = slot.repeat
        _append(
            place, slot.repeat, to_text({**row, "input": _question(sample), **answer})
        )
        self.counts["media"] += files.written


def _append(place: Path, repeat: int, line: bytes) -> None:
    """Append a line to the file of answers that has room."""
    place.mkdir(parents=True, exist_ok=True)
    name, number = f"answers_repeat{repeat}" if repeat else "answers", 1
    while True:
        part = f"_part{number}" if number > 1 else ""
        file = place / f"{name}{part}.jsonl"
        if not file.exists() or file.stat().st_size + len(line) <= MAX_FILE_BYTES:
            break
        number += 1
    with file.open("ab") as out:
        out.write(line)


def _question(sample: Sample) -> dict[str, Any]:
    """The question as in the data set, with the names of its media, which stay
    there."""
    modal: dict[str, str] = {}
    for message in sample.input:
        for part in message.content.parts:
            kind = part.label.rstrip("0123456789")
            name = (
                f"{WORDS[kind]}{part.label.removeprefix(kind)}" if kind in WORDS else ""
            )
            if part.kind == "code" and part.text is not None and name:
                modal[name] = whole_text(part.text)
            elif part.media is not None and part.media.path is not None and name:
                modal[name] = "/".join(part.media.path.parts[-2:])
    return {"modal": modal, "content": whole_text(sample.question)}


class _Files:
    """The media of one answer: each written once, under the next free name."""

    def __init__(self, place: Path, slot: _Slot, sample: Sample) -> None:
        self.written = 0
        self.names: dict[str, str] = {}
        self._place = place
        name = f"{int(slot.id):04d}" if _NUMBER.fullmatch(slot.id) else slot.id
        self._stem = stem_of(name, slot.repeat)
        parts = (part for message in sample.input for part in message.content.parts)
        self._numbers: Counter[str] = Counter(
            part.kind for part in parts if part.media is not None
        )

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


def _answer(
    output: Interleaved,
    question: str,
    files: _Files,
    counts: Counter[str],
    own: dict[str, Any],
) -> dict[str, Any]:
    """``output`` of a record, and our own key for what it cannot hold, with ``own``."""
    flat = flattened(output, question)
    modal = {
        name: item if isinstance(item, str) else files.put(item, _kind(name))
        for name, item in flat.modal.items()
    }
    counts["untagged"] += sum(
        part.raw == "" and part.media is not None for part in output.parts
    )
    counts["dangling"] += sum(part.dangling for part in output.parts)
    row: dict[str, Any] = {"output": {"modal": modal, "content": flat.content}}
    if read_flat(flat) == output:
        return {**row, **({OWN: own} if own else {})}
    for part in output.parts:
        if part.media is not None:
            files.put(part.media, part.kind if part.kind in WORDS else part.media.kind)
    _count_inexact(output, flat, counts)
    parts = json.dumps(exact_parts(output, files.names), allow_nan=False)
    return {**row, OWN: {**own, "of": seal(flat.content, modal), "parts": parts}}


def _kind(name: str) -> str:
    word = name.rstrip("0123456789")
    return next(kind for kind, said in WORDS.items() if said == word)


def _count_inexact(output: Interleaved, flat: Flat, counts: Counter[str]) -> None:
    whole = whole_text(output.text)
    counts["reasoning"] += any(part.kind == "reasoning" for part in output.parts)
    counts["rewritten"] += flat.content != whole
    counts["halves"] += whole != output.text
