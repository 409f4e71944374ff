"""How fast the report page is in a real Chromium, over many made-up trials.

The time from opening the page to the first rows of the list, the time between frames
while the list is scrolled from end to end, and how long a filter, the order of
failures, and searches through all texts take.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.measuring import Figure, seconds
from tests.soak.support.chromium import check, chromium, watched
from tests.soak.support.report_page import Row, write

WORDS = (
    "describe",
    "compare",
    "pick",
    "explain",
    "draw",
    "first",
    "last",
    "picture",
    "melody",
    "chart",
    "map",
    "river",
)
STATUSES = ("scored",) * 17 + ("unscored", "failed", "unsupported")


def rows(count: int) -> list[Row]:
    """Trials with texts of some 600 characters, three labels and two metrics."""
    drawn = random.Random(0)
    return [_row(drawn, number) for number in range(count)]


def _row(drawn: random.Random, number: int) -> Row:
    status = drawn.choice(STATUSES)
    value = round(drawn.random(), 3) if status == "scored" else None
    return Row(
        sample=f"area/{number % 30}/{number}",
        title=" ".join(drawn.choices(WORDS, k=14)),
        status=status,
        scores={"accuracy": value, "structure": value},
        labels={
            "field": f"field {number % 30}",
            "level": f"level {number % 3}",
            "combination": f"c{number % 40}",
        },
        kinds=drawn.choice(("text", "text+image", "audio+text")),
        text=" ".join(drawn.choices(WORDS, k=100)) + f" number{number}x",
    )


def figures(quick: bool) -> Iterator[Figure]:
    count = 5_000 if quick else 50_000
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        index = write(Path(folder) / "report", rows(count))
        seen = watched(browser)
        yield from _figures(seen.page, index, count)
        assert seen.is_calm()


def _figures(page: Page, index: Path, count: int) -> Iterator[Figure]:
    for turn in ("cold", "warm"):
        page.goto(index.as_uri() + "#samples")
        page.wait_for_selector(".row")
        yield Figure(
            f"first rows of {count:,}, {turn}",
            page.evaluate("performance.now()") / 1000,
            unit=" s",
        )
    times = sorted(check(page, "frames"))
    yield Figure(
        "a frame while scrolling",
        times[len(times) // 2],
        unit=" ms",
        note=f"longest {times[-1]:.0f} ms",
    )

    def took(act: str, until: str) -> float:
        """Seconds from an act to what it brings, as the page sees it."""

        def do() -> None:
            page.evaluate(act)
            # the policy forbids to evaluate a bare expression
            page.wait_for_function(f"() => {until}")

        return seconds(do)

    shown = "document.querySelector('#count').textContent.startsWith"
    found = f"{shown}('1 of {count:,}')"
    yield Figure(
        "filter",
        took("location.hash = `#label.level=level 1`", f"!{shown}('{count:,} of')"),
        unit=" s",
    )
    first = "document.querySelector('.row-score').textContent === 'failed'"
    yield Figure(
        "failures first", took("location.hash = `#order=failures`", first), unit=" s"
    )
    for name, number in (
        ("first search through all texts", count - 1),
        ("next search", count // 2),
    ):
        yield Figure(
            name, took(f"location.hash = '#text=number{number}x'", found), unit=" s"
        )
    opened = took(
        f"location.hash = '#trial=toy/{count // 2}/0'",
        "!!document.querySelector('.block-output')",
    )
    yield Figure("a trial by a link", opened, unit=" s")
    yield Figure(
        "memory of the page",
        page.evaluate("performance.memory.usedJSHeapSize") / 2**20,
        unit=" MiB",
    )
