"""Shards at once, one of them killed and run again: merged, they are the run that never
was in shards."""

import random
import signal
import subprocess
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tests.soak.kills.test_crash import ENV, command, killed_once
from tests.soak.support.agents import has_answered
from tests.support.cli import (
    DEADLINE,
    ROOT,
    mmeval_process,
    results,
    score_files,
    started,
)
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_story_tasks

ROWS = 12


def test_three_shards_at_once_one_killed_and_run_again_are_merged_to_the_whole_run(
    tmp_path: Path,
) -> None:
    tasks = write_story_tasks(tmp_path / "tasks", ROWS)
    output = tmp_path / "sharded"
    draw = random.Random(29)
    with MockServer(latency=0.12) as server:
        whole = mmeval_process(*command(tasks, server.url, tmp_path / "whole"))
        asked_once = server.stats()["unique"]
        server.state.reset()
        arguments = [*command(tasks, server.url, output), "--max_connections", "2"]
        with ExitStack() as at_work:
            others = [
                at_work.enter_context(started(*arguments, "--shard", f"{number}/3"))
                for number in (1, 3)
            ]
            died = []
            for more in (draw.randint(2, 6), draw.randint(2, 6)):
                reached = partial(
                    has_answered, server, server.stats()["answered"] + more
                )
                died.append(
                    killed_once(reached, [*arguments, "--shard", "2/3"], server, output)
                )
            last = mmeval_process(*arguments, "--shard", "2/3")
            ended = [running.ended() for running in others]
        cut = [
            sys.executable,
            "-m",
            "tests.soak.support.dying",
            "results",
            "2",
            "merge",
            str(output / "m" / "default"),
        ]
        cut_off = subprocess.run(
            cut, env=ENV, cwd=ROOT, capture_output=True, timeout=DEADLINE
        ).returncode
        merged = mmeval_process("merge", output / "m" / "default")
        stats = server.stats()
        again = mmeval_process(*arguments)
        assert server.stats()["requests"] == stats["requests"], again.err

    assert (whole.code, died, last.code, [one.code for one in ended]) == (
        0,
        [-signal.SIGKILL] * 2,
        0,
        [0, 0],
    )
    assert cut_off == -signal.SIGKILL
    assert (merged.code, stats["repeated_after_answer"], stats["unique"]) == (
        0,
        0,
        asked_once,
    ), merged.err
    assert score_files(output / "m" / "default" / "scores") == score_files(
        tmp_path / "whole"
    )
    assert (
        results(output)["mmeval"]["results"]
        == results(tmp_path / "whole")["mmeval"]["results"]
    )


def test_a_shard_that_is_killed_and_not_run_again_is_merged_in_part(
    tmp_path: Path,
) -> None:
    tasks = write_story_tasks(tmp_path / "tasks", ROWS)
    run = tmp_path / "runs" / "m" / "default"
    with MockServer(latency=0.05) as server:
        arguments = [
            *command(tasks, server.url, tmp_path / "runs"),
            "--max_connections",
            "2",
        ]
        one = [*arguments, "--shard", "1/2"]
        died = killed_once(
            partial(has_answered, server, 9), one, server, tmp_path / "runs"
        )
        (segment,) = run.glob("shards/*/journal/*.jsonl")
        with segment.open("ab") as file:
            file.write(b'{"k":"model/torn')
        refused = mmeval_process("merge", run)
        part = mmeval_process("merge", run, "--partial")
        unfinished = [*results(run)["mmeval"]["unfinished"]]
        last = [
            mmeval_process(*arguments, "--shard", shard).code
            for shard in ("1/2", "2/2")
        ]
        merged = mmeval_process("merge", run)
        stats = server.stats()
    assert (died, refused.code, part.code) == (-signal.SIGKILL, 2, 3), part.err
    assert unfinished == ["tale_turns", "tale_first", "tale_again"]
    assert "not finished: shard 1/2; missing: shard 2/2" in refused.error
    assert (last, merged.code, stats["repeated_after_answer"]) == ([0, 0], 0, 0), (
        merged.err
    )
    assert results(run)["mmeval"]["unfinished"] == {}
