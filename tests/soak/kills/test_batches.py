"""Batches of a server: runs that are killed at each step, and batches that end
badly."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.broker import server_batcher
from mmeval.model_backends.openai import batches
from tests.soak.kills.test_crash import ENV, killed_inside
from tests.support.cli import (
    DEADLINE,
    QUIET,
    mmeval,
    mmeval_process,
    openai,
    results,
    score_files,
)
from tests.support.judges import ANSWER, asks, honest_server, words
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_story_tasks

STEPS = (
    "GET batches",
    "POST files",
    "POST batches",
    "GET batches/id",
    "GET files/id/content",
)


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, names in (
        (server_batcher, ("QUIET", "LONG_QUIET")),
        (batches, ("FIRST_PAUSE", "RETRY_PAUSE")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, 0.1)


def command(
    tmp_path: Path, server: MockServer, name: str, **more: str
) -> list[str | Path]:
    if not (tasks := tmp_path / "tasks").exists():
        write_story_tasks(tasks, 6)
    asked = (
        "--tasks",
        "tale_turns,tale_first",
        "--include_path",
        tasks,
        "--output_path",
        tmp_path / name,
        *QUIET,
    )
    return [*asked, *openai(server, outputs="text+image", **more)]


def killed_at(step: str, arguments: Sequence[str | Path], server: MockServer) -> int:
    """A run that is killed when its server has done a step and not answered it; its
    exit status."""
    with subprocess.Popen(
        [sys.executable, "-m", "mmeval", *map(str, arguments)], env=ENV, stderr=-3
    ) as process:

        def done(what: str) -> None:
            if what == step and process.poll() is None:
                process.kill()
                process.wait()
                server.hang_up()

        server.state.batches.on_step = done
        return process.wait(DEADLINE)


def test_a_run_killed_at_each_step_of_its_batches_sends_nothing_twice(
    tmp_path: Path,
) -> None:
    with MockServer(batch_looks=2) as server:
        whole = mmeval(*command(tmp_path, server, "whole"))
        asked_once = server.stats()["unique"]
        server.state.reset()
        arguments = command(tmp_path, server, "killed", batch="true")
        died = [killed_at(step, arguments, server) for step in STEPS]
        died.append(killed_inside([str(word) for word in arguments], "line", 7))
        died.append(killed_at("GET batches/id", arguments, server))
        last = mmeval_process(*arguments)
        stats, held = server.stats(), server.state.batches
        again = mmeval(*command(tmp_path, server, "killed"))

    assert (whole.code, died, last.code, again.code) == (
        0,
        [-signal.SIGKILL] * 7,
        0,
        0,
    ), whole.err + last.err
    assert (stats["requests"], stats["unique"], server.stats()["requests"]) == (
        asked_once,
    ) * 3
    assert (
        sum(batch["request_counts"]["total"] for batch in held.batches.values())
        == asked_once
    )
    assert sum(
        file["filename"].startswith("mmeval-") for file in held.files.values()
    ) == len(held.batches)
    assert score_files(tmp_path / "killed") == score_files(tmp_path / "whole")


@pytest.mark.usefixtures("no_pauses")
def test_model_judge_and_captioner_in_batches_give_the_same_scores_at_half_the_price(
    tmp_path: Path,
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("models:\n  '*': {input: 1000, output: 1000}\n")

    def spent(name: str, **more: str) -> tuple[float, float, int]:
        """What a run cost; at full price what was asked alone in it; its batches."""
        tokens: dict[str, int] = {}
        with honest_server(reply=ANSWER) as server:
            state: Any = server.state
            respond = state.respond

            def counted(path: str, body: Any, key: str) -> Any:
                made = respond(path, body, key)
                tokens[key] = json.loads(made[1])["usage"]["total_tokens"]
                return made

            state.respond = counted
            kinds = "text+image+audio+video+document"
            roles = (
                *openai(server, inputs=kinds, outputs="text+image+audio", **more),
                *asks(server, inputs=kinds, **more),
            )
            done = mmeval(
                *words(tmp_path / name, *roles, "--model_cost_config", prices)
            )
            assert (done.code, server.stats()["repeated"]) == (0, 0), done.err
            alone = sum(tokens[key] for key, _ in server.state.idempotency) / 1000
            count = len(server.state.batches.batches)
        usd: float = results(tmp_path / name)["mmeval"]["spent"]["usd"]
        return usd, alone, count

    whole, all_alone, none = spent("whole")
    cheap, alone, some = spent("batch", batch="true")
    assert (whole, none) == (pytest.approx(all_alone), 0)
    # a call that comes late may be asked alone
    assert cheap == pytest.approx((whole - alone) / 2 + alone)
    assert some > 0
    assert alone < whole
    assert list(score_files(tmp_path / "batch").values()) == list(
        score_files(tmp_path / "whole").values()
    )
