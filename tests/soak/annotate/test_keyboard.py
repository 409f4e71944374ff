"""Raters in a real Chromium, by keyboard alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.soak.support.chromium import DEADLINE_MS, TRIPWIRE
from tests.support.annotation import (
    ASK,
    MODEL,
    PAIRS,
    Served,
    asked,
    run_to_rate,
    served,
)

pytestmark = pytest.mark.timeout(900)

RUBRIC = "question: Which?\nkind: rubric\ncriteria: [a hare, an owl]\n"
LABELS = "question: Which errors?\nkind: labels\nlabels: [blurred, cut, odd]\n"
TEXT = "question: What is seen?\nkind: text\n"


@contextmanager
def opened(browser: Browser, session: Served, rater: str) -> Iterator[Page]:
    """The page of a rater. It complains of nothing, and nothing of the data runs."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(DEADLINE_MS)
    context.add_init_script(TRIPWIRE)
    page = context.new_page()
    complaints: list[str] = []
    foreign: list[str] = []
    base = f"http://127.0.0.1:{session.port}"

    page.on(
        "console",
        lambda message: (
            complaints.append(message.text) if message.type == "error" else None
        ),
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith(base) else foreign.append(request.url)
        ),
    )
    page.goto(base + session.rater(rater).base)
    yield page
    assert (complaints, foreign, page.evaluate("window.__pwned")) == ([], [], [])
    context.close()


def at(page: Page, number: int, total: int) -> Page:
    """The page when a trial is shown."""
    expect(page.locator("#progress")).to_have_text(f"{number} of {total}")
    return page


def test_two_raters_rate_12_trials_at_once(
    browser: Browser, demo_runs: list[Path], tmp_path: Path
) -> None:
    with served(
        *demo_runs, ask=asked(tmp_path), raters=("ann", "bob"), limit=6
    ) as session:
        total = len(session.annotation.trials.trials)
        assert total >= 12
        with (
            opened(browser, session, "ann") as ann,
            opened(browser, session, "bob") as bob,
        ):
            for number in range(1, total + 1):
                for page, key in ((ann, "1"), (bob, "3")):
                    at(page, number, total).keyboard.press(key)
                    page.keyboard.press("Enter")
            for page in (ann, bob):
                expect(page.locator(".done")).to_contain_text("Thank you")
        ratings = session.ratings
    values = {rater: set[object]() for rater in ("ann", "bob")}
    for rating in ratings:
        values[rating.rater].add(rating.value)
    assert values == {"ann": {1.0}, "bob": {3.0}}
    assert len({rating.place for rating in ratings}) == len(ratings) == 2 * total


def test_a_rater_goes_back_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "run", 2)
    with served(run, ask=asked(tmp_path), raters=("ann",)) as session:
        with opened(browser, session, "ann") as page:
            at(page, 1, 2).keyboard.press("1")
            page.keyboard.press("Enter")
            at(page, 2, 2).keyboard.press("b")
            at(page, 1, 1).keyboard.press("0")
            page.keyboard.press("Enter")
            at(page, 2, 2)
        assert [rating.value for rating in session.ratings] == [1.0, None]


def test_an_unanswered_question_is_not_saved(browser: Browser, tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "run", 1)
    with served(run, ask=asked(tmp_path), raters=("ann",)) as session:
        with opened(browser, session, "ann") as page:
            at(page, 1, 1).keyboard.press("Enter")
            expect(page.get_by_role("alert")).to_contain_text("answer first")
        assert session.ratings == []


@pytest.mark.parametrize(
    ("words", "keys", "value"),
    [
        (ASK, ["2"], 2.0),
        ("question: Good?\nkind: yes_no\n", ["n"], 0.0),
        ("question: Which?\nkind: choice\noptions: [hare, owl]\n", ["2"], "owl"),
        (RUBRIC, ["y", "n"], 0.5),
        (RUBRIC, ["y", "y", "ArrowUp", "n"], 0.5),
        (LABELS, ["1", "ArrowDown", "Space"], 2.0),
    ],
)
def test_each_kind_of_question_has_keys(
    browser: Browser, tmp_path: Path, words: str, keys: list[str], value: object
) -> None:
    run = run_to_rate(tmp_path / "run", 1)
    with served(run, ask=asked(tmp_path, words), raters=("ann",)) as session:
        with opened(browser, session, "ann") as page:
            at(page, 1, 1)
            for key in keys:
                page.keyboard.press(key)
            page.keyboard.press("c")
            page.keyboard.type("0 b c")
            page.keyboard.press("Escape")
            page.keyboard.press("Enter")
            expect(page.locator(".done")).to_be_visible()
        rating = session.ratings[-1]
    assert (rating.value, rating.comment) == (value, "0 b c")


def test_a_text_is_typed_at_once(browser: Browser, tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "run", 1)
    with served(run, ask=asked(tmp_path, TEXT), raters=("ann",)) as session:
        with opened(browser, session, "ann") as page:
            at(page, 1, 1).keyboard.type("a hare")
            page.keyboard.press("Control+Enter")
            expect(page.locator(".done")).to_be_visible()
        assert session.ratings[-1].value == "a hare"


def test_a_pair_is_shown_side_by_side(browser: Browser, tmp_path: Path) -> None:
    runs = []
    for model in ("x", "y"):
        runs.append(run_to_rate(tmp_path / model, 1, model=model))
    with served(*runs, ask=asked(tmp_path, PAIRS), raters=("ann",)) as session:
        with opened(browser, session, "ann") as page:
            headings = at(page, 1, 1).locator(".answers h2")
            expect(headings).to_have_text(["First answer", "Second answer"])
            page.keyboard.press("2")
            page.keyboard.press("Enter")
            expect(page.locator(".done")).to_be_visible()
        assert session.ratings[-1].value == "tie"


def test_the_page_names_nothing(browser: Browser, tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "run", 1)
    with (
        served(run, ask=asked(tmp_path), raters=("ann",)) as session,
        opened(browser, session, "ann") as page,
    ):
        shown = at(page, 1, 1).content()
    assert "Hello, guest 0!" in shown
    assert MODEL not in shown


def test_a_lost_server_loses_no_answer(browser: Browser, tmp_path: Path) -> None:
    run = run_to_rate(tmp_path / "run", 2)
    with served(run, ask=asked(tmp_path), raters=("ann",)) as session:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{session.port}{session.rater('ann').base}")
        at(page, 1, 2).keyboard.press("3")
        context.set_offline(offline=True)
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("Nothing is lost")
        context.set_offline(offline=False)
        page.keyboard.press("Enter")
        at(page, 2, 2)
        context.close()
        assert [rating.value for rating in session.ratings] == [3.0]
