"""One Chromium for the tests of this folder, and a report to look at."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.soak.support.chromium import Watched, chromium, watched
from tests.soak.support.report_page import demo


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index.html of a report with a trial of every kind of part, and with every
    status."""
    return demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def seen(browser: Browser) -> Iterator[Watched]:
    """A page on a desk. Whatever a test does with it, it stays calm."""
    with watched(browser) as page:
        yield page
        assert page.is_calm()


@pytest.fixture
def phone(browser: Browser) -> Iterator[Watched]:
    with watched(browser, width=360, height=740, touch=True) as page:
        yield page
        assert page.is_calm()


@pytest.fixture
def samples(seen: Watched, report: Path) -> Page:
    """The list of samples, with its first trial beside it."""
    return seen.open(report, "#samples")
