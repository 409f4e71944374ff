import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from mmeval.backend.handshake import media
from mmeval.backend.handshake.inputs import TAKES, WITHOUT_MEDIA
from mmeval.broker.broker import Broker
from mmeval.broker.checks.handshake import RoleHandshake
from mmeval.broker.checks.handshake_cache import HandshakeCache
from mmeval.broker.scope import Scope
from mmeval.media.media import Media
from mmeval.media.parts import PartKind
from mmeval.program.calls import Call, Program, ask_one
from mmeval.records.request import Request
from mmeval.records.response import Response
from tests.support.able_server import stripe_colours
from tests.support.engine import brokered
from tests.support.handshakes import question, verdicts
from tests.support.toy import Toy, picture, reply, request, sample

SCHEMA = {"type": "object", "properties": {"met": {"enum": ["yes", "no"]}}}
PAGE = media.page("PLATE")


def sees(asked: Request) -> Response:
    """Names the colours of its pictures."""
    names: list[str] = []
    for part in asked.messages[-1].content.parts:
        if part.media is not None and part.kind == "image":
            names += stripe_colours(part.media)
    return reply(", ".join(names) or "ready")


def is_blind(asked: Request) -> Response:
    return reply("I see a cat.")


def server(*, can_see: bool = True) -> Toy:
    """A backend whose declared capabilities may be wrong."""
    backend = Toy(answers=sees if can_see else is_blind, takes="text+image+document")
    backend.capabilities = replace(
        backend.capabilities, is_certain=False, reply_formats=("json_schema",)
    )
    return backend


@asynccontextmanager
async def shaking(
    folder: Path,
    backend: Toy,
    *,
    cache: HandshakeCache | None = None,
    given: Collection[PartKind] = (),
    full: bool = False,
) -> AsyncIterator[Broker]:
    async with brokered(folder, model=backend) as broker:
        runtime = broker.roles["model"]
        runtime.handshake = RoleHandshake(runtime, cache, given=given, full=full)
        yield broker


def asks(*media: Media, schema: object = None, text: str = "question") -> Program[str]:
    """One call; returns the text of its reply, or the kind of its error."""
    call = Call("model", request(text, *media))
    if schema is not None:
        call = replace(call, schema=SCHEMA)
    answer = yield from ask_one(call)
    error = answer.response.error
    return answer.text if error is None else error.kind


def scope(id: str = "s0") -> Scope:
    return Scope("t", sample(id))


def questions(backend: Toy) -> list[str]:
    return [question(asked) for asked in backend.asked]


async def test_a_call_with_a_picture_is_sent_after_the_handshake(
    tmp_path: Path,
) -> None:
    backend = server()
    async with shaking(tmp_path, backend) as broker:
        await broker.run(asks(picture()), scope())

    assert WITHOUT_MEDIA in questions(backend)
    assert questions(backend)[-1] == "question"


async def test_a_call_of_text_needs_no_handshake(tmp_path: Path) -> None:
    backend = server()
    async with shaking(tmp_path, backend) as broker:
        await broker.run(asks(), scope())

    assert questions(backend) == ["question"]


async def test_each_kind_is_asked_about_once(tmp_path: Path) -> None:
    backend = server()
    async with shaking(tmp_path, backend) as broker:
        await broker.run(asks(picture(1)), scope("a"))
        calls = len(backend.asked)
        await broker.run(asks(picture(2)), scope("b"))

    assert len(backend.asked) == calls + 1


async def test_calls_wait_for_a_handshake_that_is_under_way(tmp_path: Path) -> None:
    backend = server(can_see=False)
    async with shaking(tmp_path, backend) as broker:
        programs = [
            broker.run(asks(picture(number)), scope(str(number))) for number in range(5)
        ]
        outcomes = await asyncio.gather(*programs)

    assert outcomes == ["unsupported"] * 5
    assert "question" not in questions(backend)


async def test_a_denied_kind_is_unsupported(tmp_path: Path) -> None:
    async with shaking(tmp_path, server(can_see=False)) as broker:
        outcome = await broker.run(asks(picture()), scope())

    assert outcome == "unsupported"


async def test_a_kind_that_the_user_declares_is_sent(tmp_path: Path) -> None:
    backend = server(can_see=False)
    async with shaking(tmp_path, backend, given=["image"]) as broker:
        await broker.run(asks(picture()), scope())
        handshake = broker.roles["model"].handshake

    assert questions(backend)[-1] == "question"
    assert handshake is not None
    assert verdicts(handshake.probes)[TAKES["image"]] == "no"


async def test_another_kind_is_asked_about_when_it_is_needed(tmp_path: Path) -> None:
    async with shaking(tmp_path, server()) as broker:
        await broker.run(asks(picture()), scope("a"))
        await broker.run(asks(PAGE), scope("b"))
        handshake = broker.roles["model"].handshake

    assert handshake is not None
    assert {TAKES["image"], TAKES["document"]} <= verdicts(handshake.probes).keys()


async def test_a_schema_is_sent_where_it_is_enforced(tmp_path: Path) -> None:
    backend = server()
    async with shaking(tmp_path, backend) as broker:
        broker.roles["model"].reply_format = "json_schema"
        broker.roles["model"].handshake = None
        await broker.run(asks(schema=SCHEMA), scope())

    (asked,) = backend.asked
    assert asked.reply_schema is not None
    assert asked.reply_schema.schema == SCHEMA


async def test_a_schema_is_not_sent_where_it_is_not_enforced(tmp_path: Path) -> None:
    backend = server()
    async with shaking(tmp_path, backend) as broker:
        await broker.run(asks(schema=SCHEMA), scope())

    assert backend.asked[0].reply_schema is not None
    assert backend.asked[-1].reply_schema is None


async def test_what_is_kept_is_not_asked_again(tmp_path: Path) -> None:
    cache = HandshakeCache(tmp_path / "cache")
    async with shaking(tmp_path / "first", server(), cache=cache) as broker:
        await broker.run(asks(picture()), scope())
    again = server()
    async with shaking(tmp_path / "second", again, cache=cache) as broker:
        await broker.run(asks(picture()), scope())

    assert questions(again) == ["question"]


async def test_a_denial_is_asked_again(tmp_path: Path) -> None:
    cache = HandshakeCache(tmp_path / "cache")
    async with shaking(tmp_path / "1", server(can_see=False), cache=cache) as broker:
        await broker.run(asks(picture()), scope())
    mended = server()
    async with shaking(tmp_path / "2", mended, cache=cache) as broker:
        await broker.run(asks(picture()), scope())

    assert WITHOUT_MEDIA in questions(mended)
    assert questions(mended)[-1] == "question"


async def test_a_complete_handshake_asks_about_everything_at_the_first_call(
    tmp_path: Path,
) -> None:
    async with shaking(tmp_path, server(), full=True) as broker:
        await broker.run(asks(), scope())
        handshake = broker.roles["model"].handshake

    assert handshake is not None
    assert len(verdicts(handshake.probes)) > 5


@pytest.mark.parametrize("can_see", [True, False])
async def test_calls_of_a_handshake_are_in_the_journal(
    tmp_path: Path, *, can_see: bool
) -> None:
    backend = server(can_see=can_see)
    async with shaking(tmp_path, backend) as broker:
        await broker.run(asks(picture()), scope())
        calls = broker.journal.spending.total.calls

    assert calls == len(backend.asked)


async def test_a_resumed_run_repeats_no_call_whose_media_were_converted(
    tmp_path: Path,
) -> None:
    def converted(text: str) -> Program[str]:
        call = Call("model", request(text, PAGE), convert=("document->text",))
        return (yield from ask_one(call)).text

    async with shaking(tmp_path, server()) as broker:
        await broker.run(converted("first"), scope("a"))
        await broker.run(converted("second"), scope("b"))
    resumed = server()
    async with shaking(tmp_path, resumed) as broker:
        await broker.run(converted("second"), scope("b"))

    assert resumed.asked == []
