"""Bad days: whatever ends a run, there is one message with the way out, and nothing that was answered is lost."""

from __future__ import annotations

import base64
import json
import os
import resource
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.bad_disks import small_disk, unwritable
from tests.support.cli import (
    Running,
    at_work,
    environment,
    mmeval,
    openai,
    results,
    run_folder,
    score_files,
    started,
    wait_for,
)
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_questions, write_task
from tests.support.scripted_server import Scripted, ScriptedServer, saying
from tests.support.story_tasks import write_story_tasks
from tests.support.tiny_media import picture, wav

UNWRITTEN = 2
"""With one connection: the answer that the disk could not take, and the one that was asked for meanwhile."""
CONTINUES = "The same command continues"


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
@pytest.mark.parametrize("busy", [False, True], ids=["at a quiet moment", "in the middle of many"])
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
        last = mmeval(*arguments)
        stats = server.stats()
    assert stopped.code == 130
    assert stopped.lines[-1].startswith("stopped; everything that was answered is saved")
    assert CONTINUES in stopped.lines[-1]
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
        last = mmeval(*arguments)
        stats = server.stats()
    assert (stopped.code, last.code) == (130, 0), stopped.err + last.err
    assert (stats["unique"], stats["repeated_after_answer"]) == (4 * 2 * 3, 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_second_signal_leaves_at_once(number: signal.Signals, tmp_path: Path) -> None:
    with MockServer(latency=30.0) as server:
        arguments = [*questions(tmp_path, 8), *openai(server)]
        with started(*arguments, start_new_session=True) as running:
            wait_for(lambda: server.state.in_flight == 8, "8 requests")
            press(running, number)
            time.sleep(0.3)
            assert running.process.poll() is None
            begun = time.monotonic()
            press(running, number)
            stopped = running.ended()
    assert stopped.code == 130
    assert time.monotonic() - begun < 3
    assert sum("waiting for 8 answers" in line for line in stopped.lines) == 1
    assert "Traceback" not in stopped.err


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
        full = mmeval(*arguments)
        disk.remount("size=64m")
        freed = mmeval(*arguments)
        stats = server.stats()
        scores = score_files(disk.path)
    assert full.code == 1
    assert "No space left on device" in full.error
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
    full = mmeval(*arguments, env=environment(PYTHONDONTWRITEBYTECODE="1"), preexec_fn=limit)
    freed = mmeval(*arguments)
    stats = server.stats()
    assert full.code == 1
    assert "File too large" in full.error
    assert freed.code == 0, freed.err
    assert stats["unique"] == 100
    assert stats["repeated_after_answer"] <= UNWRITTEN


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_asked(server: MockServer, tmp_path: Path) -> None:
    with unwritable(tmp_path / "runs"):
        done = mmeval(*questions(tmp_path), *openai(server))
    assert done.code == 2
    assert str(tmp_path / "runs") in done.error
    assert "choose another --output_path" in done.error
    assert server.stats()["requests"] == 0


def test_a_file_in_the_place_of_the_folder_is_said_before_anything_is_asked(server: MockServer, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("mine")
    done = mmeval(*questions(tmp_path), *openai(server))
    assert done.code == 2
    assert "choose another --output_path" in done.error
    assert server.stats()["requests"] == 0
    assert (tmp_path / "runs").read_text() == "mine"


def test_a_cache_that_cannot_be_written_is_said_before_anything_is_asked(server: MockServer, tmp_path: Path) -> None:
    with unwritable(tmp_path / "cache"):
        done = mmeval(*questions(tmp_path), *openai(server), "--use_cache", tmp_path / "cache" / "mine")
    assert done.code == 1
    assert "--use_cache" in done.error
    assert server.stats()["requests"] == 0


def test_temporary_files_are_not_needed(server: MockServer, tmp_path: Path) -> None:
    with unwritable(tmp_path / "tmp") as folder:
        done = mmeval(*questions(tmp_path), *openai(server), env=environment(TMPDIR=str(folder)))
    assert done.code == 0, done.err
    assert server.stats()["unique"] == 12


# --- two processes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [[], ["--fresh"]], ids=["again", "fresh"])
def test_a_second_process_is_refused_and_the_first_goes_on(flags: list[str], tmp_path: Path) -> None:
    with MockServer(latency=0.5) as server:
        arguments = [*questions(tmp_path, 60), *openai(server), "--max_connections", "2"]
        with started(*arguments) as first:
            at_work(server, 2)
            second = mmeval(*arguments, *flags)
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


# --- what is written down wrongly -------------------------------------------------------------------------------------

BROKEN = "task: broken\nmetric_list:\n  - metric: [exact_match\nmetadata: {version: 1}\n"


def test_broken_yaml_that_is_named_is_refused_with_file_and_line(server: MockServer, tmp_path: Path) -> None:
    arguments = questions(tmp_path)
    (tmp_path / "tasks" / "broken.yaml").write_text(BROKEN)
    done = mmeval(*arguments, "--tasks", "ask,broken", *openai(server))
    assert done.code == 2
    assert f"{tmp_path}/tasks/broken.yaml:4: " in done.error
    assert server.stats()["requests"] == 0


def test_broken_yaml_that_nobody_names_is_in_nobodys_way(server: MockServer, tmp_path: Path) -> None:
    arguments = questions(tmp_path)
    (tmp_path / "tasks" / "broken.yaml").write_text(BROKEN)
    done = mmeval(*arguments, *openai(server))
    assert done.code == 0, done.err
    assert server.stats()["answered"] == 12


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("interleaved", "interleavd", "2: loader: unknown loader 'interleavd'; did you mean \"interleaved\"?"),
        ("exact_match", "exact_mach", "6: metric_list[0].metric: unknown metric 'exact_mach'; did you mean"),
        ("metric_list", "metric_lst", '5: metric_lst: unknown key; did you mean "metric_list"?'),
        ("[text]", "[txt]", "4: output_modalities[0]: "),
    ],
    ids=["loader", "metric", "key", "modality"],
)
def test_a_misspelt_task_file_is_refused_with_line_and_near_name(
    old: str, new: str, said: str, server: MockServer, tmp_path: Path
) -> None:
    arguments = questions(tmp_path)
    file = tmp_path / "tasks" / "ask.yaml"
    file.write_text(file.read_text().replace(old, new))
    done = mmeval(*arguments, *openai(server))
    assert done.code == 2
    assert f"{file}:{said}" in done.error
    assert server.stats()["requests"] == 0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--tasks", "unim_hrd"], "unknown task, group or tag 'unim_hrd'; did you mean \"unim_hard\""),
        (["--model", "opnai"], "unknown model backend 'opnai'; did you mean \"openai\"?"),
        (["--model_args", "modl=m"], "unknown argument of the backend 'openai' 'modl'; did you mean \"model\"?"),
        (["--limit", "abc"], "--limit: a count of samples, or a share between 0 and 1, is expected, not 'abc'"),
        (["--limt", "3"], 'unknown flag --limt; did you mean "--limit"?'),
        (["--num_fewshot", "5"], "--num_fewshot"),
        (["--hf_hub_log_args", "org=o"], "--hf_hub_log_args"),
        (["--stratify", "domain"], "--stratify needs --limit"),
        (["--budget_usd", "5"], "--budget_usd"),
        (["--model", "hf", "--model_args", "dtyp=float32"], "dtyp"),
        (["--gen_kwargs", "temprature=1"], "temprature"),
        (["--data_dir", "no/such/folder"], "--data_dir no/such/folder: there is no such folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_that_cannot_be_meant_is_refused_before_anything_is_asked(
    flags: list[str], said: str, server: MockServer, tmp_path: Path
) -> None:
    done = mmeval(*questions(tmp_path), *openai(server), *flags)
    assert done.code == (4 if "--data_dir" in flags else 2)
    assert said in done.error
    assert server.stats()["requests"] == 0
    assert not (tmp_path / "runs").exists()


def test_a_data_folder_that_is_missing_is_said_with_the_way_to_supply_it(server: MockServer, tmp_path: Path) -> None:
    arguments = questions(tmp_path)
    file = tmp_path / "tasks" / "ask.yaml"
    file.write_text(file.read_text().replace("ask_data", "./nowhere"))
    done = mmeval(*arguments, *openai(server))
    assert done.code == 4
    assert "there is no folder" in done.error
    assert "--data_dir" in done.error
    assert server.stats()["requests"] == 0


def test_data_rows_that_are_missing_are_said_with_what_is_there(server: MockServer, tmp_path: Path) -> None:
    arguments = questions(tmp_path)
    (tmp_path / "tasks" / "ask_data" / "test.jsonl").rename(tmp_path / "tasks" / "ask_data" / "tset.jsonl")
    done = mmeval(*arguments, *openai(server))
    assert done.code == 4
    assert 'did you mean "tset"?' in done.error


def test_a_row_that_is_no_json_ends_the_run_after_keeping_what_was_asked(tmp_path: Path) -> None:
    arguments = [*questions(tmp_path, 40), "--max_connections", "4"]
    rows = tmp_path / "tasks" / "ask_data" / "test.jsonl"
    whole = rows.read_text()
    rows.write_text(whole.replace('{"id": "30"', '{"id" "30"'))
    with MockServer(latency=0.05) as server:
        done = mmeval(*arguments, *openai(server))
        kept = server.stats()["answered"]
        rows.write_text(whole)
        mended = mmeval(*arguments, *openai(server))
        stats = server.stats()
    assert done.code == 2
    assert f"{rows}:31: row 31 is no JSON" in done.error
    assert kept == 30
    assert mended.code == 0, mended.err
    assert (stats["unique"], stats["repeated"]) == (40, 0)


# --- media ------------------------------------------------------------------------------------------------------------


def looking(tmp_path: Path, media: Mapping[str, bytes | None], **labels: str) -> list[str]:
    """A task with one medium in each question; None leaves the file out."""
    kind = labels.get("kind", "image")
    rows = [
        {"id": name, "input": {"text": f"Describe <<{kind}1>>.", "media": {f"{kind}1": name}}, "reference": "a cat"}
        for name in media
    ]
    folder = write_task(tmp_path / "tasks", "look", rows)
    for name, content in media.items():
        if content is not None:
            (folder / "look_data" / name).write_bytes(content)
    return ["--tasks", "look", "--include_path", str(folder), "--output_path", str(tmp_path / "runs")]


def test_an_input_medium_that_is_missing_costs_its_row_alone_and_is_named(tmp_path: Path) -> None:
    pictures = {f"{i}.png": picture(size=(i + 1, 1)) for i in range(12)}
    arguments = [*looking(tmp_path, {**pictures, "b.png": None}), "--max_connections", "1"]
    with MockServer(latency=0.05) as server:
        done = mmeval(*arguments, *openai(server))
        kept = server.stats()["answered"]
        (tmp_path / "tasks" / "look_data" / "b.png").write_bytes(picture(size=(30, 3)))
        mended = mmeval(*arguments, *openai(server))
        stats = server.stats()
    assert done.code == 3
    assert 'test.jsonl: row 13: input.media image1 "b.png" is missing' in done.err
    assert kept == 12
    assert mended.code == 0, mended.err
    assert (stats["unique"], stats["repeated"]) == (13, 0)


@pytest.mark.parametrize("name", ["../../secret.png", "/etc/passwd"])
def test_an_input_medium_outside_of_its_folder_is_refused(name: str, server: MockServer, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(picture())
    done = mmeval(*looking(tmp_path, {name: None}), *openai(server))
    assert done.code == 2
    assert "is no path inside the data folder" in done.error
    assert server.stats()["requests"] == 0


def test_an_empty_input_medium_fails_alone(server: MockServer, tmp_path: Path) -> None:
    media = {"a.wav": wav(), "b.wav": b"", "c.wav": wav(900)}
    done = mmeval(*looking(tmp_path, media, kind="audio"), *openai(server))
    counts = results(tmp_path)["mmeval"]["counts"]
    assert (done.code, counts["new"], counts["failed"]) == (3, 2, 1), done.err
    assert "the first bad_request failure: b.wav is no audio (its 0 bytes are text/plain); restore it" in done.warnings
    assert server.stats()["answered"] == 2


def test_a_torn_input_medium_is_for_the_model_to_judge(server: MockServer, tmp_path: Path) -> None:
    media = {"a.png": picture(), "torn.png": picture(size=(40, 40))[:60]}
    done = mmeval(*looking(tmp_path, media), *openai(server))
    assert done.code == 0, done.err
    assert server.stats()["answered"] == 2


def drawing(data: bytes) -> Scripted:
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    return saying(content="here", images=[{"image_url": {"url": url}}])


@pytest.mark.parametrize(
    ("data", "failed"),
    [
        pytest.param(picture(size=(64, 64))[:50], 0, id="torn picture"),
        pytest.param(wav()[:30], 0, id="torn sound"),
        pytest.param(b"no picture at all", 0, id="text"),
        pytest.param(b"", 1, id="nothing"),
    ],
)
def test_a_damaged_medium_of_the_model_is_its_answer_and_the_others_go_on(
    data: bytes, failed: int, tmp_path: Path
) -> None:
    folder = write_story_tasks(tmp_path / "tasks", 2)
    with ScriptedServer(drawing(data), drawing(picture())) as server:
        done = mmeval(
            *("--tasks", "tale_first", "--include_path", folder, "--output_path", tmp_path / "runs"),
            *("--model", "openai", "--model_args", f"base_url={server.url},model=m,outputs=text+image"),
            *("--max_connections", "1", "--retry_on_error", "0"),
        )
    [row, *_] = results(tmp_path)["mmeval"]["results"]
    assert done.code == (3 if failed else 0), done.err
    assert (row["n"], row["scored"], row["failed"]) == (4, 4 - failed, failed)
    assert ("the first bad_reply failure: a medium in the answer is empty" in done.warnings) == bool(failed)


# --- the run folder ---------------------------------------------------------------------------------------------------


def test_a_damaged_line_of_the_journal_is_named_and_only_its_question_is_asked_again(
    server: MockServer, tmp_path: Path
) -> None:
    arguments = [*questions(tmp_path), *openai(server)]
    assert mmeval(*arguments).code == 0
    [segment] = (run_folder(tmp_path / "runs") / "journal").glob("*.jsonl")
    lines = segment.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3][:20] + b"\xff\x00" + lines[3][22:]
    segment.write_bytes(b"".join(lines))
    done = mmeval(*arguments)
    assert done.code == 0, done.err
    [warning] = done.warnings
    assert f"{segment}:4: " in warning
    assert "asked again" in warning
    assert server.stats()["requests"] == 13


def test_a_torn_end_of_the_journal_is_asked_again_in_silence(server: MockServer, tmp_path: Path) -> None:
    arguments = [*questions(tmp_path), *openai(server)]
    mmeval(*arguments)
    [segment] = (run_folder(tmp_path / "runs") / "journal").glob("*.jsonl")
    segment.write_bytes(segment.read_bytes()[:-30])
    done = mmeval(*arguments)
    assert (done.code, done.warnings) == (0, [])
    assert server.stats()["requests"] == 13


@pytest.mark.parametrize("content", [b"", b'{"format": 1, "ident', b"[1]", b"\xff\xfe"])
def test_a_torn_run_file_is_refused_with_the_way_out_and_nothing_is_touched(
    content: bytes, server: MockServer, tmp_path: Path
) -> None:
    arguments = [*questions(tmp_path), *openai(server)]
    mmeval(*arguments)
    file = run_folder(tmp_path / "runs") / "run.json"
    whole = file.read_bytes()
    file.write_bytes(content)
    done = mmeval(*arguments)
    scored = mmeval("score", run_folder(tmp_path / "runs"))
    assert (done.code, scored.code) == (2, 2)
    assert str(file) in done.error
    assert "--fresh" in done.error
    assert str(file) in scored.error
    file.write_bytes(whole)
    assert mmeval(*arguments).lines[0].endswith("nothing new to ask")


@pytest.mark.parametrize("victim", ["trials/ask.jsonl", "samples/ask.jsonl", "scores"])
def test_what_can_be_made_again_is_made_again(victim: str, server: MockServer, tmp_path: Path) -> None:
    arguments = [*questions(tmp_path), *openai(server)]
    mmeval(*arguments)
    before = score_files(tmp_path)
    path = run_folder(tmp_path / "runs") / victim
    for file in path.rglob("*.jsonl") if path.is_dir() else [path]:
        file.write_bytes(b"\xff not json\n" + file.read_bytes()[:40])
    done = mmeval(*arguments)
    assert done.code == 0, done.err
    assert server.stats()["requests"] == 12
    assert score_files(tmp_path) == before


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
        lost = mmeval(*arguments)
        aside.rename(victim)
        found = mmeval(*arguments)
        stats = server.stats()
    assert lost.code == 3
    assert f"the first internal failure: {victim}: the media file has gone; put it back where it was" in lost.warnings
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
        done = mmeval(*arguments, *openai(again))
        stats = again.stats()
    assert ended.code == 3
    assert "calls in a row failed" in ended.error
    assert done.code == 0, done.err
    assert stats["requests"] == 150 - answered


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_ends_the_run_at_once(status: int, tmp_path: Path) -> None:
    refusal = Scripted({"error": {"message": "Incorrect API key provided"}}, status)
    with ScriptedServer(refusal) as server:
        model = ["--model", "openai", "--model_args", f"base_url={server.url},model=m"]
        done = mmeval(*questions(tmp_path, 200), *model, "--max_connections", "4")
        assert len(server.seen) <= 8
    assert done.code == 4
    assert "Incorrect API key provided" in done.error
    assert "key" in done.error


def test_a_key_that_is_missing_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    env = environment()
    del env["OPENAI_API_KEY"]
    done = mmeval(*questions(tmp_path), "--model", "openai", "--model_args", "model=m", env=env)
    assert done.code == 4
    assert "OPENAI_API_KEY" in done.error
    assert not (tmp_path / "runs").exists()


# --- plugins and surroundings -----------------------------------------------------------------------------------------


def broken_plugin(site: Path, group: str, name: str) -> dict[str, str]:
    """An environment in which a distribution registers a module that raises when it is imported."""
    info = site / "dist_broken-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dist-broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = broken_plugin:thing\n")
    (site / "broken_plugin.py").write_text('raise RuntimeError("the plugin is broken")\n')
    return environment(PYTHONPATH=str(site))


@pytest.mark.parametrize("group", ["mmeval.metrics", "mmeval.model_backends", "mmeval.loaders", "mmeval.tasks"])
def test_a_broken_plugin_that_nobody_uses_is_in_nobodys_way(group: str, server: MockServer, tmp_path: Path) -> None:
    env = broken_plugin(tmp_path / "site", group, "bad")
    done = mmeval(*questions(tmp_path), *openai(server), env=env)
    assert done.code == 0, done.err
    assert server.stats()["answered"] == 12


def test_a_broken_plugin_that_is_used_is_named_with_its_distribution(tmp_path: Path) -> None:
    env = broken_plugin(tmp_path / "site", "mmeval.model_backends", "bad")
    done = mmeval(*questions(tmp_path), "--model", "bad", env=env)
    assert done.code == 1
    assert "dist-broken" in done.error
    assert "the plugin is broken" in done.error
    assert "Reinstall or remove" in done.error
    assert not (tmp_path / "runs").exists()


def test_a_broken_plugin_is_listed_with_its_error(tmp_path: Path) -> None:
    done = mmeval("ls", "backends", env=broken_plugin(tmp_path / "site", "mmeval.model_backends", "bad"))
    assert done.code == 0, done.err
    assert "openai" in done.out
    assert "the plugin is broken" in done.out + done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "env",
    [{"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"}],
    ids=["C locale", "ascii streams"],
)
def test_a_locale_without_unicode_prints_the_tables(env: dict[str, str], server: MockServer, tmp_path: Path) -> None:
    rows = [{"id": "ä", "input": "Wie heißt das ☃?", "reference": "Schnee"}]
    folder = write_task(tmp_path / "täsks", "frage", rows)
    done = mmeval(
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
    done = mmeval(*questions(tmp_path), *openai(server), preexec_fn=lambda: os.close(number))
    assert done.code == 0, done
    assert server.stats()["answered"] == 12
    assert results(tmp_path)["mmeval"]["exit_code"] == 0


def test_a_home_that_does_not_exist_does_not_matter(server: MockServer, tmp_path: Path) -> None:
    done = mmeval(*questions(tmp_path), *openai(server), env=environment(HOME=str(tmp_path / "nowhere")))
    assert done.code == 0, done.err
