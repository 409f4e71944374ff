"""Shards at once, one of them killed and run again: merged, they are the run that never was in shards."""

import random
import signal
from contextlib import ExitStack
from pathlib import Path

from tests.soak.kills.test_crash import command, killed_once
from tests.support.cli import mmeval_process, results, score_files, started
from tests.support.mock_openai_server import MockServer
from tests.support.story_tasks import write_story_tasks

ROWS = 12


def test_three_shards_at_once_one_killed_and_run_again_are_merged_to_the_whole_run(tmp_path: Path) -> None:
    tasks = write_story_tasks(tmp_path / "tasks", ROWS)
    output = tmp_path / "sharded"
    draw = random.Random(29)
    with MockServer(latency=0.12) as server:
        whole = mmeval_process(*command(tasks, server.url, tmp_path / "whole"))
        asked_once = server.stats()["unique"]
        server.state.reset()
        arguments = [*command(tasks, server.url, output), "--max_connections", "2"]
        with ExitStack() as at_work:
            others = [at_work.enter_context(started(*arguments, "--shard", f"{number}/3")) for number in (1, 3)]
            died = []
            for more in (draw.randint(2, 6), draw.randint(2, 6)):
                wanted = server.stats()["answered"] + more
                died.append(
                    killed_once(
                        lambda wanted=wanted: server.stats()["answered"] >= wanted,
                        [*arguments, "--shard", "2/3"],
                        server,
                        output,
                    )
                )
            last = mmeval_process(*arguments, "--shard", "2/3")
            ended = [running.ended() for running in others]
        merged = mmeval_process("merge", output / "m" / "default")
        stats = server.stats()
        again = mmeval_process(*arguments)
        assert server.stats()["requests"] == stats["requests"], again.err

    assert (whole.code, died, last.code, [one.code for one in ended]) == (0, [-signal.SIGKILL] * 2, 0, [0, 0])
    assert (merged.code, stats["repeated_after_answer"], stats["unique"]) == (0, 0, asked_once), merged.err
    assert score_files(output / "m" / "default" / "scores") == score_files(tmp_path / "whole")
    assert results(output)["mmeval"]["results"] == results(tmp_path / "whole")["mmeval"]["results"]
