"""Tests that are coroutines run in an event loop with a clock of its own."""

import inspect

import pytest

from tests.support.engine import run_in_loop


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.function):
        return None
    names = inspect.signature(pyfuncitem.function).parameters
    run_in_loop(
        pyfuncitem.function(**{name: pyfuncitem.funcargs[name] for name in names})
    )
    return True
