import asyncio

import pytest

from mmeval.broker.start import Start
from mmeval.errors import StoppedError


async def test_a_model_is_loaded_once_however_many_calls_wait_for_it() -> None:
    loaded, heard = list[str](), list[tuple[str, bool]]()

    async def load() -> None:
        loaded.append("once")
        await asyncio.sleep(1)

    start = Start("m", load)
    start.told = lambda model, seconds: heard.append((model, seconds is not None and seconds > 0))
    stopped = asyncio.Event()
    asyncio.get_running_loop().call_later(0.5, stopped.set)
    with pytest.raises(StoppedError):
        await start.done(stopped)
    await asyncio.gather(*(start.done(asyncio.Event()) for _ in range(3)))
    await start.done(asyncio.Event())
    assert (loaded, heard) == (["once"], [("m", False), ("m", True)])


async def test_what_keeps_a_model_from_being_loaded_is_raised_to_every_call_that_waits() -> None:
    async def fails() -> None:
        await asyncio.sleep(1)
        raise ValueError("no weights")

    start, heard = Start("m", fails), list[object]()
    start.told = lambda *given: heard.append(given)
    found = await asyncio.gather(*(start.done(asyncio.Event()) for _ in range(2)), return_exceptions=True)
    with pytest.raises(ValueError, match="no weights"):
        await start.done(asyncio.Event())
    assert ([str(error) for error in found], heard) == (["no weights"] * 2, [("m", None), ("", None)])
