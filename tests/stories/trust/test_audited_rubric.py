"""The audit of a judge of rubrics, of which some criteria are about text alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import QUIET, mmeval
from tests.support.judges import judge, judge_server
from tests.support.task_folder import write_rows
from tests.support.tiny_media import picture

ROWS = 8
TEXT = {"criterion": "It is short.", "side": "text"}
MEDIA = {"criterion": "It shows a guest.", "side": "media"}
TASK = """\
task: guests
dataset_path: data
output_modalities: [text, image]
metric_list:
  - metric: rubric_judge
metadata: {version: 1}
"""


def audited(folder: Path, rubric: list[Any]) -> list[dict[str, Any]]:
    """What a judge that always says yes said of answers with a picture."""
    (folder / "data").mkdir()
    rows = []
    for number in range(ROWS):
        name = f"{number}.png"
        (folder / "data" / name).write_bytes(picture(colour=(20 * number, 0, 0)))
        answer = {"text": "So: <<image1>>", "media": {"image1": name}}
        question = f"Greet guest {number}."
        rows.append({"input": question, "rubric": rubric, "reference": answer})
    write_rows(folder / "data", *rows)
    (folder / "guests.yaml").write_text(TASK)
    with judge_server(folder / "judge", {"It is short": {"met": "no"}}) as server:
        flags = judge(server, inputs="text+image")
        ended = mmeval(
            *("--tasks", folder / "guests.yaml", "--model", "reference"),
            *("--output_path", folder / "runs", "--model_tag", "m"),
            *QUIET,
            *flags,
        )
        assert ended.code == 0, ended.err
        run = folder / "runs/m/default"
        ended = mmeval("audit", run, *flags, "--checks", "swap,blind")
        assert ended.code == 0, ended.err
    [file] = run.glob("audit/*/calls.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_rubric_is_compared_by_its_criteria_about_media(tmp_path: Path) -> None:
    calls = audited(tmp_path, [MEDIA, TEXT])
    assert [call["first"] for call in calls] == [1.0] * 2 * ROWS


@pytest.mark.parametrize("check", ["swap", "blind"])
def test_a_rubric_about_text_alone_is_left_out(check: str, tmp_path: Path) -> None:
    calls = audited(tmp_path, [TEXT])
    sides = [call["side"] for call in calls if call["check"] == check]
    # nothing that the judge sees is swapped, and a mark for media is in the text
    assert sides == ([] if check == "swap" else ["text"] * ROWS)
