"""What a run promises, tried from outside: nothing is asked twice, and the exit code tells the truth."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import (
    KEY,
    command,
    environment,
    mmeval,
    openai,
    results,
    run_folder,
    score_files,
)
from tests.support.lm_eval_reader import latest, read_numbers, read_samples
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_questions
from tests.support.scripted_server import Scripted, ScriptedServer

WITHOUT_JUDGE = (
    "--skip_metric",
    "semantic_correctness,interleaved_coherence,text_quality,code_quality,document_quality,image_quality,audio_quality,"
    "quality_3d,video_quality,unim_gq,sqcs",
)
"""What asks a judge, and the quality of what is produced, which is not perfect in the right answers either."""
SHIPPED = ("--tasks", "unim_hard,mmmg_audio_text_order", "--data", "bundled", *WITHOUT_JUDGE)
EVERY_KIND = "text+image+audio"


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


def questions(tmp_path: Path, *numbers: int, more: str = "") -> list[str]:
    """The flags that name a task of these questions, and where its runs go."""
    folder = write_questions(tmp_path / "tasks", "ask", numbers or range(12), more)
    return ["--tasks", "ask", "--include_path", str(folder), "--output_path", str(tmp_path / "runs")]


def asked(server: MockServer) -> int:
    return int(server.stats()["requests"])


# --- the same command again -------------------------------------------------------------------------------------------


def test_shipped_tasks_end_with_zero_and_say_what_the_model_cannot_be_asked(server: MockServer, tmp_path: Path) -> None:
    done = mmeval(*SHIPPED, *openai(server, outputs=EVERY_KIND), "--output_path", tmp_path)
    assert done.code == 0, done.err
    counts = results(tmp_path)["mmeval"]["counts"]
    assert counts["new"] == asked(server) == server.stats()["unique"] > 24
    assert counts["unsupported"] > 0 == counts["failed"]
    assert any("takes no video" in warning for warning in done.warnings)


def test_a_model_that_can_be_asked_nothing_gets_no_value_and_no_success(server: MockServer, tmp_path: Path) -> None:
    done = mmeval("--tasks", "mmmg_audio_text_order", "--data", "bundled", *openai(server), "--output_path", tmp_path)
    assert done.code == 3, done.err
    assert asked(server) == 0
    [row] = results(tmp_path)["mmeval"]["results"][:1]
    assert (row["value"], row["n"], row["unsupported"]) == (None, 24, 24)
    assert done.warnings == [
        "24 trials not asked: the model gives no audio; gives one kind a call, text+audio wanted; "
        "if it does, say so among its arguments: outputs=text+audio",
        "none of the 24 trials could be asked, so there is no number: exit code 3",
    ]


@pytest.mark.parametrize("outputs", ["text", EVERY_KIND], ids=["most is unsupported", "most is asked"])
def test_the_same_command_again_sends_nothing_and_says_so_first(
    outputs: str, server: MockServer, tmp_path: Path
) -> None:
    arguments = [*SHIPPED, *openai(server, outputs=outputs), "--output_path", str(tmp_path)]
    first = mmeval(*arguments)
    before = asked(server)
    again = mmeval(*arguments)
    assert (first.code, again.code) == (0, 0), again.err
    assert asked(server) == before > 0
    assert again.lines[0].startswith(f"kept {before} answers from ")
    assert again.lines[0].endswith(", nothing new to ask")
    assert again.out == first.out


def test_a_larger_limit_asks_only_the_new_samples(server: MockServer, tmp_path: Path) -> None:
    arguments = [*SHIPPED, *openai(server, outputs=EVERY_KIND), "--output_path", str(tmp_path)]
    mmeval(*arguments, "--limit", "2")
    before = server.stats()
    more = mmeval(*arguments, "--limit", "4")
    stats = server.stats()
    assert more.code == 0, more.err
    assert stats["unique"] > before["unique"] > 0
    assert stats["repeated"] == 0
    assert more.lines[1].startswith(f"kept {before['unique']} answers from ")
    assert f"asking {stats['unique'] - before['unique']} new" in more.lines[1]


def test_a_smaller_limit_counts_only_the_samples_that_it_names(server: MockServer, tmp_path: Path) -> None:
    arguments = [*questions(tmp_path), *openai(server)]
    mmeval(*arguments)
    fewer = mmeval(*arguments, "--limit", "5")
    assert fewer.code == 0, fewer.err
    assert asked(server) == 12
    assert results(tmp_path)["n-samples"]["ask"] == {"original": 12, "effective": 5}


def test_more_tasks_extend_a_run_and_keep_its_answers(server: MockServer, tmp_path: Path) -> None:
    first = questions(tmp_path)
    write_questions(tmp_path / "tasks", "other", range(100, 103))
    mmeval(*first, *openai(server))
    both = mmeval(*first, "--tasks", "ask,other", *openai(server))
    assert both.code == 0, both.err
    assert both.lines[0].startswith("kept 12 answers from ")
    assert both.lines[0].endswith(", asking 3 new")
    assert asked(server) == 15
    record = json.loads((run_folder(tmp_path / "runs") / "run.json").read_text())
    assert list(record["tasks"]) == ["ask", "other"]
    assert len(record["sessions"]) == 2


def test_overlapping_tasks_ask_the_union_of_their_questions_and_every_repeat_differs(
    server: MockServer, tmp_path: Path
) -> None:
    sampled = "repeats: 2\ngeneration_kwargs: {temperature: 1.0}\n"
    write_questions(tmp_path / "tasks", "left", range(120), sampled)
    folder = write_questions(tmp_path / "tasks", "right", range(80, 200), sampled)
    arguments = ["--include_path", str(folder), "--max_connections", "64", "--output_path", str(tmp_path / "runs")]
    server.state.settings.latency = 0.01
    done = mmeval("--tasks", "left,right", *arguments, *openai(server), "--log_samples")
    stats = server.stats()
    assert done.code == 0, done.err
    assert (stats["unique"], stats["requests"], stats["repeated"]) == (400, 400, 0)
    rows = [row for file in latest(tmp_path / "runs")[1].values() for row in read_samples(file)]
    assert len(rows) == 240
    assert all(len(set(row["resps"][0])) == 2 for row in rows)


def test_two_runs_of_the_same_command_have_the_same_results(server: MockServer, tmp_path: Path) -> None:
    arguments = [*SHIPPED, *openai(server, outputs=EVERY_KIND), "--output_path", str(tmp_path)]
    one = mmeval(*arguments, "--run_id", "one")
    two = mmeval(*arguments, "--run_id", "two")
    assert (one.code, two.code) == (0, 0)
    assert server.stats()["unique"] == asked(server) / 2
    assert one.out.replace("run: one", "run: two") == two.out
    assert score_files(run_folder(tmp_path, run_id="one")) == score_files(run_folder(tmp_path, run_id="two")) != {}


# --- bounds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "value"), [("reference", 1.0), ("empty", 0.0)])
def test_bounds_are_exact_on_every_shipped_task(model: str, value: float, tmp_path: Path) -> None:
    tasks = ("--tasks", "unim,mmmg_audio_text_order", "--data", "bundled")
    done = mmeval(*tasks, *WITHOUT_JUDGE, "--model", model, "--output_path", tmp_path)
    assert done.code == 0, done.err
    numbers = read_numbers(results(tmp_path))
    assert {number.metric for number in numbers} == {"strict_structure", "lenient_structure", "part_order", "overall"}
    assert {number.value for number in numbers} == {value}


# --- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["429", "500", "disconnect", "timeout", "malformed", "truncated", "slow"])
def test_faults_that_pass_cost_nothing(fault: str, tmp_path: Path) -> None:
    with MockServer(**{f"rate_{fault}": 0.4}, fault_attempts=1, retry_after=0.05, hang=5) as server:
        done = mmeval(*questions(tmp_path), *openai(server, timeout="0.5"))
        stats = server.stats()
    assert done.code == 0, done.err
    assert stats["faults"][fault] > 0
    assert stats["unique"] == stats["answered"] == 12
    assert stats["repeated_after_answer"] == 0
    assert results(tmp_path)["mmeval"]["results"][0]["scored"] == 12


def test_what_failed_is_counted_apart_and_only_it_is_asked_again(tmp_path: Path) -> None:
    arguments = [*questions(tmp_path), "--retry_on_error", "0"]
    with MockServer(rate_500=0.4) as server:
        first = mmeval(*arguments, *openai(server))
        failed = server.stats()["faults"]["500"]
        row = results(tmp_path)["mmeval"]["results"][0]
        server.state.settings.rate_500 = 0.0
        second = mmeval(*arguments, *openai(server))
        stats = server.stats()
    assert first.code == 3
    assert 0 < failed < 12
    assert (row["failed"], row["scored"], row["n"]) == (failed, 12 - failed, 12)
    assert f"{failed} trials failed (server {failed}); the same command asks them again" in first.warnings
    assert second.code == 0, second.err
    assert second.lines[0].endswith(f"asking {failed} new")
    assert (stats["requests"], stats["answered"], stats["repeated_after_answer"]) == (12 + failed, 12, 0)


def test_when_everything_failed_there_is_no_value_at_all(tmp_path: Path) -> None:
    with MockServer(rate_malformed=1.0) as server:
        done = mmeval(*questions(tmp_path), *openai(server), "--retry_on_error", "0")
    assert done.code == 3
    assert results(tmp_path)["results"]["ask"]["exact_match,none"] is None


@pytest.mark.parametrize(("tolerated", "code"), [("0", 3), ("11", 3), ("12", 0), ("0.99", 3)])
def test_max_unscored_says_what_is_tolerated(tolerated: str, code: int, tmp_path: Path) -> None:
    with MockServer(rate_malformed=1.0) as server:
        done = mmeval(*questions(tmp_path), *openai(server), "--retry_on_error", "0", "--max_unscored", tolerated)
    assert done.code == code, done.err


# --- secrets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 400, 500])
def test_the_key_is_nowhere_although_the_server_repeats_it(status: int, tmp_path: Path) -> None:
    said = f"the header was Authorization: Bearer {KEY}"
    answer = {"choices": [{"message": {"content": said}}]} if status == 200 else {"error": {"message": said}}
    with ScriptedServer(Scripted(answer, status)) as server:
        model = ["--model", "openai", "--model_args", f"base_url={server.url},model=m"]
        rest = ["--retry_on_error", "0", "--log_samples", "--verbosity", "DEBUG", "--use_cache", str(tmp_path / "c")]
        done = mmeval(*questions(tmp_path, 1, 2), *model, *rest)
        assert any(KEY in value for value in server.seen[0].headers.values())
    assert done.code == (0 if status == 200 else 3)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 10
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []
    assert KEY not in done.out + done.err


def test_a_key_on_the_command_line_is_refused_and_not_repeated(server: MockServer, tmp_path: Path) -> None:
    done = mmeval(*questions(tmp_path), *openai(server, api_key=KEY))
    assert done.code == 2
    assert "api_key" in done.error
    assert KEY not in done.out + done.err
    assert asked(server) == 0


# --- scoring apart from asking ----------------------------------------------------------------------------------------


def test_scoring_again_asks_nobody_and_gives_the_same_numbers(server: MockServer, tmp_path: Path) -> None:
    run = mmeval(*SHIPPED, *openai(server, outputs=EVERY_KIND), "--output_path", tmp_path)
    before, numbers, rows = asked(server), results(tmp_path)["results"], score_files(tmp_path)
    again = mmeval("score", run_folder(tmp_path))
    assert (run.code, again.code) == (0, 0), again.err
    assert asked(server) == before
    assert results(tmp_path)["results"] == numbers
    assert score_files(tmp_path) == rows


def test_answers_without_scores_are_scored_later(server: MockServer, tmp_path: Path) -> None:
    arguments = [*SHIPPED, *openai(server, outputs=EVERY_KIND), "--output_path", str(tmp_path)]
    mmeval(*arguments, "--run_id", "whole")
    asking = mmeval(*arguments, "--run_id", "halves", "--predict_only")
    halves = run_folder(tmp_path, run_id="halves")
    assert (asking.code, score_files(halves)) == (0, {})
    before = asked(server)
    scoring = mmeval("score", halves)
    assert scoring.code == 0, scoring.err
    assert asked(server) == before
    assert score_files(halves) == score_files(run_folder(tmp_path, run_id="whole"))


def test_answers_that_one_run_kept_serve_another(server: MockServer, tmp_path: Path) -> None:
    arguments = [*SHIPPED, *openai(server, outputs=EVERY_KIND), "--output_path", str(tmp_path / "runs")]
    mmeval(*arguments, "--use_cache", tmp_path / "cache", "--run_id", "one")
    before = asked(server)
    two = mmeval(*arguments, "--use_cache", tmp_path / "cache", "--run_id", "two")
    assert two.code == 0, two.err
    assert asked(server) == before > 0
    runs = [run_folder(tmp_path / "runs", run_id=name) for name in ("one", "two")]
    assert score_files(runs[0]) == score_files(runs[1]) != {}


# --- files ------------------------------------------------------------------------------------------------------------


def test_results_and_samples_are_what_readers_of_the_layout_expect(server: MockServer, tmp_path: Path) -> None:
    done = mmeval(*SHIPPED, *openai(server, outputs=EVERY_KIND), "--output_path", tmp_path, "--log_samples")
    assert done.code == 0, done.err
    document, samples = latest(tmp_path)
    assert {number.task for number in read_numbers(document)} == {"unim_hard", "mmmg_audio_text_order"}
    rows = {name: len(read_samples(file)) for name, file in samples.items()}
    assert rows == {"unim_hard": 8, "mmmg_audio_text_order": 6}


def test_samples_of_unsupported_and_failed_trials_say_why(tmp_path: Path) -> None:
    with MockServer(rate_500=1.0) as server:
        rest = ["--log_samples", "--retry_on_error", "0"]
        mmeval(*SHIPPED, *openai(server), "--output_path", tmp_path, *rest)
    rows = [row for file in latest(tmp_path)[1].values() for row in read_samples(file)]
    kinds = {error["kind"] for row in rows for error in row["error"]}
    assert kinds == {"server", "unsupported"}


def test_a_run_writes_nowhere_but_into_its_folder(server: MockServer, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    arguments = questions(tmp_path)
    done = mmeval(*arguments, *openai(server), cwd=home, env=environment(HOME=str(home), TMPDIR=str(home)))
    assert done.code == 0, done.err
    assert list(home.iterdir()) == []


# --- a reader that goes away ------------------------------------------------------------------------------------------


def test_a_listing_into_head_ends_quietly() -> None:
    listing = " ".join(command("ls", "tasks"))
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{listing} | head -1"], env=environment(), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize("verb", [("ls", "tasks"), ("--help",), ("--version",), ("ls", "metrics")], ids=" ".join)
def test_a_reader_that_is_gone_already_is_no_error(verb: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = mmeval(*verb, capture_output=False, stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert (done.code, done.err) == (0, "")


def test_a_run_whose_reader_is_gone_still_tells_its_exit_code(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        with MockServer(rate_malformed=1.0) as server:
            rest = [*openai(server), "--retry_on_error", "0"]
            done = mmeval(*questions(tmp_path), *rest, capture_output=False, stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert done.code == 3
    assert results(tmp_path)["mmeval"]["exit_code"] == 3
