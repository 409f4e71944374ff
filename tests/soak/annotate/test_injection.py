"""Whatever a model or a data set writes is shown to raters as text."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.soak.annotate.test_keyboard import at, opened
from tests.soak.support.chromium import check
from tests.soak.support.hostile.report_run import INJECTIONS
from tests.support.annotation import asked, served
from tests.support.stored_runs import WrittenTrial, text, write_run

pytestmark = pytest.mark.timeout(1800)


def test_no_string_becomes_anything_but_text(browser: Browser, tmp_path: Path) -> None:
    trials = []
    for words in INJECTIONS:
        code = {"type": "code", "text": words}
        trials.append(WrittenTrial([text(words)], [text(words), code]))
    run = write_run(tmp_path / "run", trials)
    count = len(INJECTIONS)
    with (
        served(run, ask=asked(tmp_path), raters=("ann",)) as session,
        opened(browser, session, "ann") as page,
    ):
        for number in range(1, count + 1):
            at(page, number, count)
            assert check(page, "foreign") == []
            page.keyboard.press("1")
            page.keyboard.press("Enter")
        expect(page.locator(".done")).to_be_visible()


def test_the_words_of_a_question_are_text(browser: Browser, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [WrittenTrial([text("?")], [text("!")])])
    hostile = "<img src=x onerror=alert(1)>"
    words = f"question: '{hostile}'\nkind: choice\noptions: ['{hostile}', b]\n"
    with (
        served(run, ask=asked(tmp_path, words), raters=("ann",)) as session,
        opened(browser, session, "ann") as page,
    ):
        expect(at(page, 1, 1).locator(".question")).to_have_text(hostile)
        expect(page.locator(".options button").first).to_contain_text(hostile)
