"""How fast the report page is in a real Chromium, over many made-up trials.

    python benchmarks/report_page.py [TRIALS]

Prints, for 50,000 trials unless told otherwise: the time from opening the page to the first rows of the list, the time
between frames while the list is scrolled from end to end, and how long a filter, the order of failures, and the first
search through all texts take.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.chromium import check, chromium, watched
from tests.support.report_folder import Row, write

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
        labels={"field": f"field {number % 30}", "level": f"level {number % 3}", "combination": f"c{number % 40}"},
        kinds=drawn.choice(("text", "text+image", "audio+text")),
        text=" ".join(drawn.choices(WORDS, k=100)) + f" number{number}x",
    )


def _took(page: Page, act: str, until: str) -> float:
    """Seconds from an act to what it brings, as the page sees it."""
    started = time.perf_counter()
    page.evaluate(act)
    page.wait_for_function(f"() => {until}")  # a bare expression would be evaluated, which the policy forbids
    return time.perf_counter() - started


def _measure(page: Page, index: Path, count: int) -> None:
    for turn in ("cold", "warm"):
        page.goto(index.as_uri() + "#samples")
        page.wait_for_selector(".row")
        print(f"first rows ({turn}): {page.evaluate('performance.now()') / 1000:.2f} s")
    times = sorted(check(page, "frames"))
    middle, most = times[len(times) // 2], times[int(len(times) * 0.95)]
    print(f"frames while scrolling: median {middle:.0f} ms, 95 % {most:.0f} ms, longest {times[-1]:.0f} ms")
    print(f"rows in the document: {page.locator('.row').count()}")
    of = f"!document.querySelector('#count').textContent.startsWith('{count:,} of')"
    print(f"filter: {_took(page, 'location.hash = `#label.level=level 1`', of):.2f} s")
    ordered = "document.querySelector('.row-score').textContent === 'failed'"
    print(f"failures first: {_took(page, 'location.hash = `#order=failures`', ordered):.2f} s")
    found = f"document.querySelector('#count').textContent.startsWith('1 of {count:,}')"
    search = f"location.hash = '#text=number{count - 1}x'"
    print(f"first search through all texts: {_took(page, search, found):.2f} s")
    search = f"location.hash = '#text=number{count // 2}x'"
    print(f"next search: {_took(page, search, found):.2f} s")
    opened, shown = f"location.hash = '#trial=toy/{count // 2}/0'", "!!document.querySelector('.block-output')"
    print(f"a trial by a link: {_took(page, opened, shown):.2f} s")
    print(f"memory of the page: {page.evaluate('performance.memory.usedJSHeapSize') / 2**20:.0f} MiB")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        index = write(Path(folder) / "report", rows(count))
        size = (index.parent / "data" / "index.js").stat().st_size
        print(f"{count:,} trials, index of {size / 2**20:.1f} MiB")
        seen = watched(browser)
        _measure(seen.page, index, count)
        assert seen.is_calm()


if __name__ == "__main__":
    main()
