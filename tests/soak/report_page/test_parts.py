"""A trial in full: every kind of part by the element that fits it, scores with their
evidence, replies, steps."""

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.soak.support.chromium import Watched, drawn
from tests.soak.support.report_page import RICH

pytestmark = pytest.mark.timeout(1800)

KINDS = [
    "reasoning",
    "words",
    "strip",
    "audio",
    "document",
    "code",
    "3d",
    "3d",
    "dangling",
    "strip",
]


@pytest.fixture
def trial(seen: Watched, report: Path) -> Page:
    page = seen.open(report, RICH)
    expect(page.locator(".block-output")).to_be_visible()
    return page


def test_parts_stand_in_their_order(trial: Page) -> None:
    names = (
        "box => [...box.children].map(node => node.className.replace('medium "
        "medium-', ''))"
    )
    assert trial.locator(".block-output .parts").first.evaluate(names) == KINDS


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (".code pre", "def f(): 1"),
        (".code .tok-keyword", "def"),
        (".viewer >> nth=1", "points of the surface"),
        (".dangling", "image3 placeholder"),
        (".block-output .parts >> nth=0", "has a DOCTYPE"),
        (".medium-document", "1 of 3 pages"),
        (".score-value", "0.5 between 0 and 1"),
        (".score .reason", "half of it"),
        (".score .evidence", "image 2"),
        (".score .verdicts", "tiny-1 (asked for gpt) · 8 tokens in"),
        (".score .verdicts", ", 4 out · 1.3 s"),
        (".score .verdicts", "Grade: 4"),
        (".block-warnings li >> nth=0", "limit of tokens"),
        (".block-warnings li >> nth=1", "audio was converted"),
    ],
    ids=str,
)
def test_a_trial_shows_its_parts_and_scores(
    place: str, words: str, trial: Page
) -> None:
    shown = trial.locator(place)
    shown.scroll_into_view_if_needed()
    expect(shown).to_contain_text(words)


def test_a_picture_is_shown_and_enlarged_by_a_click(trial: Page) -> None:
    picture = trial.locator(".block-output .medium-image img").first
    picture.scroll_into_view_if_needed()
    trial.wait_for_function(
        "image => image.complete && image.naturalWidth === 64",
        arg=picture.element_handle(),
    )
    trial.get_by_role("button", name="Enlarge image1").first.click()
    expect(trial.locator("dialog.enlarged img")).to_be_visible()
    trial.keyboard.press("Escape")
    expect(trial.locator("dialog")).to_have_count(0)
    expect(trial.locator(".block-output")).to_be_visible()


def test_a_sound_plays(trial: Page) -> None:
    sound = trial.locator("audio")
    assert sound.get_attribute("preload") == "none"
    sound.evaluate("sound => sound.play()")
    trial.wait_for_function(
        "sound => sound.currentTime > 0.2 && sound.played.length === 1",
        arg=sound.element_handle(),
    )


def turnable(page: Page) -> Locator:
    """The first 3D view, in sight."""
    page.locator(".viewer").first.scroll_into_view_if_needed()
    canvas = page.locator("canvas").first
    expect(canvas).to_be_visible()
    return canvas


def shades(png: bytes) -> int:
    """How many different colours cover more than a line of a picture."""
    image = Image.open(BytesIO(png)).convert("RGBA")
    return len([count for count, _ in image.getcolors(1 << 24) or [] if count > 500])


def test_a_3d_view_turns_by_keys_and_under_the_mouse_and_zooms(trial: Page) -> None:
    canvas = turnable(trial)
    box = canvas.bounding_box()
    assert box is not None
    before = drawn(canvas)
    for _ in range(4):
        canvas.press("ArrowRight")
    turned = drawn(canvas)
    canvas.press("0")
    assert drawn(canvas) == before
    trial.mouse.move(box["x"] + 100, box["y"] + 100)
    trial.mouse.down()
    trial.mouse.move(box["x"] + 180, box["y"] + 120)
    trial.mouse.up()
    dragged = drawn(canvas)
    trial.mouse.wheel(0, 100)
    wheeled = drawn(canvas)
    trial.get_by_role("button", name="Reset").first.click()
    assert drawn(canvas) == before
    assert len({before, turned, dragged, wheeled}) == 4
    assert shades(before) >= 4, "three sides in three shades, and the ground"


def test_without_webgl_the_view_is_a_note(seen: Watched, report: Path) -> None:
    seen.page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null;")
    view = seen.open(report, RICH).locator(".viewer").first
    view.scroll_into_view_if_needed()
    expect(view).to_contain_text("no WebGL 2")
