"""Wires: what a run makes of streams that break, headers that are secrets, and replies
that hold something unknown."""

import json
from pathlib import Path

from tests.support.cli import mmeval
from tests.support.questions import questions
from tests.support.servers import Exchange, WireServer, chat

CHAT = "/v1/chat/completions"
SECRET = "ws-secret-0123456789"


def asked(folder: Path, server: WireServer, **arguments: str) -> list[str]:
    """The command that asks one question."""
    given = {"model": "m", "base_url": server.url, **arguments}
    words = ",".join(f"{name}={value}" for name, value in given.items())
    return [
        *questions(folder, [0]),
        *("--model", "openai", "--model_args", words, "--log_samples"),
    ]


def test_no_secret_of_the_headers_is_in_any_file_or_output(tmp_path: Path) -> None:
    file = tmp_path / "headers.json"
    file.write_text(json.dumps({"X-Workspace": SECRET}))
    echo = chat({"content": f"answer {SECRET}"})
    exchange = Exchange(CHAT, [echo], headers={"X-Workspace": SECRET})
    with WireServer(exchange) as server:
        done = mmeval(*asked(tmp_path, server, extra_headers_file=str(file)))
    file.unlink()
    assert (done.code, server.faults) == (0, [])
    assert SECRET not in done.out + done.err
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in written if SECRET.encode() in path.read_bytes()] == []


def test_parameters_are_left_out_by_none(tmp_path: Path) -> None:
    exchange = Exchange(
        CHAT, [chat({"content": "answer 0"})], absent=["temperature", "seed"]
    )
    with WireServer(exchange) as server:
        done = mmeval(
            *asked(tmp_path, server, send_seed="false"),
            *("--gen_kwargs", "temperature=none,do_sample=false"),
        )
    assert (done.code, server.faults) == (0, [])
