"""Runs in processes of their own that are stopped by a signal."""

import signal
from pathlib import Path

from mmeval.errors import EXIT_INTERRUPTED, EXIT_OK
from tests.support.cli import kept_answers, mmeval_process, openai, started, stopped_at_work, wait_for
from tests.support.mock_openai_server import MockServer
from tests.support.tiny_benchmark import write_benchmark
from tests.support.toy_site import toy_environment


def run_of_twelve(folder: Path) -> list[str]:
    tasks = write_benchmark(folder / "tasks", rows=12)
    return ["--tasks", "tiny", "--include_path", str(tasks), "--output_path", str(folder / "runs")]


def test_a_terminated_run_keeps_every_answer_and_the_next_asks_the_rest(tmp_path: Path) -> None:
    with MockServer(hold_after=4) as server:
        command = [*run_of_twelve(tmp_path), *openai(server), "--max_connections", "2"]
        with started(*command) as running:
            first = stopped_at_work(running, server, lambda: running.signal(signal.SIGTERM))
        kept = kept_answers(tmp_path)
        second = mmeval_process(*command)
        stats = server.stats()
    assert (first.code, "Traceback" in first.err, kept) == (EXIT_INTERRUPTED, False, 4 + 2), first.err
    assert (second.code, second.lines[0].startswith("kept 6 answers ")) == (EXIT_OK, True), second.err
    assert (stats["unique"], stats["repeated"]) == (12, 0)


def test_a_metric_at_work_does_not_keep_a_stopped_run_from_ending(tmp_path: Path) -> None:
    command = [*run_of_twelve(tmp_path), "--model", "toy", "--model_args", f"log={tmp_path / 'asked'}"]
    file = tmp_path / "tasks" / "tiny.yaml"
    file.write_text(file.read_text().replace("exact_match", "toy_yes"))
    (tmp_path / "tasks" / "data" / "test.jsonl").write_text('{"id": "0", "input": "hang"}\n')
    with started(*command, env=toy_environment(tmp_path / "site")) as running:
        wait_for(lambda: kept_answers(tmp_path) == 1, "the answer")
        running.signal(signal.SIGINT)
        assert running.ended().code == EXIT_INTERRUPTED
