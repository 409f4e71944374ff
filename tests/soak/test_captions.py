"""Captions from outside: media of two tasks, two metrics and two trials, put into words by real servers."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support import tiny_media
from tests.support.cli import Ended, environment, mmeval_process, results, wait_for
from tests.support.killing import kept, killed_once
from tests.support.unim_judges import HonestServer, asks, honest_server

TASK = """\
task: {name}
loader: interleaved
dataset_path: data
output_modalities: [text, image, audio, 3d]
repeats: 2
metric_list:
  - metric: semantic_correctness
  - metric: interleaved_coherence
metadata: {{version: 1}}
"""
MEDIA = {"image1": "a.png", "audio1": "b.wav", "3d1": "c.obj"}


class Captions(NamedTuple):
    """Two tasks over the same rows, whose references the model gives as its answers; a judge, and a captioner."""

    folder: Path
    server: HonestServer

    def words(self, *flags: str, captioner: str = "captioner", inputs: str = "text+image+audio") -> list[str | Path]:
        tasks = ",".join(str(self.folder / f"{name}.yaml") for name in ("one", "two"))
        roles = (*asks(self.server, "judge"), *asks(self.server, captioner, name="c", inputs=inputs))
        return ["--tasks", tasks, "--output_path", self.folder / "runs", "--model", "reference", *roles, *flags]

    def run(self, *flags: str, **more: str) -> Ended:
        return mmeval_process(*self.words(*flags, **more))

    def captioned(self) -> dict[str, int]:
        """Requests for captions by the field that held the medium."""
        return dict(self.server.state.media)

    def value(self, metric: str, task: str = "one") -> float | None:
        found: float | None = results(self.folder / "runs")["results"][task][f"{metric},none"]
        return found

    def evidence(self, metric: str) -> list[dict[str, Any]]:
        newest = max((self.folder / "runs").rglob("scores.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        rows = [json.loads(line) for line in newest.read_text().splitlines()]
        return [row["scores"][metric] for row in rows]


@pytest.fixture
def captions(tmp_path: Path) -> Iterator[Captions]:
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.png").write_bytes(tiny_media.picture(size=(9, 9)))
    (data / "b.wav").write_bytes(tiny_media.wav())
    (data / "c.obj").write_bytes(tiny_media.PLAIN_OBJ)
    reference = {"text": "See <<image1>>, hear <<audio1>>, turn <<3d1>>.", "media": MEDIA}
    row = {"input": "Show it.", "reference": reference}
    rows = [{"id": str(number), **row} for number in range(2)]
    (data / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(TASK.format(name=name))
    with honest_server() as server:
        yield Captions(tmp_path, server)


def test_no_caption_that_came_is_asked_for_again_after_a_kill(captions: Captions) -> None:
    data, runs, server = captions.folder / "data", captions.folder / "runs", captions.server
    rows = []
    for number in range(12):
        (data / f"{number}.png").write_bytes(tiny_media.picture(size=(8, 8), colour=(number, 0, 0)))
        reference = {"text": "See <<image1>>.", "media": {"image1": f"{number}.png"}}
        rows.append({"id": str(number), "input": "Show it.", "reference": reference})
    (data / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    captions.run("--predict_only")
    answers, server.state.settings.latency = kept(runs), 0.05

    def are_kept(wanted: int) -> bool:
        """In the server's thread, which answers nobody meanwhile."""
        if server.state.media.total() < wanted:
            return False
        wait_for(lambda: kept(runs) >= answers + server.stats()["answered"], "what was answered to be kept")
        return True

    words = captions.words("--max_connections", "2")
    died = [killed_once(partial(are_kept, wanted), words, server, runs, environment()) for wanted in (3, 6, 9)]
    done = captions.run("--max_connections", "2")

    assert died == [-signal.SIGKILL] * 3
    assert done.code == 0, done.err
    assert server.stats()["repeated_after_answer"] == 0
    assert captions.value("semantic_correctness") == 1.0
