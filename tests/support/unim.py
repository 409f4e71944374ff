"""UniM's data set in the published layout, of one's own making; answers to it as tests
write and read them; and how the released scripts find records, files and tags."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import DataSource
from mmeval.interchange import (
    MANIFEST,
    AnsweredRun,
    AnsweredTask,
    ExportSummary,
    StoredAnswer,
)
from mmeval.media import Interleaved, Media
from mmeval.records import ErrorInfo, Response, Sample, Trial, user
from mmeval.tasks.unim.loader import UnimDataset, load
from mmeval.tasks.unim.output.reading import UnimAnswers, read_output
from mmeval.tasks.unim.output.writing import write_output
from tests.support.interchange import task_of
from tests.support.tiny_media import PLAIN_OFF, picture, wav

# A UniM data set of one's own making, in the published layout.

GOLD = "image/gold.png"
"""The picture of an answer, at the top of the data set."""


def unim_row(**changes: Any) -> dict[str, Any]:
    row = {
        "domain": "natural_science",
        "subdomain": "math",
        "id": "1",
        "difficulty_level": 3,
        "input": {"modal": {}, "content": "Draw a line."},
        "output": {"modal": {"image1": GOLD}, "content": "Here: <image1>"},
        **changes,
    }
    return {key: value for key, value in row.items() if value is not None}


def write_records(
    folder: Path,
    *rows: Mapping[str, Any],
    file: str = "natural_science/1_math/text_image.jsonl",
) -> Path:
    write_medium(folder, GOLD)
    path = folder / "qapairs_placeholder" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row, indent=2) for row in rows))
    return path


def write_captions(
    folder: Path,
    *rows: Mapping[str, Any],
    file: str = "natural_science/1_math/text_image.jsonl",
) -> Path:
    path = folder / "qapairs_caption" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


FIRST_BYTES = {
    ".png": b"\x89PNG\r\n\x1a\n",
    ".jpg": b"\xff\xd8\xff",
    ".wav": b"RIFF\0\0\0\0WAVE",
    ".mp4": b"\0\0\0\x18ftypmp42",
    ".pdf": b"%PDF-1.4",
    ".csv": b"a,b\n",
    ".txt": b"words",
    ".doc": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    ".obj": b"mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    ".mtl": b"newmtl a\n",
    ".off": b"OFF\n0 0 0\n",
    ".ply": b"ply\nformat ascii 1.0\n",
}
"""As much of a file of each kind as tells what it is, by suffix."""


def write_medium(folder: Path, path: str, data: bytes | None = None) -> Path:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(FIRST_BYTES[target.suffix] if data is None else data)
    return target


def unim_dataset(folder: Path, name: str = "", **options: Any) -> UnimDataset:
    return load(DataSource("unim", folder, name, options=options))


def unim_samples(folder: Path, name: str = "", **options: Any) -> list[Sample]:
    return list(rows_of(unim_dataset(folder, name, **options)))


# Answers to UniM as tests write and read them, and the rules by which the released
# scripts find records, files and tags.

Answer = Interleaved | ErrorInfo
Json = dict[str, Any]
ASKED = "Draw a hare."
FIRST = "See <image1>."
HARE = Media.from_bytes(picture())
TONE = Media.from_bytes(wav())
SOLID = Media.from_bytes(PLAIN_OFF, "a.off")


def tagged(text: str, **media: Media | str) -> Interleaved:
    return Interleaved.from_text(text, media, spellings=("tag",))


def unim_sample(
    number: str = "1",
    domain: str = "math",
    *,
    field: str = "natural_science",
    asked: str = ASKED,
) -> Sample:
    labels = {"field": field, "domain": domain, "difficulty": "hard"}
    return Sample(f"{field}/{domain}/{number}", (user(asked),), metadata=labels)


def unim_task(answers: Mapping[str, Answer] | Sequence[Answer]) -> AnsweredTask:
    by_id = (
        answers
        if isinstance(answers, Mapping)
        else {str(at): answer for at, answer in enumerate(answers, 1)}
    )
    trials = [unim_trial(answer, number) for number, answer in by_id.items()]
    return task_of("unim", trials)


def unim_trial(
    answer: Answer, number: str = "1", repeat: int = 0, **sample: str
) -> Trial:
    asked = unim_sample(number, **sample)
    if isinstance(answer, ErrorInfo):
        return Trial(asked, repeat, error=answer)
    return Trial(asked, repeat, output=answer)


def export_unim(folder: Path, *tasks: AnsweredTask) -> ExportSummary:
    folder.mkdir(parents=True)
    done = write_output(AnsweredRun("teller", tasks), folder)
    (folder / MANIFEST).write_text(json.dumps({"model": "teller", **done.manifest}))
    return done


def there_and_back(folder: Path, *answers: Interleaved) -> list[Response]:
    export_unim(folder, unim_task(answers))
    read = read_output(folder)
    found = [response_to(read, str(number)) for number in range(1, len(answers) + 1)]
    read.close()
    return found


def response_to(
    answers: UnimAnswers, number: str = "1", repeat: int = 0, **sample: str
) -> Response:
    found = answers.answer("unim", unim_sample(number, **sample), repeat)
    assert isinstance(found, StoredAnswer), found
    return found.response


def by_counted_braces(text: str) -> list[Json]:
    """How one script tells records apart: every brace counts, those in strings too;
    what does not parse is dropped."""
    found, depth, start = [], 0, 0
    for at, character in enumerate(text):
        if character == "{":
            start = at if depth == 0 else start
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0 and (row := _parsed(text[start : at + 1])) is not None:
                found.append(row)
    return found


def by_gathered_lines(text: str) -> list[Json]:
    """How another one does: line ends of every alphabet end a line and are lost, and
    lines are joined until they parse."""
    found, gathered = [], ""
    for line in text.splitlines():
        gathered += line
        if (row := _parsed(gathered)) is not None:
            found.append(row)
            gathered = ""
    return found


def _parsed(text: str) -> Json | None:
    try:
        row: Json = json.loads(text)
    except ValueError:
        return None
    return row
