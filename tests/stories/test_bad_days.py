"""Bad days: damaged files, refused keys, broken plugins and a signal; nothing that was
answered is lost."""

import base64
import signal
from pathlib import Path

import pytest

from tests.support.cli import (
    QUIET,
    mmeval,
    openai,
    results,
    run_folder,
    score_files,
    started,
    wait_for,
)
from tests.support.mock_openai_server import MockServer
from tests.support.questions import questions, where, write_story_tasks, write_task
from tests.support.readers import latest, read_samples
from tests.support.servers import Scripted, ScriptedServer, saying
from tests.support.tiny_media import picture


@pytest.fixture
def asked(server: MockServer, tmp_path: Path) -> list[str]:
    """A command that has run once: twelve answers are kept."""
    arguments = [*questions(tmp_path), *openai(server)]
    assert mmeval(*arguments).code == 0
    return arguments


def test_a_damaged_medium_of_the_model_is_its_answer(tmp_path: Path) -> None:
    folder = write_story_tasks(tmp_path / "tasks", 2)
    urls = (
        f"data:image/png;base64,{base64.b64encode(one).decode()}"
        for one in (picture(size=(64, 64))[:50], picture())
    )
    drawn: list[Scripted] = [
        saying(content="here", images=[{"image_url": {"url": url}}]) for url in urls
    ]
    with ScriptedServer(*drawn) as server:
        done = mmeval(
            "--tasks",
            "tale_first",
            "--include_path",
            folder,
            "--output_path",
            tmp_path / "runs",
            *QUIET,
            "--model",
            "openai",
            "--model_args",
            f"base_url={server.url},model=m,outputs=text+image",
            "--max_connections",
            "1",
            "--retry_on_error",
            "0",
        )
    [row, *_] = results(tmp_path)["mmeval"]["results"]
    assert done.code == 0, done.err
    assert (row["n"], row["scored"], row["failed"]) == (4, 4, 0)


def test_a_damaged_journal_is_asked_again_by_its_lines(
    server: MockServer, asked: list[str], tmp_path: Path
) -> None:
    [segment] = (run_folder(tmp_path / "runs") / "journal").glob("*.jsonl")
    lines = segment.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3][:20] + b"\xff\x00" + lines[3][22:]
    segment.write_bytes(b"".join(lines)[:-30])
    done = mmeval(*asked)
    (found,) = results(tmp_path)["mmeval"]["findings"]
    assert done.code == 0, done.err
    assert found["kind"] == "damaged"
    assert found["subject"] == {"file": f"journal/{segment.name}", "line": 4}
    assert server.stats()["requests"] == 14


def test_what_was_damaged_and_asked_again_is_reported_once(
    asked: list[str], tmp_path: Path
) -> None:
    [segment] = (run_folder(tmp_path / "runs") / "journal").glob("*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b'"t":', b'"u":', 1))
    for count in (1, 0):
        mmeval(*asked)
        assert len(results(tmp_path)["mmeval"]["findings"]) == count


def test_what_a_killed_run_had_asked_is_asked_again_under_the_same_keys(
    server: MockServer, tmp_path: Path
) -> None:
    server.state.settings.hold_after = 5
    arguments = [*questions(tmp_path), *openai(server), "--max_connections", "3"]
    with started(*arguments) as running:
        wait_for(lambda: len(server.state.held) == 3, "three requests in flight")
        running.signal(signal.SIGKILL)
        running.ended()
    lost = server.state.idempotency[5:]
    wait_for(lambda: not server.state.connections, "closed connections")
    server.let_go()
    asked = [*server.state.idempotency]
    again, fresh = mmeval(*arguments), mmeval(*arguments, "--fresh")

    assert again.code == 0, again.err
    assert fresh.code == 0
    assert len(asked) == 8
    assert len(set(asked)) == 8
    assert (
        len(server.state.idempotency),
        {*lost} <= {*server.state.idempotency[8:15]},
    ) == (27, True)
    assert len({key for _, key in server.state.idempotency}) == 24


def test_a_torn_run_file_is_left_alone(
    server: MockServer, asked: list[str], tmp_path: Path
) -> None:
    content = b'{"format": 1, "ident'
    file = run_folder(tmp_path / "runs") / "run.json"
    whole = file.read_bytes()
    file.write_bytes(content)
    done, scored = mmeval(*asked), mmeval("score", run_folder(tmp_path / "runs"))
    file.write_bytes(whole)
    assert [(one.code, str(file) in one.error) for one in (done, scored)] == [
        (2, True)
    ] * 2
    assert (mmeval(*asked).code, server.stats()["requests"]) == (0, 12)
    file.write_bytes(content)
    assert mmeval(*asked, "--fresh").code == 0


@pytest.mark.parametrize("victim", ["trials/ask.jsonl", "samples/ask.jsonl", "scores"])
def test_damaged_copies_are_made_again(
    victim: str, server: MockServer, asked: list[str], tmp_path: Path
) -> None:
    before = score_files(tmp_path)
    path = run_folder(tmp_path / "runs") / victim
    for file in path.rglob("*.jsonl") if path.is_dir() else [path]:
        file.write_bytes(b"\xff not json\n" + file.read_bytes()[:40])
    done = mmeval(*asked)
    assert (done.code, server.stats()["requests"], score_files(tmp_path)) == (
        0,
        12,
        before,
    ), done.err


BAD = {
    "id": "1",
    "input": "<<image1>>",
    "media": {"image1": "gone.png"},
    "reference": "answer 1",
    "level": "hard",
}


def write(folder: Path, *bad: int) -> list[str]:
    """A task of three questions, of which some lack their picture; the flags that name
    it."""
    rows = (
        {**BAD, "id": str(n)}
        if n in bad
        else {
            "id": str(n),
            "input": f"question {n}",
            "reference": f"answer {n}",
            "level": "easy",
        }
        for n in range(3)
    )
    write_task(folder / "tasks", "ask", rows, more="breakdown: [level]\n")
    return where(folder)


def test_a_bad_row_costs_itself_and_is_asked_when_it_is_mended(
    server: MockServer, tmp_path: Path
) -> None:
    flags = [*write(tmp_path, 1), *openai(server)]
    first, again = mmeval(*flags), mmeval(*flags)
    asked = server.stats()["requests"]
    found = {row["slice"]: row for row in results(tmp_path)["mmeval"]["results"]}
    write(tmp_path)
    mended = mmeval(*flags)

    assert first.code == 3, mended.err
    assert again.code == 3
    assert asked == 2
    assert mended.code == 0
    assert "answers kept: 2" in again.err
    assert "bad sample  1 in ask" in first.err
    assert "gone.png" in first.err
    assert (found[""]["n"], found[""]["scored"], found[""]["failed"]) == (3, 2, 1)
    assert found[""]["bounds"][1] - found[""]["bounds"][0] == pytest.approx(1 / 3)
    assert (
        found["level=hard"]["n"],
        found["level=hard"]["failed"],
        found["level=hard"]["value"],
    ) == (1, 1, None)
    assert "answers kept: 2" in mended.err and "answers to ask: 1" in mended.err
    assert (server.stats()["unique"], server.stats()["repeated"]) == (3, 0)


def test_the_samples_file_names_a_bad_row(server: MockServer, tmp_path: Path) -> None:
    mmeval(*write(tmp_path, 1), *openai(server), "--log_samples")
    line = read_samples(latest(tmp_path / "runs")[1]["ask"])[1]
    assert line["error"][0]["kind"] == "bad_sample"
    assert "gone.png" in line["doc"]["fault"]
    assert line["resps"] == [[""]]
    assert line["arguments"]["gen_args_0"]["arg_0"] == ""
