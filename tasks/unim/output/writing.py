"""Writes answers in UniM's layout (:mod:`mmeval.tasks.unim.output.layout`)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mmeval.interchange import (
    MANIFEST,
    OWN,
    AnsweredRun,
    ExportFolder,
    ExportSummary,
    ScoredTrial,
    exact_parts,
    stem_of,
)
from mmeval.media import Interleaved, Media, suffix_for
from mmeval.records import Sample
from mmeval.tasks.unim.labels import DIFFICULTIES
from mmeval.tasks.unim.output.layout import (
    SHORT,
    WORDS,
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


def write_output(run: AnsweredRun, folder: Path) -> ExportSummary:
    """Fill the folder of one model. Raises what :meth:`ExportFolder.fill` raises."""
    return _Writer(folder).fill(run)


class _Writer(ExportFolder):
    """Writes answers one by one, each medium before its record."""

    benchmark, entry, notes, nouns = "UniM", "record", NOTES, NOUNS
    unanswered = f"there is no record of it, and {MANIFEST} says why"

    def takes(self, sample: Sample) -> bool:
        return names_of_sample(sample) is not None

    def add(self, scored_trial: ScoredTrial) -> None:
        sample, output = scored_trial.trial.sample, scored_trial.trial.output
        names = names_of_sample(sample)
        assert names is not None
        id = sample.id.removeprefix(f"{names.field}/{names.domain}/")
        repeat = scored_trial.trial.repeat
        own = self.mmeval_fields(scored_trial.trial)
        if output is None:
            failure = {**names._asdict(), "id": id, "repeat": repeat, **own}
            self.manifest.setdefault("failed", []).append(failure)
            return
        place = self.path / names.field / names.domain
        files = _Files(place, id, repeat, sample)
        answer = _answer(output, sample.question, files, self.counts, own)
        row: dict[str, Any] = {
            "domain": names.field,
            "subdomain": names.domain,
            "id": id,
        }
        difficulty = str(sample.metadata.get("difficulty"))
        if difficulty in _LEVELS:
            row["difficulty_level"] = _LEVELS[difficulty]
        name, number = "answers", 1
        if repeat:
            row["repeat"] = repeat
            name = f"answers_repeat{repeat}"
        line = to_text({**row, "input": _question(sample), **answer})
        place.mkdir(parents=True, exist_ok=True)
        file = place / f"{name}.jsonl"
        # the file of answers that has room
        while file.exists() and file.stat().st_size + len(line) > MAX_FILE_BYTES:
            number += 1
            file = place / f"{name}_part{number}.jsonl"
        with file.open("ab") as out:
            out.write(line)
        self.counts["media"] += files.written

    def finish(self) -> Sequence[str]:
        return ()


def _question(sample: Sample) -> dict[str, Any]:
    """The question as in the data set, with the names of its media, which stay
    there."""
    modal: dict[str, str] = {}
    for message in sample.input:
        for part in message.content.parts:
            kind = part.label.rstrip("0123456789")
            if kind not in WORDS:
                continue
            name = f"{WORDS[kind]}{part.label.removeprefix(kind)}"
            if part.kind == "code" and part.text is not None:
                modal[name] = whole_text(part.text)
            elif part.media is not None and part.media.path is not None:
                modal[name] = "/".join(part.media.path.parts[-2:])
    return {"modal": modal, "content": whole_text(sample.question)}


class _Files:
    """The media of one answer: each written once, under the next free name."""

    def __init__(
        self,
        place: Path,
        id: str,
        repeat: int,
        sample: Sample,
    ) -> None:
        self.written = 0
        self.names: dict[str, str] = {}
        self._place = place
        name = f"{int(id):04d}" if _NUMBER.fullmatch(id) else id
        self._stem = stem_of(name, repeat)
        self._numbers: Counter[str] = Counter()
        for message in sample.input:
            for part in message.content.parts:
                if part.media is not None:
                    self._numbers[part.kind] += 1

    def put(self, medium: Media, kind: str) -> str:
        """The name of a medium's file, relative to the answers."""
        if medium.sha256 not in self.names:
            data = medium.read()
            folder = self._place / WORDS[kind]
            folder.mkdir(parents=True, exist_ok=True)
            suffix = suffix_for(medium.mime)
            while True:
                self._numbers[kind] += 1
                name = f"{SHORT[kind]}_{self._stem}_{self._numbers[kind]:02d}{suffix}"
                if not (folder / name).exists():
                    break
            (folder / name).write_bytes(data)
            self.written += 1
            self.names[medium.sha256] = f"{WORDS[kind]}/{name}"
        return self.names[medium.sha256]


def _answer(
    output: Interleaved,
    question: str,
    files: _Files,
    counts: Counter[str],
    own: dict[str, Any],
) -> dict[str, Any]:
    """``output`` of a record, and our own key for what it cannot hold, with ``own``."""
    flat = flattened(output, question)
    kinds = {word: kind for kind, word in WORDS.items()}
    modal = {}
    for name, item in flat.modal.items():
        if isinstance(item, str):
            modal[name] = item
        else:
            modal[name] = files.put(item, kinds[name.rstrip("0123456789")])
    for part in output.parts:
        counts["untagged"] += part.raw == "" and part.media is not None
        counts["dangling"] += part.dangling
    row: dict[str, Any] = {"output": {"modal": modal, "content": flat.content}}
    if read_flat(flat) == output:
        return {**row, OWN: own} if own else row
    for part in output.parts:
        if part.media is not None:
            files.put(part.media, part.kind if part.kind in WORDS else part.media.kind)
    whole = whole_text(output.text)
    counts["reasoning"] += any(part.kind == "reasoning" for part in output.parts)
    counts["rewritten"] += flat.content != whole
    counts["halves"] += whole != output.text
    parts = json.dumps(exact_parts(output, files.names), allow_nan=False)
    own = {**own, "of": seal(flat.content, modal), "parts": parts}
    return {**row, OWN: own}
