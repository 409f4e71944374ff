"""Words and pictures in one answer, by the endpoint ``responses``: a conversation that
is killed, and what a run costs."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import mmeval, mmeval_process, results, started, wait_for
from tests.support.mock_openai_server import MockServer
from tests.support.openai_calls import PNG
from tests.support.questions import questions, where, write_task
from tests.support.responses import (
    Item,
    drawn,
    events_of,
    response,
    said,
    thought,
    whole,
)
from tests.support.scripted_server import Scripted, ScriptedServer
from tests.support.wire_server import Exchange, Reply, WireServer

TURNS = ("Draw a tree.", "Draw its leaf.", "Draw its fruit.")
ANSWERS: list[list[Item]] = [
    [
        thought("Hm.", name=f"rs_{number}"),
        said("Grün: ", name=f"msg_{number}", phase="final_answer"),
        drawn(PNG + bytes([number]), name=f"ig_{number}"),
    ]
    for number in range(3)
]
HANGING = 60.0
"""Seconds: longer than it takes to kill a process."""


def spelled(value: Any) -> str:
    """JSON as no encoder of ours writes it."""
    return json.dumps(value, indent=1).replace("/", r"\/")


def plain(number: int) -> bytes:
    body = response(*ANSWERS[number], id=f"resp_{number}")
    return spelled(body).encode()


def in_events(number: int) -> bytes:
    events = (spelled(event) for event in events_of(*ANSWERS[number], output=[]))
    lines = ("\ndata: ".join(event.split("\n")) for event in events)
    return "".join(f"data: {event}\n\n" for event in lines).encode()


def reply(number: int, *, streamed: bool, **fields: Any) -> Scripted:
    if not streamed:
        return Scripted(plain(number), **fields)
    headers = {"Content-Type": "text/event-stream"}
    return Scripted(in_events(number), headers=headers, **fields)


def given_back(number: int, depth: int) -> list[bytes]:
    """The items of an answer as they were spelled in its reply."""
    margin = "\n" + " " * depth
    items = (spelled(item).replace("\n", margin) for item in ANSWERS[number])
    return [item.encode() for item in items]


def conversation(folder: Path, url: str, **arguments: str) -> list[str]:
    """The command that asks three turns, each after the answers before it."""
    turns = [{"role": "user", "content": text} for text in TURNS]
    rows = [{"id": "a", "input": turns, "reference": "oak"}]
    write_task(folder / "tasks", "ask", rows, "protocol: episode\n")
    file = folder / "tasks" / "ask.yaml"
    file.write_text(file.read_text().replace("[text]", "[text, image]"))
    given = {"base_url": url, "model": "m", "endpoint": "responses"}
    words = ",".join(
        f"{name}={value}" for name, value in {**given, **arguments}.items()
    )
    return [*where(folder), "--model", "openai", "--model_args", words]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_a_conversation_that_is_killed_goes_on_with_every_item_byte_for_byte(
    streamed: bool, tmp_path: Path
) -> None:
    answers = [
        reply(0, streamed=streamed),
        reply(1, streamed=streamed, cut=1, linger=HANGING),
        reply(1, streamed=streamed),
        reply(2, streamed=streamed),
    ]
    with ScriptedServer(*answers) as server:
        asked = conversation(
            tmp_path,
            server.url,
            outputs="text+image",
            stream=str(streamed).lower(),
        )
        with started(*asked) as running:
            wait_for(lambda: len(server.seen) == 2, "the second turn")
            running.process.kill()
            assert running.ended().code == -signal.SIGKILL
        done = mmeval_process(*asked)
        seen = list(server.seen)
    assert (done.code, len(seen)) == (0, 4), done.err
    assert seen[1].body == seen[2].body
    last = seen[3]
    users = [
        {"role": "user", "content": [{"type": "input_text", "text": text}]}
        for text in TURNS
    ]
    expected = [users[0], *ANSWERS[0], users[1], *ANSWERS[1], users[2]]
    assert last.json["input"] == expected
    places = [
        last.body.find(item)
        for number in (0, 1)
        for item in given_back(number, depth=1 if streamed else 2)
    ]
    assert -1 not in places
    assert places == sorted(places)


def test_by_ids_a_conversation_that_is_killed_names_the_answer_it_has(
    tmp_path: Path,
) -> None:
    answers = [
        reply(0, streamed=False),
        reply(1, streamed=False, cut=1, linger=HANGING),
        reply(1, streamed=False),
        reply(2, streamed=False),
    ]
    with ScriptedServer(*answers) as server:
        asked = conversation(
            tmp_path, server.url, outputs="text+image", state="previous"
        )
        with started(*asked) as running:
            wait_for(lambda: len(server.seen) == 2, "the second turn")
            running.process.kill()
            assert running.ended().code == -signal.SIGKILL
        done = mmeval_process(*asked)
        bodies = [request.json for request in server.seen]
    assert done.code == 0, done.err
    named = [body.get("previous_response_id") for body in bodies]
    assert named == [None, "resp_0", "resp_0", "resp_1"]
    assert [len(body["input"]) for body in bodies] == [1, 1, 1, 1]


def test_a_run_that_is_killed_goes_on_with_the_answer_made_in_the_background(
    tmp_path: Path,
) -> None:
    busy = Reply(b"", status=503)
    under_way = whole(status="in_progress", usage=None)
    polls = [under_way, busy, busy, busy, busy, under_way, whole(said("answer 0"))]
    asked_for = Exchange("/v1/responses", [whole(status="queued", usage=None)])
    polled = Exchange("/v1/responses/resp_1", polls)
    arguments = tmp_path / "arguments.yaml"
    with WireServer(asked_for, polled) as server:
        given = {
            "model": "m",
            "base_url": server.url,
            "endpoint": "responses",
            "extra_body": {"background": True},
            "poll_seconds": 0.3,
        }
        arguments.write_text(json.dumps(given))
        asked = [*questions(tmp_path, [0]), "--model", "openai"]
        asked += ["--model_args", str(arguments)]
        with started(*asked) as running:
            wait_for(lambda: server.count >= 3, "two polls")
            running.process.kill()
            assert running.ended().code == -signal.SIGKILL
        assert server.count < len(polls)
        done = mmeval_process(*asked)
        posts = server.asked.count("POST /v1/responses")
    [row] = results(tmp_path)["mmeval"]["results"]
    assert (done.code, row["value"], posts) == (0, 1.0, 1), done.err


def test_what_is_kept_for_the_server_is_neither_shown_nor_part_of_the_answer(
    tmp_path: Path,
) -> None:
    item = thought("Hm.", encrypted_content="opaque-0123456789")
    exchange = Exchange("/v1/responses", [whole(item, said("answer 0"))])
    with WireServer(exchange) as server:
        model = f"base_url={server.url},model=m,endpoint=responses"
        asked = [*questions(tmp_path, [0]), "--model", "openai", "--model_args", model]
        done = mmeval(*asked, "--log_samples")
    [row] = results(tmp_path)["mmeval"]["results"]
    assert (done.code, row["value"]) == (0, 1.0), done.err
    [samples] = tmp_path.rglob("samples_*.jsonl")
    assert "opaque" not in samples.read_text() + done.out + done.err


def test_the_stand_in_server_answers_words_and_pictures(tmp_path: Path) -> None:
    with MockServer() as server:
        done = mmeval(*conversation(tmp_path, server.url, outputs="text+image"))
        stats = server.stats()
    assert (done.code, stats["paths"]) == (0, {"/v1/responses": 3}), done.err
    assert len(list(tmp_path.rglob("media/*/*.png"))) == 3


def test_a_dry_run_and_a_budget_know_the_endpoint(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("models:\n  m: {input: 1000, output: 1000}\n")
    exchange = Exchange("/v1/responses", [whole(said("answer 0"))])
    with WireServer(exchange) as server:
        model = f"base_url={server.url},model=m,endpoint=responses"
        asked = [*questions(tmp_path), "--model", "openai", "--model_args", model]
        asked += ["--model_cost_config", str(tmp_path / "prices.yaml")]
        dry = mmeval(*asked, "--dry_run")
        assert (dry.code, server.count) == (0, 0)
        # a call takes 12 tokens in and 34 out: 0.046 USD
        stopped = mmeval(*asked, "--budget_usd", "0.1", "--max_connections", "1")
    assert "12" in dry.out
    assert (stopped.code, server.count) == (3, 3)
