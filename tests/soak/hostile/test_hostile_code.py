"""Programs that try to read, stay, reach out, exhaust, rise and lie: none does, and
each ends in time."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from mmeval.authoring.testing.media import small_media
from mmeval.media import Media, media_part, text_part
from mmeval.model_backends.sandbox import SandboxBackend
from mmeval.records import Request, Response, message
from tests.soak.support.hostile.code import (
    SECRET,
    HostileProgram,
    Surroundings,
    hostile_programs,
    surroundings,
)
from tests.support.sandbox import bubblewrap

BRIEF, PATIENT = 4, 60
"""Seconds of programs that would go on for ever, and of all others: a machine that is
busy is no defect."""
AROUND = 30
"""Seconds that a busy machine may take to begin and to end a sandbox."""
ALL = list(hostile_programs())
LEAST = {
    "exhaustion": 25,
    "lies": 10,
    "network": 15,
    "privilege": 10,
    "reading": 20,
    "writing": 20,
}


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surroundings]:
    with (
        pytest.MonkeyPatch.context() as patch,
        surroundings(tmp_path_factory.mktemp("outside")) as made,
    ):
        patch.setenv("MMEVAL_SECRET_OF_TESTS", SECRET)
        yield made


@pytest.fixture(scope="module", autouse=True)
def _bubblewrap() -> None:
    bubblewrap()


def test_there_are_a_hundred_of_all_kinds() -> None:
    kinds = Counter(program.name.partition(":")[0] for program in ALL)
    assert kinds.total() >= 100 and all(
        kinds[kind] >= least for kind, least in LEAST.items()
    )


@pytest.mark.parametrize("program", ALL, ids=[program.name for program in ALL])
def test_a_hostile_program(program: HostileProgram, around: Surroundings) -> None:
    seconds = BRIEF if {"time", "any"} & {*program.expected} else PATIENT
    sandbox = SandboxBackend(seconds=seconds, memory_mb=256, files=8, file_mb=2)
    began = time.monotonic()
    parts = (
        text_part(f"```python\n{around.program(program)}```"),
        media_part(small_media("image")),
    )
    response = asyncio.run(sandbox.generate(Request((message("user", *parts),))))
    took = time.monotonic() - began
    assert what_came(program, response) == "", (response.text, response.warnings)
    assert SECRET not in f"{response.text}{response.warnings}"
    assert not any(SECRET.encode() in media.read() for media in media_of(response))
    assert around.disturbed() == []
    assert took < seconds + AROUND


def media_of(response: Response) -> tuple[Media, ...]:
    assert response.output is not None, response.error
    return response.output.media()


def what_came(program: HostileProgram, response: Response) -> str:
    """What is wrong with an answer; empty where it is as it must be."""
    printed = response.text.partition("\n[")[0]
    wanted, kinds = program.expected[0], [media.kind for media in media_of(response)]
    if "ESCAPED" in response.text:
        return "it got out"
    if wanted == "any":
        return ""
    if wanted == "held":
        return "" if printed == "held\n" else "it did not try all"
    if wanted == "left":
        return "" if kinds == list(program.expected[1:]) else f"it left {kinds}"
    failed = any(one.startswith("exit status") for one in response.warnings)
    if "fails" in program.expected and failed:
        return ""
    reached = [
        one
        for one in program.expected
        if any(f"the limit of {one}:" in each for each in response.warnings)
    ]
    return "" if reached else f"it did not reach {wanted}"
