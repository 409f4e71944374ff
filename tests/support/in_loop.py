"""Tests that are coroutines. The clock of their event loop stands still while there is
something to do; when all of it waits, the clock jumps to the next timer. A minute of
waiting takes no time, and a busy machine changes nothing."""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

P = ParamSpec("P")

_BEGIN = 1000.0


class _Selector(selectors.DefaultSelector):
    """Waits by moving its own clock; work of threads takes no time on it."""

    seconds = _BEGIN

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(timeout if timeout is None else 0)
        if not ready and timeout is not None:
            self.seconds += timeout
        return ready


def _loop() -> asyncio.SelectorEventLoop:
    selector = _Selector()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.seconds  # type: ignore[method-assign]
    return loop


def now() -> float:
    """Seconds since the test began, by the clock of its loop."""
    return asyncio.get_running_loop().time() - _BEGIN


def run_in_loop(test: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=_loop) as runner:
        runner.run(test)


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """The test as a plain function with the same fixtures. Below tests/mmeval every
    coroutine is run like this."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        run_in_loop(test(*args, **kwargs))

    return run
