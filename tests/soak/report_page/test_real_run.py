"""The page of a real run, as the command leaves it."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.soak.support.chromium import Watched
from tests.support.cli import mmeval_process

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(scope="module")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page that a run of two bundled tasks has written at its end."""
    folder = tmp_path_factory.mktemp("demo_run")
    tasks = (
        "--tasks",
        "unim_hard,mmmg_audio_text_order",
        "--data",
        "bundled",
        "--output_path",
        folder,
    )
    # another process: Chromium's driver has an event loop in this one
    mmeval_process(*tasks, "--model", "reference")
    return next(folder.glob("*/default/report/index.html"))


def test_the_page_of_a_run_has_what_was_asked_and_its_slices_lead_to_their_trials(
    seen: Watched, demo_run: Path
) -> None:
    page = seen.open(demo_run)
    expect(page.locator(".lead")).to_contain_text("trials with repeats: 32")
    row = page.get_by_role("row", name="UniM (hard)").first
    expect(row).to_contain_text("strict_structure")
    row_of_slices = page.locator(".folded summary").filter(has_text="By field: 3")
    expect(page.get_by_role("link", name="natural_science")).to_be_hidden()
    row_of_slices.click()
    page.locator("summary").filter(has_text="Charts").click()
    expect(page.locator("svg.chart").first).to_be_visible()
    page.get_by_role("link", name="natural_science").first.click()
    expect(page.locator("#count")).to_have_text("5 of 32 trials")


def test_every_trial_of_the_demo_opens_and_shows_its_answer(
    seen: Watched, demo_run: Path
) -> None:
    page = seen.open(demo_run, "#samples")
    for number in range(1, 33):
        if number > 1:
            page.keyboard.press("j")
        expect(page.locator(".place")).to_have_text(f"{number} of 32")
        expect(page.locator(".block-output .parts")).to_be_visible()
    assert page.locator(".gone").count() == 0


@pytest.mark.parametrize(
    ("width", "height"), [(1280, 800), (390, 844)], ids=["desk", "phone"]
)
def test_the_first_screen_holds_a_number_with_its_interval_and_three_answers_with_media(
    width: int, height: int, seen: Watched, demo_run: Path
) -> None:
    seen.page.set_viewport_size({"width": width, "height": height})
    page = seen.open(demo_run)
    media = [
        f".answer:nth-child({at}) :is(img, audio, video) >> nth=0" for at in (1, 2, 3)
    ]
    for place in (
        ".lead",
        ".figure >> nth=0",
        ".interval >> nth=0",
        ".gauge >> nth=0",
        *media,
    ):
        box = page.locator(place).bounding_box()
        assert box is not None and min(box["width"], box["height"]) > 10, place
        assert box["x"] >= 0 and box["x"] + box["width"] <= width, place
        assert box["y"] >= 0 and box["y"] + box["height"] <= height, place
    # the tables of papers have a place for each task, also for those left out
    page.evaluate(
        "document.querySelectorAll('[id^=layout-]').forEach("
        "heading => heading.closest('details')?.remove())"
    )
    assert page.get_by_text("N/A").count() == 0, "nor in what is folded"
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_picture_of_the_first_screen_is_enlarged_and_its_answer_opened(
    seen: Watched, demo_run: Path
) -> None:
    page = seen.open(demo_run)
    page.locator(".answer .picture").first.click()
    expect(page.locator("dialog.enlarged img")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    page.locator(".answer .head a").last.click()
    expect(page.locator(".block-output .parts")).to_be_visible()
