import asyncio
from collections.abc import Callable, Sequence

import pytest

from mmeval.broker.batcher import BatchRow, Deliver
from mmeval.broker.runtime import BackendRuntime
from mmeval.errors import (
    EXIT_UNEXPECTED,
    EXIT_USAGE,
    MissingDataError,
    StartFailedError,
    StoppedError,
    UsageError,
)
from mmeval.records.response import Response
from mmeval.store.call_context import CallContext
from tests.support.engine import now
from tests.support.toy import Toy, ToyLocal, reply, request


class Loaded(Toy):
    """A server that is started by us; ``trouble`` is what that meets."""

    def __init__(self, trouble: Exception | None = None) -> None:
        super().__init__()
        self.starts = 0
        self._trouble = trouble

    def start(self) -> None:
        self.starts += 1
        if self._trouble is not None:
            raise self._trouble


class Failing:
    """Answers the second time, after a second; ``attempts`` are those of the
    contexts."""

    places = 1

    def __init__(self) -> None:
        self.attempts: list[int] = []
        self.on_places: Callable[[], None] = lambda: None

    async def start(self) -> None: ...

    async def answer(self, batch: Sequence[BatchRow], deliver: Deliver) -> int:
        self.attempts.append(batch[0].context.attempt)
        await asyncio.sleep(1)
        deliver(
            0,
            reply("at last")
            if len(self.attempts) > 1
            else Response.failed("timeout", "slow"),
        )
        return 0

    async def close(self) -> None: ...


def runtime(
    backend: Toy | ToyLocal, retries: int = 0, answerer: Failing | None = None
) -> BackendRuntime:
    return BackendRuntime(
        backend, limit=8, retries=retries, live=lambda: 1, answerer=answerer
    )


async def test_a_backend_is_started_once_when_it_is_asked() -> None:
    role = runtime(backend := Loaded())
    assert backend.starts == 0
    await asyncio.gather(
        *(role.ask(request(f"question {i}"), CallContext(f"t{i}")) for i in range(3))
    )
    assert (backend.starts, len(backend.asked)) == (1, 3)


@pytest.mark.parametrize(
    ("trouble", "message", "code"),
    [
        (MissingDataError("no weights"), "no weights", 4),
        (ValueError("odd"), "ValueError: odd", EXIT_UNEXPECTED),
    ],
)
async def test_every_call_fails_where_a_backend_cannot_be_started(
    trouble: Exception, message: str, code: int
) -> None:
    heard: list[tuple[str, bool]] = []
    role = runtime(backend := Loaded(trouble))
    role.observer.loading = lambda model, seconds: heard.append(
        (model, seconds is None)
    )
    role.plays(["judge"])
    for _ in range(2):
        with pytest.raises(StartFailedError) as lost:
            await role.ask(request(), CallContext("t"))
    assert (backend.starts, backend.asked) == (1, [])
    assert heard == [(role.model_name, True), ("", True)]
    assert (str(lost.value), lost.value.exit_code) == (message, code)
    assert lost.value.reason.startswith("the judge ")
    assert lost.value.__cause__ is trouble


async def test_what_is_to_be_done_first_keeps_a_backend_from_being_asked() -> None:
    def refuse() -> None:
        raise UsageError("a node does not see the folder", name="node")

    role = BackendRuntime(
        backend := Toy(), limit=8, retries=0, live=lambda: 1, first=refuse
    )
    with pytest.raises(StartFailedError) as lost:
        await role.ask(request(), CallContext("t"))
    assert (lost.value.exit_code, backend.asked) == (EXIT_USAGE, [])


async def test_a_worker_is_given_the_number_of_tries_that_failed_before() -> None:
    failing = Failing()
    response, tries = await runtime(ToyLocal(), retries=1, answerer=failing).ask(
        request(), CallContext("t")
    )
    assert (response.text, tries, failing.attempts) == ("at last", 1, [0, 1])


async def test_a_call_that_outlives_the_run_is_not_made_again() -> None:
    role = runtime(
        backend := Toy(
            answers=lambda _: Response.failed("connection", "the session is closed")
        ),
        retries=3,
    )
    call = asyncio.ensure_future(role.ask(request(), CallContext("t")))
    await asyncio.sleep(0.1)
    await role.close()
    with pytest.raises(StoppedError):
        await call
    assert len(backend.asked) == 1


async def test_a_server_that_gives_no_response_has_failed() -> None:
    role = runtime(Toy(answers=lambda _: "hello"))  # type: ignore[arg-type,return-value]  # what an author may have written
    answered, _ = await role.ask(request(), CallContext("t"))
    assert answered.error is not None
    assert (
        answered.error.kind,
        "'hello', not a Response" in answered.error.message,
    ) == ("internal", True)


async def test_no_call_waits_for_a_model_that_is_not_asked_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Failing, "start", lambda _self: asyncio.sleep(60))
    role = runtime(ToyLocal(), answerer=Failing())
    asyncio.get_running_loop().call_later(1, role.stop)
    with pytest.raises(StoppedError):
        await role.ask(request(), CallContext("t"))
    assert now() < 60
