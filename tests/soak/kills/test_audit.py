"""An audit that is killed three times: the judge gets exactly the calls of the dry run,
and nothing that it answered is asked again."""

import re
from functools import partial
from pathlib import Path

from tests.soak.kills.test_bridge import has_answered
from tests.soak.kills.test_crash import killed_once
from tests.support.cli import QUIET, kept_answers, mmeval
from tests.support.judges import judge, judge_server
from tests.support.mock_openai_server import MockServer
from tests.support.task_folder import write_rows
from tests.support.tiny_media import picture

ROWS, KILLS = 12, 3
TEXT_ALONE = {"criterion": "It is short.", "side": "text"}
TASK = """\
task: greet
dataset_path: data
output_modalities: [text, image]
metric_list:
  - metric: rubric_judge
metadata: {version: 1}
"""
REPLIES = {f"guest {row} ": {"met": "no"} for row in range(0, ROWS, 3)}


def judged_run(folder: Path, server: MockServer) -> Path:
    """A run of answers with a picture each, two of which have equal words."""
    (folder / "data").mkdir()
    rows = []
    for number in range(ROWS):
        name = f"{number}.png"
        colour = (20 * number, 0, 0)
        content = picture(size=(120, 60), colour=colour)
        (folder / "data" / name).write_bytes(content)
        rows.append(
            {
                "input": f"Greet guest {number // 2} .",
                "rubric": ["It greets.", TEXT_ALONE],
                "reference": {"text": "So: <<image1>>", "media": {"image1": name}},
            }
        )
    write_rows(folder / "data", *rows)
    (folder / "greet.yaml").write_text(TASK)
    ended = mmeval(
        *("--tasks", folder / "greet.yaml", "--model", "reference"),
        *("--output_path", folder / "runs", "--model_tag", "m"),
        *QUIET,
        *judge(server, inputs="text+image"),
    )
    assert ended.code == 0, ended.err
    return folder / "runs/m/default"


def test_an_audit_that_is_killed_asks_nothing_twice(tmp_path: Path) -> None:
    with judge_server(tmp_path / "judge", REPLIES, latency=0.02) as server:
        run = judged_run(tmp_path, server)
        before = kept_answers(tmp_path / "runs")
        command = [
            *("audit", str(run), "--max_connections", "4"),
            *judge(server, inputs="text+image"),
        ]
        dry = mmeval(*command, "--dry_run")
        [calls] = map(int, re.findall(r"in (\d+) calls", dry.out))
        for kill in range(1, KILLS + 1):
            reached = partial(has_answered, server, before + kill * calls // 4)
            status = killed_once(reached, command, server, tmp_path / "runs")
            assert status == -9
        ended = mmeval(*command)
        assert ended.code == 0, ended.err
        assert server.stats()["answered"] == before + calls
        assert server.stats()["repeated_after_answer"] == 0
        assert kept_answers(tmp_path / "runs") == before + calls
