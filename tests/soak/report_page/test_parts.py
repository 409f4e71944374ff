"""A trial in full: every kind of part by the element that fits it, scores with their evidence, replies, steps."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.support.chromium import Watched, drawn
from tests.support.report_folder import Row, medium, text, tone, write
from tests.support.report_page_demo import RICH
from tests.support.tiny_media import picture


@pytest.fixture
def trial(seen: Watched, report: Path) -> Iterator[Page]:
    page = seen.open(report, RICH)
    expect(page.locator(".block-output")).to_be_visible()
    yield page


def test_parts_stand_in_their_order(trial: Page) -> None:
    kinds = trial.locator(".block-output .parts").first.evaluate(
        "box => [...box.children].map(node => node.className.replace('medium medium-', ''))"
    )
    assert kinds == ["reasoning", "words", "strip", "audio", "document", "code", "3d", "3d", "dangling", "strip"]


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


def test_code_has_its_colours(trial: Page) -> None:
    expect(trial.locator(".code pre")).to_have_text("def f(): 1")
    expect(trial.locator(".code .tok-keyword")).to_have_text("def")


def test_a_3d_view_is_drawn_and_turns(trial: Page) -> None:
    canvas = turnable(trial)
    before = drawn(canvas)
    for _ in range(4):
        canvas.press("ArrowRight")
    turned = drawn(canvas)
    canvas.press("0")
    assert shades(before) >= 4, "three sides in three shades, and the ground"
    assert turned != before
    assert drawn(canvas) == before


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


def test_a_3d_view_turns_under_the_mouse_and_zooms(trial: Page) -> None:
    canvas = turnable(trial)
    box = canvas.bounding_box()
    assert box is not None
    before = drawn(canvas)
    trial.mouse.move(box["x"] + 100, box["y"] + 100)
    trial.mouse.down()
    trial.mouse.move(box["x"] + 180, box["y"] + 120)
    trial.mouse.up()
    dragged = drawn(canvas)
    trial.mouse.wheel(0, 100)
    wheeled = drawn(canvas)
    trial.get_by_role("button", name="Reset").first.click()
    assert len({before, dragged, wheeled}) == 3
    assert drawn(canvas) == before


def test_points_without_faces_are_shown_with_their_note(trial: Page) -> None:
    points = trial.locator(".viewer").nth(1)
    points.scroll_into_view_if_needed()
    expect(points.locator("canvas")).to_be_visible()
    expect(points).to_contain_text("points of the surface")


def test_a_placeholder_without_its_file_and_a_refused_file_are_said(trial: Page) -> None:
    expect(trial.locator(".dangling")).to_have_text("image3 placeholder without its file")
    expect(trial.get_by_text("it has a DOCTYPE, and is not drawn")).to_be_visible()


def test_what_is_invisible_is_made_visible(trial: Page) -> None:
    marks = trial.locator(".block-output .control")
    assert marks.all_inner_texts() == ["U+202E", "U+202C"]
    assert marks.first.get_attribute("title") == "U+202E RIGHT-TO-LEFT OVERRIDE"


def test_reasoning_is_folded_and_pages_are_counted(trial: Page) -> None:
    assert trial.locator(".reasoning").get_attribute("open") is None
    expect(trial.locator(".medium-document")).to_contain_text("1 of 3 pages")


def test_a_score_has_its_reason_evidence_bounds_and_the_reply_of_its_judge(trial: Page) -> None:
    score = trial.locator(".score")
    expect(score.locator(".score-value")).to_have_text("0.5 between 0 and 1")
    expect(score.locator(".reason")).to_have_text("half of it")
    expect(score.locator(".evidence")).to_contain_text("image 2")
    expect(score.locator(".verdicts")).to_contain_text("tiny-1 (asked for gpt) · 8 tokens in, 4 out · 1.3 s")
    expect(score.locator(".verdicts")).to_contain_text("Grade: 4")


@pytest.mark.parametrize(
    ("roles", "heading"),
    [
        (["captioner"], "The captioner's reply"),
        (["judge", "judge"], "2 replies of the judge"),
        (["captioner.audio", "captioner", "judge"], "3 replies: 2 of the captioner, 1 of the judge"),
    ],
)
def test_replies_are_counted_by_role(roles: list[str], heading: str, seen: Watched, tmp_path: Path) -> None:
    verdicts = [{"path": "0", "role": role, "asked": "m", "parts": [text("so")]} for role in roles]
    score = {"name": "right", "status": "scored", "value": 1.0, "evidence": {}, "verdicts": verdicts}
    page = seen.open(write(tmp_path / "report", [Row("a", details={"scores": [score]})]), "#trial=toy/0/0")
    expect(page.locator(".verdicts h5")).to_have_text(heading)


def test_a_step_whose_reply_is_the_output_says_so(seen: Watched, tmp_path: Path) -> None:
    step = {"path": "0", "role": "model", "parts": None, "error": None}
    page = seen.open(write(tmp_path / "report", [Row("a", details={"steps": [step]})]), "#trial=toy/0/0")
    page.locator(".block-steps summary").click()
    expect(page.locator(".block-steps .empty")).to_have_text("Its reply is the output above.")


def test_steps_unfold(trial: Page) -> None:
    step = trial.locator(".block-steps details")
    expect(step.get_by_text("A plan.")).to_be_hidden()
    step.locator("summary").click()
    expect(step.get_by_text("A plan.")).to_be_visible()


def test_warnings_say_that_an_answer_was_cut_off(trial: Page) -> None:
    assert trial.locator(".block-warnings li").all_inner_texts() == [
        "The limit of tokens cut this answer off.",
        "audio was converted",
    ]


def test_the_raw_text_has_placeholders_where_media_stand(trial: Page) -> None:
    trial.locator(".block-output").get_by_role("button", name="Raw text").click()
    expect(trial.locator(".raw")).to_contain_text("<<image1>><<audio1>><<document1>>def f(): 1")


def test_a_medium_that_is_gone_is_said(seen: Watched, tmp_path: Path) -> None:
    from tests.support.report_page_demo import demo

    index = demo(tmp_path)
    (tmp_path / "media" / "a.png").unlink()
    page = seen.open(index, RICH)
    expect(page.locator(".block-input .gone")).to_contain_text("This file cannot be shown here")
    seen.complaints.clear()


def test_without_webgl_the_view_says_so(seen: Watched, report: Path) -> None:
    seen.page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null;")
    page = seen.open(report, RICH)
    page.locator(".viewer").first.scroll_into_view_if_needed()
    expect(page.locator(".viewer").first).to_have_text("No 3D view: this browser has no WebGL 2.")


def test_punctuation_beside_media_stands_behind_them(seen: Watched, tmp_path: Path) -> None:
    folder = tmp_path / "report"
    image = medium(folder, "image", "a.png", picture(), "image/png")
    sound = medium(folder, "audio", "a.wav", tone(tmp_path / "t.wav"), "audio/wav")
    output = [text("See"), image, text(", "), image, text(" "), image, text("."), sound, text("!"), text("End")]
    page = seen.open(write(folder, [Row("a", details={"output": output})]), "#trial=toy/0/0")
    parts = page.locator(".block-output .parts")
    expect(parts.locator("> .words")).to_have_text(["See", "End"])
    expect(parts.locator(".after")).to_have_text([",", ".", "!"])
    expect(parts.locator("> .strip")).to_have_count(2)
