"""Chromium, once for each module of tests, and a report to look at."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.support.chromium import Watched, chromium, watched
from tests.support.report_page_demo import demo


# While it is open its event loop runs in this thread, where other tests want one of their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index.html of a report with a trial of every kind of part, and with every status."""
    return demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def seen(browser: Browser) -> Iterator[Watched]:
    """A page on a desk. Whatever a test does with it, it stays calm."""
    page = watched(browser)
    yield page
    assert page.is_calm()
    page.page.context.close()


@pytest.fixture
def samples(seen: Watched, report: Path) -> Page:
    """The gallery, with nothing chosen."""
    return seen.open(report, "#samples")
