from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from mmeval.broker.broker import Broker
from mmeval.broker.replay import ReplayState, replay
from mmeval.broker.scope import Scope, Transcript
from mmeval.program.calls import Program, Reply, Role, ask_all
from mmeval.records.request import GenerationParams
from tests.support.engine import brokered
from tests.support.toy import Toy, asks, sample
from tests.support.toy import reply as words_of

MODEL = Role("model", GenerationParams())


def turns(count: int, *, wants: str = "text") -> Program[str]:
    """``count`` questions, each of which repeats what was answered before it."""
    given = "begin"
    for turn in range(count):
        answer: Reply = yield MODEL.ask(f"{turn} after {given}", wants=(wants,))  # type: ignore[arg-type]
        given = answer.require().text
    return given


def at_once(*texts: str) -> Program[list[Reply]]:
    return (yield from ask_all([MODEL.ask(text) for text in texts]))


def scope() -> Scope:
    return Scope("toy", sample())


def state(program: Program[Any], scope: Scope, broker: Broker) -> ReplayState:
    return replay(program, scope, broker, Transcript()).state


def yes(folder: Path) -> AbstractAsyncContextManager[Broker]:
    """A broker whose model answers everything with yes."""
    return brokered(folder, model=Toy(answers=lambda _: words_of("yes")))


@pytest.mark.parametrize(("asked", "found"), [(0, "open"), (2, "open"), (3, "kept")])
async def test_an_episode_is_kept_when_its_last_turn_is_answered(
    asked: int, found: str, tmp_path: Path
) -> None:
    async with yes(tmp_path) as broker:
        if asked:
            await broker.run(turns(asked), scope())
        kept = len(broker.journal)
        assert (state(turns(3), scope(), broker), len(broker.journal)) == (
            found,
            kept,
        ), "nothing is asked"


async def test_each_of_several_questions_must_be_answered_and_by_an_answer_to_itself(
    tmp_path: Path,
) -> None:
    async with yes(tmp_path) as broker:
        await broker.run(at_once("a", "b"), scope())
        assert state(at_once("a", "b"), scope(), broker) == "kept"
        assert state(at_once("a", "c"), scope(), broker) == "open"
        await broker.run(asks("begin", "a"), scope())
        assert [state(asks("begin", text), scope(), broker) for text in "ab"] == [
            "kept",
            "open",
        ]


async def test_what_cannot_be_asked_is_neither_kept_nor_open(tmp_path: Path) -> None:
    async with yes(tmp_path) as broker:
        assert state(turns(1, wants="video"), scope(), broker) == "unaskable"


async def test_an_error_of_the_program_is_raised(tmp_path: Path) -> None:
    def broken() -> Program[str]:
        raise ValueError("no prompt")
        yield MODEL.ask("never")

    async with yes(tmp_path) as broker:
        with pytest.raises(ValueError, match="no prompt"):
            state(broken(), scope(), broker)


async def test_a_kept_program_has_its_result(tmp_path: Path) -> None:
    async with yes(tmp_path) as broker:
        result = await broker.run(turns(2), scope())
        kept = replay(turns(2), scope(), broker, Transcript())
        assert (kept.result, kept.is_final) == (result, True)


async def test_the_transcript_of_a_replay_is_that_of_the_run(tmp_path: Path) -> None:
    async with yes(tmp_path) as broker:
        of_run, of_replay = Transcript(), Transcript()
        await broker.run(turns(2), scope(), of_run)
        replay(turns(2), scope(), broker, of_replay)
        assert of_replay.keys == of_run.keys
        assert of_replay.lines == of_run.lines
