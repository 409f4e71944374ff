"""Captions from outside: media of two tasks, two metrics and two trials, put into words
by real servers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import tiny_media
from tests.support.cli import Ended, mmeval, results
from tests.support.judges import HonestServer, asks, honest_server
from tests.support.task_folder import write_rows

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
TEXT = "See <<image1>>, hear <<audio1>>, turn <<3d1>>."
TASKS = ("one", "two")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HonestServer]:
    """A judge and a captioner, beside two tasks over the same rows, whose references
    the model gives as its answers."""
    rows = [
        {"id": number, "input": "Show it.", "reference": {"text": TEXT, "media": MEDIA}}
        for number in "01"
    ]
    data = write_rows(tmp_path / "data", *rows)
    media = (tiny_media.picture(size=(9, 9)), tiny_media.wav(), tiny_media.PLAIN_OBJ)
    for name, content in zip(MEDIA.values(), media, strict=True):
        (data / name).write_bytes(content)
    for name in TASKS:
        (tmp_path / f"{name}.yaml").write_text(TASK.format(name=name))
    with honest_server() as running:
        yield running


def run(
    folder: Path, server: HonestServer, *flags: str, captioner: str = "captioner"
) -> Ended:
    roles = (
        *asks(server, "judge"),
        *asks(server, captioner, name="c", inputs="text+image+audio"),
    )
    tasks = ",".join(str(folder / f"{name}.yaml") for name in TASKS)
    where = (
        "--tasks",
        tasks,
        "--output_path",
        folder / "runs",
        "--score_workers",
        "0",
        "--report",
        "false",
    )
    return mmeval(*where, "--model", "reference", *roles, *flags)


def values(folder: Path) -> list[float]:
    return [
        results(folder / "runs")["results"][name]["semantic_correctness,none"]
        for name in TASKS
    ]


def test_a_medium_is_captioned_once_for_all_that_needs_it(
    server: HonestServer, tmp_path: Path
) -> None:
    ahead = run(tmp_path, server, "--dry_run", "--table", "full")
    assert (ahead.code, server.asked()) == (0, {}), ahead.err
    assert re.search(r"\|one .*\n.*\|captioner\| +3\|", ahead.out), ahead.out
    assert re.search(r"\|two .*\n.*\|captioner\| +0\|", ahead.out), ahead.out
    done, before = run(tmp_path, server), server.asked()
    assert (done.code, run(tmp_path, server).code, server.asked()) == (0, 0, before), (
        done.err
    )
    assert server.state.media == {"image_url": 2, "input_audio": 1}, (
        "the picture and the three views of the model"
    )
    assert values(tmp_path) == [1.0, 1.0]
    rows = next((tmp_path / "runs").rglob("scores.jsonl")).read_text().splitlines()
    shown = json.loads(rows[0])["scores"]["semantic_correctness"]["evidence"][
        "captions"
    ]
    assert [one["label"] for one in shown] == ["image1", "audio1", "3d1"]
    assert [remark.partition(":")[0] for remark in shown[2]["remarks"]] == [
        "3d->renders"
    ]
