from __future__ import annotations

import logging
from pathlib import Path

import pytest

from mmeval.build import build
from mmeval.errors import MissingError
from mmeval.metric import load_metric
from mmeval.metrics.quality.unim_gq import NOT_YET
from mmeval.pieces import with_pieces
from mmeval.run import say_unavailable
from mmeval.task import Task
from mmeval.taskfile import parse_task
from mmeval.taskinclude import TaskFiles
from tests.support.cli import mmeval
from tests.support.task_folder import write_files

TASK = """\
task: t
metric_list:
  - metric: semantic_correctness
  - metric: unim_gq
  - metric: sqcs
metadata: {version: 1}
"""


@pytest.fixture
def task(tmp_path: Path) -> Task:
    write_files(tmp_path, {"t.yaml": TASK})
    document = TaskFiles([tmp_path]).document(tmp_path / "t.yaml")
    return build(parse_task(document), roles=frozenset({"judge", "captioner"}))


def test_it_is_unavailable_and_so_is_what_is_made_of_it(task: Task) -> None:
    assert [metric.unavailable for metric in task.metrics] == [
        "",
        NOT_YET,
        f"it is made of unim_gq, which is unavailable: {NOT_YET}",
    ]


def test_a_run_says_so_once_and_a_strict_one_is_refused(task: Task, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        say_unavailable([task], strict=False)
    assert [record.getMessage() for record in caplog.records] == [f"t: the metric unim_gq is unavailable: {NOT_YET}"]

    with pytest.raises(MissingError, match="unim_gq is unavailable"):
        say_unavailable([task], strict=True)


def test_asking_for_the_score_that_is_made_of_it_adds_both_pieces() -> None:
    listed = {name: {"metric": name} for name in ("semantic_correctness", "unim_gq", "sqcs")}
    wanted = with_pieces([listed["sqcs"]], listed, {})

    assert [entry["metric"] for entry in wanted] == ["semantic_correctness", "unim_gq", "sqcs"]


def test_the_command_says_it_in_one_line() -> None:
    done = mmeval("metric", "unim_gq", "--answer", "a kettle")

    assert (done.code, done.out, done.error) == (4, "", f"unim_gq is unavailable: {NOT_YET}")


def test_doctor_says_it_of_both_together(tmp_path: Path) -> None:
    file = write_files(tmp_path, {"t.yaml": TASK}) / "t.yaml"
    roles = ("--role", "judge=empty", "--role", "captioner=empty")
    done = mmeval("doctor", "--tasks", file, *roles)

    assert f"metrics unim_gq, sqcs: {NOT_YET}" in done.out
    assert load_metric("unim_gq").version == "0"
