"""Answers to UniM as tests write and read them, and the rules by which the released
scripts find records, files and tags."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.interchange import (
    MANIFEST,
    Absent,
    AnsweredRun,
    AnsweredTask,
    Exported,
    StoredAnswer,
)
from mmeval.media import Interleaved, Media
from mmeval.records import ErrorInfo, Response, Sample, Trial, user
from mmeval.tasks.unim.output.reading import OutputAnswers, read_output
from mmeval.tasks.unim.output.writing import write_output
from tests.support.interchange import task_of
from tests.support.tiny_media import PLAIN_OFF, picture, wav

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


def unim_task(
    answers: Mapping[str, Answer] | Sequence[Answer], name: str = "unim", **sample: str
) -> AnsweredTask:
    by_id = (
        answers
        if isinstance(answers, Mapping)
        else {str(at): answer for at, answer in enumerate(answers, 1)}
    )
    trials = [
        unim_trial(answer, number, 0, **sample) for number, answer in by_id.items()
    ]
    return task_of(name, trials)


def unim_trial(
    answer: Answer, number: str = "1", repeat: int = 0, **sample: str
) -> Trial:
    asked = unim_sample(number, **sample)
    if isinstance(answer, ErrorInfo):
        return Trial(asked, repeat, error=answer)
    return Trial(asked, repeat, output=answer)


def export_unim(folder: Path, *tasks: AnsweredTask) -> Exported:
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
    answers: OutputAnswers, number: str = "1", repeat: int = 0, **sample: str
) -> Response:
    found = answers.answer("unim", unim_sample(number, **sample), repeat)
    assert isinstance(found, StoredAnswer), found
    return found.response


def why_absent(
    answers: OutputAnswers, number: str = "1", repeat: int = 0, **sample: str
) -> str:
    found = answers.answer("unim", unim_sample(number, **sample), repeat)
    assert isinstance(found, Absent), found
    return found.reason


def record(
    content: str, modal: Mapping[str, Any] | None = None, number: str = "1", **more: Any
) -> Json:
    row = {"domain": "natural_science", "subdomain": "math", "id": number, **more}
    return {**row, "output": {"modal": dict(modal or {}), "content": content}}


def write_records(file: Path, *rows: Json, indent: int | None = 2) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row, indent=indent) + "\n" for row in rows))
    return file


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


def with_captions_put_in(content: str, captions: Mapping[str, str]) -> str:
    known = re.compile(r"<((?:code|image|document|audio|video|threeD)\d+)>")
    return known.sub(
        lambda tag: f"<{tag[1]}:{captions[tag[1]]}>" if tag[1] in captions else tag[0],
        content,
    )


def _parsed(text: str) -> Json | None:
    try:
        row: Json = json.loads(text)
    except ValueError:
        return None
    return row
