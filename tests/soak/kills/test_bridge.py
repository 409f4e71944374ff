"""A bridge that is killed five times: the new judge is asked exactly about the sample of
each run, and nothing that it answered is asked again."""

from functools import partial
from pathlib import Path

from tests.soak.kills.test_crash import killed_once
from tests.support.cli import QUIET, kept_answers, mmeval, openai
from tests.support.judges import judge, judge_server
from tests.support.mock_openai_server import MockServer
from tests.support.task_folder import write_rows

ROWS, SAMPLE, KILLS = 70, 60, 5
CRITERIA = ["It greets.", "It is short."]
CALLS = 2 * SAMPLE * len(CRITERIA)
TASK = """\
task: greet
dataset_path: data
metric_list:
  - metric: rubric_judge
metadata: {version: 1}
"""
STRICT = {f"guest {row} ": {"met": "no"} for row in range(0, ROWS, 3)}
LENIENT = {f"guest {row} ": {"met": "no"} for row in range(0, ROWS, 6)}


def judged_runs(folder: Path) -> list[Path]:
    """Two runs of different models. The server of their judge is off afterwards."""
    rows = [{"input": f"Greet guest {i} .", "rubric": CRITERIA} for i in range(ROWS)]
    write_rows(folder / "data", *rows)
    (folder / "greet.yaml").write_text(TASK)
    with MockServer() as model, judge_server(folder / "old", STRICT) as old:
        for name in ("a", "b"):
            ended = mmeval(
                *("--tasks", folder / "greet.yaml"),
                *("--output_path", folder / "runs", "--model_tag", name),
                *openai(model, model=name),
                *QUIET,
                *judge(old, "old"),
            )
            assert ended.code == 0, ended.err
    return [folder / "runs" / name / "default" for name in ("a", "b")]


def has_answered(server: MockServer, count: int) -> bool:
    return int(server.stats()["answered"]) >= count


def test_a_bridge_that_is_killed_asks_nothing_twice(tmp_path: Path) -> None:
    runs = judged_runs(tmp_path)
    before = kept_answers(tmp_path / "runs")
    settings = {"latency": 0.02}
    with judge_server(tmp_path / "new", LENIENT, **settings) as new:
        command = [
            *("bridge", *map(str, runs), "--from", "old", "--sample", str(SAMPLE)),
            *("--to", "openai,model=new", "--judge_base_url", new.url),
            *("--max_connections", "4"),
        ]
        for kill in range(1, KILLS + 1):
            wanted = kill * CALLS // (KILLS + 1)
            reached = partial(has_answered, new, wanted)
            status = killed_once(reached, command, new, tmp_path / "runs", before)
            assert status == -9
        ended = mmeval(*command, "--format", "json")
        assert ended.code == 0, ended.err
        assert new.stats()["answered"] == CALLS
        assert new.stats()["repeated_after_answer"] == 0
        assert kept_answers(tmp_path / "runs") - before == CALLS
