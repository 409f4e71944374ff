import asyncio

import pytest

from mmeval.broker.loading import Loading
from mmeval.broker.observer import RoleObserver
from mmeval.errors import StoppedError


class Weights:
    """Takes some seconds to be read."""

    def __init__(self, seconds: float = 1.0) -> None:
        self.seconds = seconds
        self.reads = 0

    async def read(self) -> None:
        self.reads += 1
        await asyncio.sleep(self.seconds)


def loading(weights: Weights, observer: RoleObserver | None = None) -> Loading:
    return Loading(
        "toy",
        observer or RoleObserver(),
        first=None,
        start=weights.read,
        is_needed=True,
    )


async def test_calls_that_wait_together_load_a_model_once() -> None:
    weights = Weights()
    model = loading(weights)
    stop = asyncio.Event()
    await asyncio.gather(*(model.wait(unless=stop) for _ in range(3)))
    assert (weights.reads, model.is_done) == (1, True)


async def test_the_observer_is_told_how_long_it_took() -> None:
    reports: list[tuple[str, float | None]] = []
    observer = RoleObserver(loading=lambda *report: reports.append(report))
    await loading(Weights(), observer).wait(unless=asyncio.Event())
    (begun, ended) = reports
    assert begun == ("toy", None)
    assert ended[0] == "toy" and ended[1] is not None


async def test_no_call_waits_for_a_model_once_the_run_is_stopped() -> None:
    model = loading(Weights(seconds=600))
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(1, stop.set)
    with pytest.raises(StoppedError):
        await model.wait(unless=stop)
    assert not model.is_done
