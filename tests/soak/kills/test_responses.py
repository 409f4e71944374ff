"""Runs by the Responses interface go on after a kill."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.stories.test_responses import TURNS, conversation
from tests.support.cli import mmeval_process, results, started, wait_for
from tests.support.openai_calls import (
    PNG,
    Item,
    drawn,
    events_of,
    response,
    said,
    thought,
    whole,
)
from tests.support.questions import questions
from tests.support.servers import Exchange, Reply, Scripted, ScriptedServer, WireServer

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
