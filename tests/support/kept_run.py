"""The plugins behind the run folder that is kept in ``tests/fixtures``: what was asked, who answered, how it scored.

Nothing here may change: the folder was made with it, and every later version must read, continue and score it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mmeval.backend.capabilities import Capabilities
from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, media_part, text_part
from mmeval.dataset.contract import DataSource
from mmeval.metric.contract import metric
from mmeval.program.calls import Program, Role, ask_one
from mmeval.program.protocols import Ask, join
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import Sample, user
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from tests.support.task_folder import installed

FOLDER = Path(__file__).parents[1] / "fixtures" / "run_format_1"

TASKS = {
    "drawn.yaml": """\
task: kept_drawn
loader: kept_rows
input_modalities: [text, image]
output_modalities: [text, image]
breakdown: [level]
repeats: 2
metric_list:
  - metric: kept_word
    word: yes please
  - metric: kept_picture
  - metric: kept_verdict
metadata: {version: 1}
""",
    "turns.yaml": """\
task: kept_turns
loader: kept_rows
dataset_kwargs: {pictures: false}
input_modalities: [text]
output_modalities: [text]
protocol: kept_turns
metric_list:
  - metric: kept_verdict
metadata: {version: 1}
""",
    "kept.yaml": """\
group: kept
task: [kept_drawn, kept_turns]
aggregate_metric_list:
  - metric: kept_verdict
    weight_by_size: true
metadata: {version: 1}
""",
}

_PLUGINS = """
[mmeval.loaders]
kept_rows = tests.support.kept_run:rows
[mmeval.protocols]
kept_turns = tests.support.kept_run:two_turns
[mmeval.metrics]
kept_word = tests.support.kept_run:kept_word
kept_picture = tests.support.kept_run:kept_picture
kept_verdict = tests.support.kept_run:kept_verdict
[mmeval.model_backends]
kept = tests.support.kept_run:Kept
"""


@contextmanager
def known(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The plugins and tasks of the folder, until the block ends; ``Kept.asked`` begins empty."""
    Kept.asked = []
    with installed(site, monkeypatch, {"kept": TASKS}, more=_PLUGINS):
        yield


def picture(colour: int) -> Media:
    """A PNG of one pixel; stored and not compressed, so that its bytes are the same everywhere."""
    data = b"\x89PNG\r\n\x1a\n"
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    for kind, body in (
        (b"IHDR", header),
        (b"IDAT", zlib.compress(b"\0" + colour.to_bytes(3, "big"), 0)),
        (b"IEND", b""),
    ):
        data += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return Media.from_bytes(data)


class Kept:
    """Echoes; draws a picture where one is wanted; fails at what holds ``fail``; as a judge it likes what says yes.

    ``asked`` has (model, words) of every request to any instance.
    """

    asked: ClassVar[list[tuple[str, str]]] = []
    capabilities = Capabilities.of(("text", "image"), ("text", "image"))
    provenance: Mapping[str, Any] = {}

    def __init__(self, *, model: str = "kept-1") -> None:
        self.identity = {"backend": "kept", "model": model}
        self._model = model

    async def generate(self, request: Request) -> Response:
        words = request.messages[-1].content.text
        self.asked.append((self._model, words))
        if "fail" in words:
            return Response.failed("server", "as told")
        if "good?" in words:
            return Response(Interleaved.from_text("yes" if "yes" in words else "no"), served=f"{self._model}-served")
        drawn = [picture(len(words))] if "image" in request.wants else []
        return Response(Interleaved.from_reply(f"You said: {words}", drawn))

    async def close(self) -> None:
        pass


class _Rows:
    fingerprint = "kept-rows"

    def __init__(self, pictures: bool) -> None:
        self._pictures = pictures

    def __len__(self) -> int:
        return 4

    def __iter__(self) -> Iterator[Sample]:
        for i, words in enumerate(("yes please", "no", "fail", "yes and no")):
            parts = [text_part(words), *([media_part(picture(i))] if self._pictures else [])]
            yield Sample(
                f"s{i}", (user(*parts),), (Interleaved.from_text("yes"),), {"level": "odd" if i % 2 else "even"}
            )


def rows(source: DataSource) -> _Rows:
    """Four samples, whose pictures lie in no file."""
    return _Rows(bool(source.options.get("pictures", True)))


def two_turns(ask: Ask) -> Program[Interleaved]:
    """The second turn asks once more what was asked."""
    first = yield from ask_one(ask.call())
    second = yield from ask_one(ask.call((*ask.messages, user(f"again: {first.require().text}"))))
    return join([first.require(), second.require()])


@metric(range=(0, 1), version="1", source="kept with the folder")
def kept_word(trial: Trial, *, word: str = "yes") -> float:
    """1 when the answer holds the word."""
    assert trial.output is not None
    return float(word in trial.output.text)


@metric(range=(0, 1), version="1", source="kept with the folder")
def kept_picture(trial: Trial) -> float:
    """1 when the answer has a picture, whose bytes are read."""
    assert trial.output is not None
    return float(any(medium.read().startswith(b"\x89PNG") for medium in trial.output.media()))


@metric(range=(0, 1), version="1", source="kept with the folder")
def kept_verdict(trial: Trial, judge: Role, *, question: str = "good?") -> Program[Score]:
    """1 when the judge likes the answer."""
    assert trial.output is not None
    said = yield from ask_one(judge.ask(trial.output, text_part(f" {question}")))
    return Score(float(said.require().text == "yes"))
