"""A finished run answers the same command from what it has kept. ``tests/soak/kept``
changes everything that the outcome depends on."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval.results.corrected import keep_corrected
from mmeval.run.kept import outcome
from tests.support.finished_run import TASK, TEMPLATE, FinishedRun
from tests.support.mock_openai_server import MockServer
from tests.support.tiny_media import picture


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer(reply=TEMPLATE) as server:
        yield server


@pytest.fixture
def run(tmp_path: Path, server: MockServer) -> FinishedRun:
    return FinishedRun(tmp_path, server)


def times(run: FinishedRun) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in run.files()}


def test_the_same_command_writes_nothing(run: FinishedRun) -> None:
    before = times(run)
    assert run.again().code == 0
    assert times(run) == before


def test_the_same_command_prints_the_same_table(run: FinishedRun) -> None:
    kept = run.again()
    for file in run.files("kept"):
        file.unlink()
    read = run.again()
    name, other_name = (file.name for file in run.results)
    assert kept.out == read.out.replace(other_name, name)


def test_the_same_command_states_that_answers_are_kept(run: FinishedRun) -> None:
    log = run.again().err
    assert "answers kept: 3 from" in log
    assert "nothing to ask" in log


def test_the_same_command_shows_the_full_table_with_the_judge(
    run: FinishedRun,
) -> None:
    first, second = run.again("--table", "full"), run.again("--table", "full")
    assert len(run.results) == 2
    assert first.out == second.out


def test_warnings_about_the_data_are_repeated(run: FinishedRun) -> None:
    run.write_task(TASK + "breakdown: [levl]\n")
    first, second = run.again(), run.again()
    assert len(run.results) == 2
    assert first.warnings == second.warnings
    assert first.warnings


def test_scoring_without_a_change_writes_nothing(run: FinishedRun) -> None:
    run.score()
    before = times(run)
    assert run.score().code == 0
    assert times(run) == before


def test_a_run_is_read_again_after_a_scoring_wrote_newer_results(
    run: FinishedRun,
) -> None:
    run.score("--metrics", "exact_match")
    run.again()
    newest = json.loads(run.results[-1].read_bytes())
    assert (len(run.results), len(newest["mmeval"]["results"])) == (3, 2)


@pytest.mark.parametrize(
    "name", ["journal", "samples", "trials", "scores", "run.json", "results_"]
)
def test_a_changed_file_of_the_run_is_noticed(run: FinishedRun, name: str) -> None:
    (file, *_) = run.files(name)
    os.utime(file)
    run.again()
    assert run.sessions == 2


def test_a_new_file_of_the_run_is_noticed(run: FinishedRun) -> None:
    (run.path / "journal" / "other-1-abcdef.jsonl").write_bytes(b"")
    run.again()
    assert run.sessions == 2


def test_a_corrected_number_of_the_run_is_noticed(run: FinishedRun) -> None:
    keep_corrected(run.path, "people", [], {}, {})
    run.again()
    assert run.sessions == 2


def test_a_changed_medium_of_the_data_is_noticed(run: FinishedRun) -> None:
    run.picture("a").write_bytes(picture(colour="blue"))
    run.again()
    assert run.sessions == 2


def test_another_setting_is_another_command(run: FinishedRun) -> None:
    run.again("--bootstrap_iters", "500")
    assert run.sessions == 2


def test_a_run_folder_keeps_the_outcomes_of_the_last_commands(
    run: FinishedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcome, "MOST_KEPT", 2)
    for count in ("500", "501"):
        run.again("--bootstrap_iters", count)
    assert len(list(run.files("kept"))) == 2


def test_a_run_that_was_moved_answers_at_once(run: FinishedRun) -> None:
    moved = run.path.with_name("moved")
    run.path.rename(moved)
    moved.rename(run.path)
    run.again()
    assert run.sessions == 1


def test_a_run_with_failed_answers_is_asked_again(
    run: FinishedRun, server: MockServer
) -> None:
    rows = run.usual_rows()
    rows[0]["input"] = "poison"
    run.write_rows(rows)
    server.state.settings.poison = "poison"
    assert run.again("--retry_on_error", "0").code == 3
    server.state.settings.poison = ""
    assert run.again("--retry_on_error", "0").code == 0
