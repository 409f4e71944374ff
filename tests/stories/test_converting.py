import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from mmeval.backend import sendable
from mmeval.backend.capabilities import Capabilities
from mmeval.backend.routes import ROUTES, TO_DESCRIBE
from mmeval.content.media import Media
from mmeval.content.parts import Part
from mmeval.decode import DecodeLimits
from mmeval.program.calls import Call, Program, Reply, ask_one
from mmeval.records.request import Request
from mmeval.records.sample import user
from tests.mmeval.broker.test_broker import scope
from tests.support import tiny_media
from tests.support.in_loop import in_loop
from tests.support.journals import brokered
from tests.support.toy import Toy, reply

MODEL = Media.from_bytes(tiny_media.PLAIN_OBJ)


def describe() -> Program[Reply]:
    return (yield from ask_one(Call("judge", Request((user(MODEL),)), convert=TO_DESCRIBE)))


@in_loop
async def test_a_renderer_that_draws_in_another_way_asks_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def asked(takes: str) -> int:
        judge = Toy(takes=takes, answers=lambda _: reply("a triangle"))
        async with brokered(tmp_path, judge=judge) as broker:
            await broker.run(describe(), scope(by_content=True))
        return len(judge.asked)

    before = [await asked("text+image"), await asked("text+image"), await asked("text+3d")]
    monkeypatch.setattr(sendable, "ROUTES", {**ROUTES, "3d->renders": replace(ROUTES["3d->renders"], version=2)})
    monkeypatch.setattr(sendable, "_of_inputs", sendable._of_inputs.__wrapped__)

    assert before == [1, 0, 1]
    assert (await asked("text+image"), await asked("text+3d")) == (1, 0), "it takes models as they are"


@in_loop
async def test_calls_share_one_conversion_outside_of_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    converted: list[Call] = []
    where: list[threading.Thread] = []
    route = ROUTES["3d->renders"]

    def prepared(call: Call, able: Capabilities) -> sendable.Sendable:
        converted.append(call)
        return sendable.sendable(call, able)

    def drawn(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
        where.append(threading.current_thread())
        return route.convert(media, limits)

    monkeypatch.setattr("mmeval.broker.broker.sendable", prepared)
    monkeypatch.setattr(sendable, "ROUTES", {**ROUTES, "3d->renders": replace(route, convert=drawn)})
    monkeypatch.setattr(sendable, "_of_inputs", sendable._of_inputs.__wrapped__)
    async with brokered(tmp_path, judge=Toy(takes="text+image")) as broker:
        await asyncio.gather(*(broker.run(describe(), scope(f"t{i}", by_content=True)) for i in range(5)))

    assert (len(converted), len(where), threading.main_thread() in where) == (1, 1, False)
