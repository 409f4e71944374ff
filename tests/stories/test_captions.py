"""Captions from outside: media of two tasks, two metrics and two trials, put into words by real servers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support import tiny_media
from tests.support.cli import Ended, mmeval, results
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
        where = ("--tasks", tasks, "--output_path", self.folder / "runs", "--score_workers", "0", "--report", "false")
        return [*where, "--model", "reference", *roles, *flags]

    def run(self, *flags: str, **more: str) -> Ended:
        return mmeval(*self.words(*flags, **more))

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


def test_a_medium_is_captioned_once_for_all_trials_metrics_and_tasks_and_commands(captions: Captions) -> None:
    ahead = captions.run("--dry_run")
    assert (ahead.code, captions.captioned()) == (0, {}), ahead.err
    assert re.search(r"\|one .*\n.*\|captioner\| +3\|", ahead.out), ahead.out
    assert re.search(r"\|two .*\n.*\|captioner\| +0\|", ahead.out), ahead.out

    done = captions.run()
    before = captions.server.asked()
    shown = captions.evidence("semantic_correctness")[0]["evidence"]["captions"]
    assert (done.code, captions.run().code, captions.server.asked()) == (0, 0, before), done.err
    assert captions.captioned() == {"image_url": 2, "input_audio": 1}, "the picture and the three views of the model"
    assert captions.value("semantic_correctness") == captions.value("semantic_correctness", "two") == 1.0
    assert [one["label"] for one in shown] == ["image1", "audio1", "3d1"]
    assert [remark.partition(":")[0] for remark in shown[2]["remarks"]] == ["3d->renders"]


def test_a_captioner_for_one_kind_is_enough_for_what_has_no_other(captions: Captions) -> None:
    (captions.folder / "data" / "test.jsonl").write_text(
        json.dumps({"id": "0", "input": "Sing.", "reference": {"text": "<<audio1>>", "media": {"audio1": "b.wav"}}})
        + "\n"
    )
    done = captions.run(captioner="captioner.audio")
    assert done.code == 0, done.err
    assert captions.captioned() == {"input_audio": 1}
    assert captions.value("semantic_correctness") == 1.0
    assert any("captioner.image=BACKEND" in line and "captioner.3d=BACKEND" in line for line in done.warnings)
