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
    names_of_sample,
    read_record_answer,
    record_answer_of,
    seal,
    to_text,
    whole_text,
)

MAX_FILE_BYTES = 2**27
"""Maximum size of an answer file, since readers load a complete file at once. Further
answers are written to the next file."""

NOTES = {
    "reasoning": f"the layout cannot express hidden reasoning; it is kept in {OWN!r}",
    "rewritten": "tags were rewritten for the scripts; the original tags are kept in "
    f"{OWN!r}",
    "halves": "lone surrogates were replaced by U+FFFD; the original text is kept in "
    f"{OWN!r}",
    "untagged": "the answer's text has no tag for them; they are listed without a "
    "change of the text",
    "dangling": "they have no medium, so they are only in the text",
    "repeats": "second and later answers to a question are in answers_repeat<n>.jsonl",
}
NOUNS = {"untagged": "media files", "dangling": "tags"}
_LEVELS = {word: int(level) for level, word in DIFFICULTIES.items()}
_NUMBER = re.compile(r"[1-9][0-9]{0,3}")


def write_output(run: AnsweredRun, folder: Path) -> ExportSummary:
    """Fills the folder of one model. Raises the errors of :meth:`ExportFolder.fill`."""
    return _UnimFolder(folder).fill(run)


class _UnimFolder(ExportFolder):
    """Writes the answers one by one, and the media of an answer before its record."""

    benchmark, entry, notes, nouns = "UniM", "record", NOTES, NOUNS
    unanswered = f"there is no record, and the reason is in {MANIFEST}"

    def takes(self, sample: Sample) -> bool:
        return names_of_sample(sample) is not None

    def add(self, scored: ScoredTrial) -> None:
        sample, output = scored.trial.sample, scored.trial.output
        names = names_of_sample(sample)
        assert names is not None
        id = sample.id.removeprefix(f"{names.field}/{names.domain}/")
        repeat = scored.trial.repeat
        extra = self.mmeval_fields(scored.trial)
        if output is None:
            failure = {**names._asdict(), "id": id, "repeat": repeat, **extra}
            self.manifest.setdefault("failed", []).append(failure)
            return
        domain_folder = self.path / names.field / names.domain
        files = _Files(domain_folder, id, repeat, sample)
        answer = _answer(output, sample.question, files, self.counts, extra)
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
        domain_folder.mkdir(parents=True, exist_ok=True)
        file = domain_folder / f"{name}.jsonl"
        # Find the first answer file with enough space.
        while file.exists() and file.stat().st_size + len(line) > MAX_FILE_BYTES:
            number += 1
            file = domain_folder / f"{name}_part{number}.jsonl"
        with file.open("ab") as out:
            out.write(line)
        self.counts["media"] += files.written

    def finish(self) -> Sequence[str]:
        return ()


def _question(sample: Sample) -> dict[str, Any]:
    """Returns the question as in the data set, with the file names of its media.

    The media are not copied.
    """
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
    """Writes each medium of an answer once, under the next free name."""

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
        """Writes a medium. Returns its file name below the folder of the answers."""
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
    extra: dict[str, Any],
) -> dict[str, Any]:
    """Returns the values of a record's keys ``output`` and ``mmeval``.

    The latter contains ``extra`` and everything that ``output`` cannot express.
    """
    record_answer = record_answer_of(output, question)
    kinds = {word: kind for kind, word in WORDS.items()}
    modal = {}
    for name, item in record_answer.modal.items():
        if isinstance(item, str):
            modal[name] = item
        else:
            modal[name] = files.put(item, kinds[name.rstrip("0123456789")])
    for part in output.parts:
        counts["untagged"] += part.raw == "" and part.media is not None
        counts["dangling"] += part.dangling
    row: dict[str, Any] = {"output": {"modal": modal, "content": record_answer.content}}
    if read_record_answer(record_answer) == output:
        return {**row, OWN: extra} if extra else row
    for part in output.parts:
        if part.media is not None:
            files.put(part.media, part.kind if part.kind in WORDS else part.media.kind)
    full_text = whole_text(output.text)
    counts["reasoning"] += any(part.kind == "reasoning" for part in output.parts)
    counts["rewritten"] += record_answer.content != full_text
    counts["halves"] += full_text != output.text
    parts = json.dumps(exact_parts(output, files.names), allow_nan=False)
    extra = {**extra, "of": seal(record_answer.content, modal), "parts": parts}
    return {**row, OWN: extra}
