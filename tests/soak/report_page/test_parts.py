"""A trial in full: every kind of part by the element that fits it, scores with their evidence, replies, steps."""

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.support.chromium import Watched, drawn
from tests.support.report_folder import Row, medium, text, tone, write
from tests.support.report_page_demo import RICH, demo
from tests.support.tiny_media import picture

pytestmark = [pytest.mark.xdist_group("chromium"), pytest.mark.timeout(1800)]

KINDS = ["reasoning", "words", "strip", "audio", "document", "code", "3d", "3d", "dangling", "strip"]


@pytest.fixture
def trial(seen: Watched, report: Path) -> Page:
    page = seen.open(report, RICH)
    expect(page.locator(".block-output")).to_be_visible()
    return page


def alone(seen: Watched, folder: Path, **details: Any) -> Page:
    """The page of a report with one trial."""
    return seen.open(write(folder / "report", [Row("a", details=details)]), "#trial=toy/0/0")


def test_parts_stand_in_their_order(trial: Page) -> None:
    names = "box => [...box.children].map(node => node.className.replace('medium medium-', ''))"
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
def test_a_trial_shows_its_parts_and_scores(place: str, words: str, trial: Page) -> None:
    shown = trial.locator(place)
    shown.scroll_into_view_if_needed()
    expect(shown).to_contain_text(words)


def test_a_picture_is_shown_and_enlarged_by_a_click(trial: Page) -> None:
    picture = trial.locator(".block-output .medium-image img").first
    picture.scroll_into_view_if_needed()
    trial.wait_for_function("image => image.complete && image.naturalWidth === 64", arg=picture.element_handle())
    trial.get_by_role("button", name="Enlarge image1").first.click()
    expect(trial.locator("dialog.enlarged img")).to_be_visible()
    trial.keyboard.press("Escape")
    expect(trial.locator("dialog")).to_have_count(0)
    expect(trial.locator(".block-output")).to_be_visible()


def test_a_sound_plays(trial: Page) -> None:
    sound = trial.locator("audio")
    assert sound.get_attribute("preload") == "none"
    sound.evaluate("sound => sound.play()")
    trial.wait_for_function("sound => sound.currentTime > 0.2 && sound.played.length === 1", arg=sound.element_handle())


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


def test_what_is_invisible_is_made_visible(trial: Page) -> None:
    marks = trial.locator(".block-output .control")
    assert marks.all_inner_texts() == ["U+202E", "U+202C"]
    assert marks.first.get_attribute("title") == "U+202E RIGHT-TO-LEFT OVERRIDE"


@pytest.mark.parametrize(
    ("roles", "heading"),
    [
        (["captioner"], "The captioner's reply"),
        (["judge", "judge"], "2 replies of the judge"),
        (["captioner.audio", "captioner", "judge"], "3 replies: 2 of the captioner"),
    ],
    ids=len,
)
def test_replies_are_counted_by_role(roles: list[str], heading: str, seen: Watched, tmp_path: Path) -> None:
    verdicts = [{"path": "0", "role": role, "asked": "m", "parts": [text("so")]} for role in roles]
    score = {"name": "right", "status": "scored", "value": 1.0, "evidence": {}, "verdicts": verdicts}
    expect(alone(seen, tmp_path, scores=[score]).locator(".verdicts h5")).to_contain_text(heading)


def test_reasoning_and_steps_are_folded_until_they_are_opened(trial: Page) -> None:
    assert trial.locator(".reasoning").get_attribute("open") is None
    step = trial.locator(".block-steps details")
    expect(step.get_by_text("A plan.")).to_be_hidden()
    step.locator("summary").click()
    expect(step.get_by_text("A plan.")).to_be_visible()


def test_a_step_whose_reply_is_the_output_refers_to_it(seen: Watched, tmp_path: Path) -> None:
    page = alone(seen, tmp_path, steps=[{"path": "0", "role": "model", "parts": None, "error": None}])
    page.locator(".block-steps summary").click()
    expect(page.locator(".block-steps .empty")).to_contain_text("output above")


def test_the_raw_text_has_placeholders_where_media_stand(trial: Page) -> None:
    trial.locator(".block-output").get_by_role("button", name="Raw text").click()
    expect(trial.locator(".raw")).to_contain_text("<<image1>><<audio1>><<document1>>def f(): 1")


def test_a_medium_that_is_gone_is_noted(seen: Watched, tmp_path: Path) -> None:
    index = demo(tmp_path)
    (tmp_path / "media" / "a.png").unlink()
    expect(seen.open(index, RICH).locator(".block-input .gone")).to_contain_text("cannot be shown")
    seen.complaints.clear()


def test_without_webgl_the_view_is_a_note(seen: Watched, report: Path) -> None:
    seen.page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null;")
    view = seen.open(report, RICH).locator(".viewer").first
    view.scroll_into_view_if_needed()
    expect(view).to_contain_text("no WebGL 2")


def test_punctuation_beside_media_stands_behind_them(seen: Watched, tmp_path: Path) -> None:
    folder = tmp_path / "report"
    image = medium(folder, "image", "a.png", picture(), "image/png")
    sound = medium(folder, "audio", "a.wav", tone(tmp_path / "t.wav"), "audio/wav")
    output = [text("See"), image, text(", "), image, text(" "), image, text("."), sound, text("!"), text("End")]
    parts = alone(seen, tmp_path, output=output).locator(".block-output .parts")
    expect(parts.locator("> .words")).to_have_text(["See", "End"])
    expect(parts.locator(".after")).to_have_text([",", ".", "!"])
    expect(parts.locator("> .strip")).to_have_count(2)
