"""The page of a real run, as the command leaves it."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.chromium import Watched
from tests.support.cli import mmeval_process

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(scope="module")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page that a run of two bundled tasks has written at its end."""
    folder = tmp_path_factory.mktemp("demo_run")
    tasks = ("--tasks", "unim_hard,mmmg_audio_text_order", "--data", "bundled", "--output_path", folder)
    mmeval_process(*tasks, "--model", "reference")  # another process: Chromium's driver has an event loop in this one
    return next(folder.glob("*/default/report/index.html"))


def test_the_page_of_a_run_has_what_was_asked_and_its_slices_lead_to_their_trials(
    seen: Watched, demo_run: Path
) -> None:
    page = seen.open(demo_run)
    for words in ("32 trials", "95 %"):
        expect(page.locator(".summary")).to_contain_text(words)
    expect(page.get_by_role("row", name="UniM (hard)").first).to_contain_text("8 / 8")
    expect(page.locator("svg.chart").first).to_be_visible()
    page.get_by_role("link", name="natural_science").first.click()
    expect(page.locator("#count")).to_have_text("5 of 32 trials")


def test_every_trial_of_the_demo_opens_and_shows_its_answer(seen: Watched, demo_run: Path) -> None:
    page = seen.open(demo_run, "#samples")
    for number in range(1, 33):
        page.keyboard.press("j")
        expect(page.locator(".place")).to_have_text(f"{number} of 32")
        expect(page.locator(".block-output .parts")).to_be_visible()
    assert page.locator(".gone").count() == 0
