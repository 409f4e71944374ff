from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mmeval.broker.broker import Broker, Scope
from mmeval.broker.replay import standing
from mmeval.broker.runtime import BackendRuntime
from mmeval.program.calls import Call, Program, Reply, Role
from mmeval.records.request import GenerationParams
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from tests.support.toy import Toy, reply, sample

MODEL = Role("model", GenerationParams())


@contextmanager
def asking(folder: Path) -> Iterator[Broker]:
    journal = Journal(folder / "journal", MediaStore(folder / "media"))
    broker = Broker(journal)
    model = Toy(answers=lambda request: reply("yes"))
    broker.roles = {"model": BackendRuntime(model, limit=4, retries=0, live=lambda: 1)}
    try:
        yield broker
    finally:
        journal.close()


def turns(count: int, *, wants: str = "text") -> Program[str]:
    """``count`` questions, each of which repeats what was answered before it."""
    said = "begin"
    for turn in range(count):
        answer: Reply = yield MODEL.ask(f"{turn} after {said}", wants=(wants,))  # type: ignore[arg-type]
        said = answer.require().text
    return said


def at_once(*texts: str) -> Program[list[Reply]]:
    calls: list[Call] = [MODEL.ask(text) for text in texts]
    replies: list[Reply] = yield calls
    return replies


def scope() -> Scope:
    return Scope("toy", sample())


@pytest.mark.parametrize(("asked", "found"), [(0, "open"), (1, "open"), (2, "open"), (3, "kept")])
async def test_an_episode_is_kept_when_its_last_turn_is_answered(asked: int, found: str, tmp_path: Path) -> None:
    with asking(tmp_path) as broker:
        if asked:
            await broker.run(turns(asked), scope())
        assert standing(turns(3), scope(), broker) == found


async def test_of_questions_at_once_each_must_be_answered(tmp_path: Path) -> None:
    with asking(tmp_path) as broker:
        await broker.run(at_once("a", "b"), scope())
        assert standing(at_once("a", "b"), scope(), broker) == "kept"
        assert standing(at_once("a", "c"), scope(), broker) == "open"


async def test_what_the_model_cannot_be_asked_is_neither_kept_nor_open(tmp_path: Path) -> None:
    with asking(tmp_path) as broker:
        assert standing(turns(1, wants="video"), scope(), broker) == "unaskable"


async def test_a_program_that_fails_is_left_for_its_turn(tmp_path: Path) -> None:
    def broken() -> Program[str]:
        raise ValueError("no prompt")
        yield MODEL.ask("never")

    with asking(tmp_path) as broker:
        assert standing(broken(), scope(), broker) == "open"


async def test_nothing_is_asked(tmp_path: Path) -> None:
    with asking(tmp_path) as broker:
        standing(turns(3), scope(), broker)
        assert len(broker.journal) == 0


async def test_an_answer_to_another_question_does_not_keep_a_step(tmp_path: Path) -> None:
    def then(text: str) -> Program[None]:
        for asked in ("begin", text):
            yield MODEL.ask(asked)

    with asking(tmp_path) as broker:
        await broker.run(then("a"), scope())
        assert (standing(then("a"), scope(), broker), standing(then("b"), scope(), broker)) == ("kept", "open")
