"""How fast the page for raters is in a real Chromium: 1,000 trials, three raters.

The time from opening a rater's page to its first trial, the time from one answer to the
next trial, and the memory of the server.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from playwright.sync_api import Browser, Page

from benchmarks.measuring import Figure, high_water, seconds
from tests.soak.support.chromium import DEADLINE_MS, chromium
from tests.support.annotation import asked, run_to_rate
from tests.support.cli import started

TRIALS = 1_000
RATERS = ("ann", "bob", "eve")
RATED = 10
"""Answers that each rater gives while the next trial is timed."""


def figures(quick: bool) -> Iterator[Figure]:
    trials = TRIALS // 10 if quick else TRIALS
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        run = run_to_rate(folder / "run", trials)
        command = (run, "--ask", asked(folder), "--raters", ",".join(RATERS))
        with started("annotate", *command, "--port", "0") as server:
            links = _links(server.process)
            pages = [_opened(browser) for _ in RATERS]
            loads = [
                seconds(partial(_load, page, link))
                for page, link in zip(pages, links, strict=True)
            ]
            yield Figure(
                f"first trial of {trials:,}, {len(RATERS)} raters",
                statistics.median(loads),
                1.0,
                unit=" s",
                note=_longest(loads),
            )
            again = [seconds(partial(_reload, page)) for page in pages]
            yield Figure(
                "the page loaded again",
                statistics.median(again),
                1.0,
                unit=" s",
                note=_longest(again),
            )
            answers = [
                seconds(partial(_rate, page, number))
                for number in range(1, RATED + 1)
                for page in pages
            ]
            yield Figure(
                "from an answer to the next trial",
                statistics.median(answers),
                unit=" s",
                note=_longest(answers),
            )
            peak = high_water(server.process.pid)
            yield Figure("memory of the server", peak, 150, unit=" MiB")


def _longest(times: list[float]) -> str:
    return f"longest {max(times):.2f} s"


def _links(server: subprocess.Popen[str]) -> list[str]:
    """Returns the raters' links, in the order in which the command prints them."""
    assert server.stdout is not None
    links = []
    for line in server.stdout:
        if line.strip().startswith(RATERS):
            links.append(line.split()[-1])
        if len(links) == len(RATERS):
            return links
    raise AssertionError("the links were not printed")


def _opened(browser: Browser) -> Page:
    """Returns an empty page of a browser that has kept no file."""
    page = browser.new_context().new_page()
    page.set_default_timeout(DEADLINE_MS)
    return page


def _load(page: Page, link: str) -> None:
    page.goto(link)
    _wait_for_trial(page, 1)


def _reload(page: Page) -> None:
    page.reload()
    _wait_for_trial(page, 1)


def _rate(page: Page, number: int) -> None:
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    _wait_for_trial(page, number + 1)


def _wait_for_trial(page: Page, number: int) -> None:
    # the policy of the page forbids a bare expression
    page.wait_for_function(
        "start => document.querySelector('#progress').textContent.startsWith(start)",
        arg=f"{number} of ",
    )
