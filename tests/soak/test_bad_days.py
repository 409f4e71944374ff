"""Bad days: whatever ends a run, there is one message with the way out, and nothing that was answered is lost."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.bad_disks import small_disk, unwritable
from tests.support.cli import (
    Running,
    at_work,
    environment,
    mmeval_process,
    openai,
    results,
    run_folder,
    score_files,
    started,
    wait_for,
)
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_questions, write_task
from tests.support.story_tasks import write_story_tasks

UNWRITTEN = 2
"""With one connection: the answer that the disk could not take, and the one that was asked for meanwhile."""


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


def questions(tmp_path: Path, count: int = 12, more: str = "") -> list[str]:
    """The flags that name a task of so many questions, and where its runs go."""
    folder = write_questions(tmp_path / "tasks", "ask", range(count), more)
    return ["--tasks", "ask", "--include_path", str(folder), "--output_path", str(tmp_path / "runs")]


# --- signals ----------------------------------------------------------------------------------------------------------


def press(running: Running, number: signal.Signals) -> None:
    """Ctrl-C reaches every process of the terminal; SIGTERM reaches the one that it is sent to."""
    if number == signal.SIGINT:
        os.killpg(running.process.pid, number)
    else:
        running.signal(number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
@pytest.mark.parametrize("busy", [False, True], ids=["quiet", "busy"])
def test_a_stopped_run_keeps_every_answer_and_continues(number: signal.Signals, busy: bool, tmp_path: Path) -> None:
    flags = ["--max_connections", "16" if busy else "2"]
    with MockServer(latency=0.08, jitter=0.08 if busy else 0.0) as server:
        arguments = [*questions(tmp_path, 120), *openai(server), *flags]
        with started(*arguments, start_new_session=True) as running:
            wait_for(lambda: server.state.counts["answered"] >= 10, "10 answers")
            if not busy:
                at_work(server, 10)
            press(running, number)
            stopped = running.ended()
        kept = server.stats()["answered"]
        server.state.settings.latency = server.state.settings.jitter = 0.0
        last = mmeval_process(*arguments)
        stats = server.stats()
    assert stopped.code == 130
    assert "Traceback" not in stopped.err
    assert 10 <= kept < 120
    assert last.code == 0, last.err
    assert last.lines[0].startswith(f"kept {kept} answers from ")
    assert (stats["unique"], stats["repeated"]) == (120, 0)


def test_a_stopped_episode_continues_in_its_middle(tmp_path: Path) -> None:
    tasks = write_story_tasks(tmp_path / "tasks", 4)
    with MockServer(latency=0.2) as server:
        arguments = ["--tasks", "tale_turns", "--include_path", str(tasks), "--output_path", str(tmp_path / "runs")]
        arguments += [*openai(server, outputs="text+image"), "--max_connections", "3"]
        with started(*arguments, start_new_session=True) as running:
            at_work(server, 4)
            press(running, signal.SIGINT)
            stopped = running.ended()
        server.state.settings.latency = 0.0
        last = mmeval_process(*arguments)
        stats = server.stats()
    assert (stopped.code, last.code) == (130, 0), stopped.err + last.err
    assert (stats["unique"], stats["repeated_after_answer"]) == (4 * 2 * 3, 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_second_signal_leaves_at_once(number: signal.Signals, tmp_path: Path) -> None:
    with MockServer(latency=600.0) as server:
        arguments = [*questions(tmp_path, 8), *openai(server)]
        with started(*arguments, start_new_session=True) as running:
            wait_for(lambda: server.state.in_flight == 8, "8 requests")
            press(running, number)
            running.read_until("waiting for 8 answers")
            press(running, number)
            stopped = running.ended()
    assert stopped.code == 130
    assert "waiting for 8 answers" not in stopped.err and "Traceback" not in stopped.err


def test_a_stopped_run_leaves_no_process_behind(tmp_path: Path) -> None:
    with MockServer(latency=0.1) as server:
        arguments = [*questions(tmp_path, 48), *openai(server), "--max_connections", "2", "--score_workers", "2"]
        with started(*arguments, start_new_session=True) as running:
            at_work(server, 4)
            press(running, signal.SIGINT)
            running.ended()
            wait_for(lambda: not group_exists(running.process.pid), "the scoring processes to end")


def group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


# --- disks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kibibytes", [24, 48, 96, 144])
def test_a_full_disk_loses_nothing_but_the_answer_that_it_could_not_take(kibibytes: int, tmp_path: Path) -> None:
    tasks = write_story_tasks(tmp_path / "tasks", 8)
    with MockServer() as server, small_disk(tmp_path / "runs", kibibytes=kibibytes) as disk:
        arguments = ["--tasks", "tale_turns,tale_first", "--include_path", str(tasks), "--output_path", str(disk.path)]
        arguments += [*openai(server, outputs="text+image"), "--max_connections", "1"]
        full = mmeval_process(*arguments)
        disk.remount("size=64m")
        freed = mmeval_process(*arguments)
        stats = server.stats()
        scores = score_files(disk.path)
    assert full.code == 1
    assert "No space left" in full.error
    assert "free space" in full.error
    assert freed.code == 0, freed.err
    assert stats["unique"] == 8 * 2 * 4
    assert stats["repeated_after_answer"] <= UNWRITTEN
    assert len(scores) == 2


@pytest.mark.parametrize("kibibytes", [1, 4, 12])
def test_a_file_that_may_not_grow_loses_nothing_but_one_answer(
    kibibytes: int, server: MockServer, tmp_path: Path
) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kibibytes * 1024, resource.RLIM_INFINITY))

    arguments = [*questions(tmp_path, 100), *openai(server), "--max_connections", "1"]
    # Python would write cut-off byte code under this limit, and the next process would stumble over it.
    full = mmeval_process(*arguments, env=environment(PYTHONDONTWRITEBYTECODE="1"), preexec_fn=limit)
    freed = mmeval_process(*arguments)
    stats = server.stats()
    assert full.code == 1
    assert "File too large" in full.error
    assert freed.code == 0, freed.err
    assert stats["unique"] == 100
    assert stats["repeated_after_answer"] <= UNWRITTEN


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_asked(server: MockServer, tmp_path: Path) -> None:
    with unwritable(tmp_path / "runs"):
        done = mmeval_process(*questions(tmp_path), *openai(server))
    assert done.code == 2
    assert str(tmp_path / "runs") in done.error
    assert "choose another --output_path" in done.error
    assert server.stats()["requests"] == 0


def test_a_cache_that_cannot_be_written_is_said_before_anything_is_asked(server: MockServer, tmp_path: Path) -> None:
    with unwritable(tmp_path / "cache"):
        done = mmeval_process(*questions(tmp_path), *openai(server), "--use_cache", tmp_path / "cache" / "mine")
    assert done.code == 1
    assert "--use_cache" in done.error
    assert server.stats()["requests"] == 0


def test_temporary_files_are_not_needed(server: MockServer, tmp_path: Path) -> None:
    with unwritable(tmp_path / "tmp") as folder:
        done = mmeval_process(*questions(tmp_path), *openai(server), env=environment(TMPDIR=str(folder)))
    assert done.code == 0, done.err
    assert server.stats()["unique"] == 12


# --- two processes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [[], ["--fresh"]], ids=["again", "fresh"])
def test_a_second_process_is_refused_and_the_first_goes_on(flags: list[str], tmp_path: Path) -> None:
    with MockServer(latency=0.5) as server:
        arguments = [*questions(tmp_path, 60), *openai(server), "--max_connections", "2"]
        with started(*arguments) as first:
            at_work(server, 2)
            second = mmeval_process(*arguments, *flags)
            server.state.settings.latency = 0.0
            done = first.ended()
        stats = server.stats()
    assert second.code == 2
    assert f"pid {first.process.pid}" in second.error
    assert "--run_id" in second.error
    assert done.code == 0, done.err
    assert (stats["unique"], stats["repeated"]) == (60, 0)
    assert len(results(tmp_path / "runs")["mmeval"]["results"]) == 1
    assert len(list((tmp_path / "runs" / "m").iterdir())) == 1


# --- the run folder ---------------------------------------------------------------------------------------------------


def test_a_produced_medium_that_was_lost_stops_only_the_episode_that_needs_it(tmp_path: Path) -> None:
    tasks = write_story_tasks(tmp_path / "tasks", 4)
    with MockServer(latency=0.3) as server:
        arguments = ["--tasks", "tale_turns", "--include_path", str(tasks), "--output_path", str(tmp_path / "runs")]
        arguments += openai(server, outputs="text+image")
        with started(*arguments) as running:
            at_work(server, 8)
            running.signal(signal.SIGINT)
            assert running.ended().code == 130
        server.state.settings.latency = 0.0
        victim = min((run_folder(tmp_path / "runs") / "media").rglob("*.png"))
        aside = victim.rename(tmp_path / "aside.png")
        lost = mmeval_process(*arguments)
        aside.rename(victim)
        found = mmeval_process(*arguments)
        stats = server.stats()
    assert lost.code == 3
    assert any(str(victim) in said for said in lost.warnings)
    assert found.code == 0, found.err
    assert (stats["unique"], stats["repeated"]) == (4 * 2 * 3, 0)


# --- servers ----------------------------------------------------------------------------------------------------------


def test_a_server_that_dies_in_the_middle_costs_nothing_that_it_answered(tmp_path: Path) -> None:
    arguments = [*questions(tmp_path, 150), "--retry_on_error", "0", "--max_connections", "4"]
    with MockServer(latency=0.03) as server:
        url = server.url
        port = server.port
        with started(*arguments, *openai(server)) as running:
            wait_for(lambda: server.state.counts["answered"] >= 20, "20 answers")
            server.state.settings.rate_disconnect = 1.0
            ended = running.ended()
        answered = server.stats()["answered"]
    with MockServer(port=port) as again:
        assert again.url == url
        done = mmeval_process(*arguments, *openai(again))
        stats = again.stats()
    assert ended.code == 3
    assert "calls in a row failed" in ended.error
    assert done.code == 0, done.err
    assert stats["requests"] == 150 - answered


# --- plugins and surroundings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "env",
    [{"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"}],
    ids=["C locale", "ascii streams"],
)
def test_a_locale_without_unicode_prints_the_tables(env: dict[str, str], server: MockServer, tmp_path: Path) -> None:
    rows = [{"id": "ä", "input": "Wie heißt das ☃?", "reference": "Schnee"}]
    folder = write_task(tmp_path / "täsks", "frage", rows)
    done = mmeval_process(
        *("--tasks", "frage", "--include_path", folder, "--output_path", tmp_path / "läufe", "--log_samples"),
        *openai(server),
        env=environment(**env),
        errors="replace",
    )
    assert done.code == 0, done.err
    assert "exact_match" in done.out
    assert json.loads(next((tmp_path / "läufe").rglob("samples_*")).read_text("utf-8"))["doc"]["id"] == "ä"


@pytest.mark.parametrize("number", [0, 1, 2], ids=["stdin", "stdout", "stderr"])
def test_a_stream_that_is_closed_does_not_matter(number: int, server: MockServer, tmp_path: Path) -> None:
    done = mmeval_process(*questions(tmp_path), *openai(server), preexec_fn=lambda: os.close(number))
    assert done.code == 0, done
    assert server.stats()["answered"] == 12
    assert results(tmp_path)["mmeval"]["exit_code"] == 0
