"""The view of a trial: its scores in its head, and a folded input, so that the answer is
in sight at once."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.soak.support.chromium import Watched, settled
from tests.soak.support.report_page import Row, medium, text, write
from tests.support.tiny_media import picture

pytestmark = pytest.mark.timeout(1800)

SIZES = [(1280, 800), (390, 844)]
FOLDED = 240


@pytest.fixture(scope="module")
def long_input(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trial with a long input that has a large picture, a long reference, and two
    scores."""
    folder = tmp_path_factory.mktemp("long") / "report"
    large = picture(size=(1600, 1200), colour=(200, 80, 40))
    shown = medium(folder, "image", "a.png", large, "image/png")
    words = "Describe what changes from the first picture to the last one. " * 40
    details = {
        "input": [{"role": "user", "parts": [text(words), shown, text(words)]}],
        "output": [text("The answer.")],
        "references": [[text(words)]],
    }
    row = Row("a", words[:119], scores={"errors": 0.9, "right": 0.7}, details=details)
    task = {"name": "toy", "alias": "Toy", "run": 0, "headline": "right"}
    return write(folder, [row], tasks=[task], lower={"errors"})


@pytest.fixture
def trial(seen: Watched, long_input: Path) -> Page:
    return settled(seen.open(long_input, "#trial=toy/0/0"))


def is_above_the_fold(place: Locator, height: int) -> bool:
    box = place.bounding_box()
    return box is not None and box["y"] >= 0 and box["y"] + box["height"] <= height


@pytest.mark.parametrize(("width", "height"), SIZES, ids=["desk", "phone"])
def test_score_and_answer_are_above_the_fold_after_a_long_input(
    width: int, height: int, seen: Watched, long_input: Path
) -> None:
    seen.page.set_viewport_size({"width": width, "height": height})
    page = settled(seen.open(long_input, "#trial=toy/0/0"))
    expect(page.locator(".block-output .words")).to_have_text("The answer.")
    expect(page.get_by_role("button", name="Show all")).to_be_visible()
    assert is_above_the_fold(page.locator(".head-scores"), height)
    assert is_above_the_fold(page.locator(".block-output .words"), height)
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_head_has_the_headline_first_and_grades_by_direction(trial: Page) -> None:
    scores = trial.locator(".head-scores .grade")
    expect(scores).to_have_text(["0.7", "0.9"])
    expect(scores.nth(0)).to_have_class("grade grade-3")
    expect(scores.nth(1)).to_have_class("grade grade-0")


def test_an_input_is_shown_whole_by_its_button_alone_or_by_the_keyboard(
    trial: Page,
) -> None:
    cut = trial.locator(".block-input .cut")
    height = "cut => cut.offsetHeight"
    assert cut.evaluate(height) == FOLDED
    trial.get_by_role("button", name="Show all").press("Enter")
    assert cut.evaluate(height) > FOLDED
    trial.get_by_role("button", name="Show less").press("Enter")
    assert cut.evaluate(height) == FOLDED
    trial.get_by_role("button", name="Enlarge image1").focus()
    trial.keyboard.press("Shift")
    assert cut.evaluate(height) > FOLDED


def test_a_short_input_is_not_folded(seen: Watched, report: Path) -> None:
    page = settled(seen.open(report, "#trial=toy/2/0"))
    expect(page.locator(".block-input")).to_be_visible()
    expect(page.get_by_role("button", name="Show all")).to_be_hidden()
