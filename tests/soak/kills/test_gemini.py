"""Turns of a model of Google are given back after a kill."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.stories.test_gemini import KINDS, command
from tests.support import gemini
from tests.support.cli import (
    mmeval_process,
    started,
    wait_for,
)
from tests.support.gemini import GeminiServer


def killed_in_the_second_turn(folder: Path, *more: str) -> GeminiServer:
    """The server of a run that was killed in its second turn, and resumed."""
    with GeminiServer(hold=2) as server:
        words = command(folder, server.url, *more)
        with started(*words) as running:
            wait_for(lambda: len(server.seen) == 2, "the second turn")
            os.kill(running.process.pid, signal.SIGKILL)
            running.process.wait()
        server.let_go()
        resumed = mmeval_process(*words)
    assert resumed.code == 0, resumed.err
    assert len(server.seen) == 4, "the first turn is not asked again"
    return server


@pytest.mark.parametrize("more", [(), ("stream=true",)], ids=["whole", "stream"])
def test_the_third_turn_gives_back_every_part_byte_for_byte_after_a_kill(
    more: tuple[str, ...], tmp_path: Path
) -> None:
    server = killed_in_the_second_turn(tmp_path, *more)
    third = server.seen[-1].body
    for turn in (1, 3):
        _, *parts = gemini.parts(KINDS, turn)
        written = b", ".join(map(gemini.written, parts))
        assert b'{"role": "model", "parts": [' + written + b"]}" in third
    assert gemini.signature(2, 0) not in third.decode()


def test_the_third_turn_gives_back_every_step_byte_for_byte_after_a_kill(
    tmp_path: Path,
) -> None:
    server = killed_in_the_second_turn(tmp_path, "api=interactions")
    third = server.seen[-1].body
    for turn in (1, 3):
        steps = gemini.steps(KINDS, turn)
        assert b", ".join(map(gemini.written, steps)) in third


def test_the_steps_of_a_stream_are_given_back_after_a_kill(tmp_path: Path) -> None:
    server = killed_in_the_second_turn(tmp_path, "api=interactions", "stream=true")
    given_back = json.loads(server.seen[-1].body)["input"]
    for turn in (1, 3):
        for step in gemini.steps(KINDS, turn):
            assert step in given_back
