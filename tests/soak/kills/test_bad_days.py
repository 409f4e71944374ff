"""Bad days: whatever ends a run, one message says how to go on, and no answer is
lost."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.support.cli import (
    environment,
    mmeval_process,
    openai,
    results,
    run_folder,
    score_files,
    started,
    stopped_at_work,
    wait_for,
)
from tests.support.engine import small_disk, unwritable
from tests.support.judges import judge, judge_server
from tests.support.mock_openai_server import MockServer
from tests.support.questions import questions, where, write_story_tasks, write_task

UNWRITTEN = 2
"""With one connection: the answer that the disk could not take, and the one that was
asked for meanwhile."""


@pytest.mark.parametrize("kibibytes", [24, 96])
def test_a_full_disk_loses_nothing_but_the_answer_that_it_could_not_take(
    kibibytes: int, tmp_path: Path
) -> None:
    tasks = write_story_tasks(tmp_path / "tasks", 8)
    with (
        MockServer() as server,
        small_disk(tmp_path / "runs", kibibytes=kibibytes) as disk,
    ):
        arguments = [
            "--tasks",
            "tale_turns,tale_first",
            "--include_path",
            str(tasks),
            "--output_path",
            str(disk.path),
        ]
        arguments += [*openai(server, outputs="text+image"), "--max_connections", "1"]
        full = mmeval_process(*arguments)
        disk.remount("size=64m")
        freed = mmeval_process(*arguments)
        stats, scores = server.stats(), score_files(disk.path)
    assert (full.code, "No space left" in full.error, freed.code, len(scores)) == (
        1,
        True,
        0,
        2,
    ), freed.err
    assert (stats["unique"], stats["repeated_after_answer"] <= UNWRITTEN) == (
        8 * 2 * 4,
        True,
    )


def test_the_last_line_of_a_run_on_a_full_disk_with_a_judge_is_its_error(
    tmp_path: Path,
) -> None:
    """The model is done, and the disk is found full while the judge is at work."""
    write_task(
        tmp_path / "tasks",
        "ask",
        ({"input": f"Greet guest {n}.", "rubric": ["It greets."]} for n in range(60)),
    )
    file = tmp_path / "tasks" / "ask.yaml"
    file.write_text(file.read_text().replace("exact_match", "rubric_judge"))
    disk = small_disk(tmp_path / "runs", kibibytes=56)
    with (
        MockServer() as server,
        judge_server(tmp_path / "judge", latency=3) as judging,
        disk,
    ):
        full = mmeval_process(
            *where(tmp_path),
            *openai(server),
            *judge(judging),
            "--max_connections",
            "16",
        )
    assert (full.code, full.lines[-1]) == (1, f"error: {full.error}")


@pytest.mark.parametrize(
    ("folder", "flags", "code", "named"),
    [
        ("runs", [], 2, "--output_path"),
        ("cache", ["--use_cache", "cache/mine"], 1, "--use_cache"),
    ],
)
def test_a_folder_that_cannot_be_written_is_reported_before_anything_is_asked(
    folder: str,
    flags: list[str],
    code: int,
    named: str,
    server: MockServer,
    tmp_path: Path,
) -> None:
    with unwritable(tmp_path / folder):
        words = [str(tmp_path / word) if "/" in word else word for word in flags]
        done = mmeval_process(*questions(tmp_path), *openai(server), *words)
    assert (done.code, named in done.error, server.stats()["requests"]) == (
        code,
        True,
        0,
    )


def test_temporary_files_are_not_needed(server: MockServer, tmp_path: Path) -> None:
    with unwritable(tmp_path / "tmp") as folder:
        done = mmeval_process(
            *questions(tmp_path), *openai(server), env=environment(TMPDIR=str(folder))
        )
    assert (done.code, server.stats()["unique"]) == (0, 12), done.err


@pytest.mark.parametrize("flags", [[], ["--fresh"]], ids=["again", "fresh"])
def test_a_second_process_is_refused_and_the_first_goes_on(
    flags: list[str], tmp_path: Path
) -> None:
    with MockServer(hold_after=2) as server:
        arguments = [
            *questions(tmp_path, range(60)),
            *openai(server),
            "--max_connections",
            "2",
        ]
        with started(*arguments) as first:
            wait_for(lambda: len(server.state.held) == 2, "two requests in flight")
            second = mmeval_process(*arguments, *flags)
            server.let_go()
            done = first.ended()
        stats = server.stats()
    assert (
        second.code,
        f"pid {first.process.pid}" in second.error,
        "--run_id" in second.error,
    ) == (2, True, True)
    assert (done.code, stats["unique"], stats["repeated"]) == (0, 60, 0), done.err
    assert len(list((tmp_path / "runs" / "m").iterdir())) == 1


def test_a_produced_medium_that_was_lost_stops_only_the_episode_that_needs_it(
    tmp_path: Path,
) -> None:
    tasks = write_story_tasks(tmp_path / "tasks", 4)
    with MockServer(hold_after=0) as server:
        arguments = [
            "--tasks",
            "tale_turns",
            "--include_path",
            str(tasks),
            "--output_path",
            str(tmp_path / "runs"),
        ]
        arguments += openai(server, outputs="text+image")
        with started(*arguments) as running:
            assert (
                stopped_at_work(
                    running, server, lambda: running.signal(signal.SIGINT), held=8
                ).code
                == 130
            )
        victim = min((run_folder(tmp_path / "runs") / "media").rglob("*.png"))
        aside = victim.rename(tmp_path / "aside.png")
        lost = mmeval_process(*arguments)
        aside.rename(victim)
        found = mmeval_process(*arguments)
        stats = server.stats()

    assert (
        lost.code,
        str(victim) in lost.err,
        found.code,
    ) == (3, True, 0), found.err
    assert (stats["unique"], stats["repeated"]) == (4 * 2 * 3, 0)


@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
    ],
    ids=["C locale", "ascii streams"],
)
def test_a_locale_without_unicode_prints_the_tables(
    env: dict[str, str], server: MockServer, tmp_path: Path
) -> None:
    rows = [{"id": "ä", "input": "Wie heißt das ☃?", "reference": "Schnee"}]
    folder = write_task(tmp_path / "täsks", "frage", rows)
    done = mmeval_process(
        "--tasks",
        "frage",
        "--include_path",
        folder,
        "--output_path",
        tmp_path / "läufe",
        "--log_samples",
        *openai(server),
        env=environment(**env),
        errors="replace",
    )
    assert (done.code, "exact_match" in done.out) == (0, True), done.err
    assert (
        json.loads(next((tmp_path / "läufe").rglob("samples_*")).read_text("utf-8"))[
            "doc"
        ]["id"]
        == "ä"
    )


@pytest.mark.parametrize("number", [0, 1, 2], ids=["stdin", "stdout", "stderr"])
def test_a_stream_that_is_closed_does_not_matter(
    number: int, server: MockServer, tmp_path: Path
) -> None:
    done = mmeval_process(
        *questions(tmp_path), *openai(server), preexec_fn=lambda: os.close(number)
    )
    assert (
        done.code,
        server.stats()["answered"],
        results(tmp_path)["mmeval"]["exit_code"],
    ) == (0, 12, 0), done
