"""On a phone, in both themes, by keyboard alone, with a screen reader, without
scripts."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.soak.support.chromium import Theme, Watched, check, settled, watched
from tests.soak.support.report_page import RICH, ROWS

pytestmark = pytest.mark.timeout(1800)

VIEWS = (
    "#results",
    "#samples",
    "#gallery",
    "#gallery&order=failures",
    RICH,
    "#trial=toy/2/0",
    "#status=failed",
)


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_a_phone(phone: Watched, report: Path, view: str) -> None:
    page = settled(phone.open(report, view))
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert check(page, "tooWide") == []


def test_on_a_phone_a_trial_fills_the_screen_and_back_leads_to_the_list(
    phone: Watched, report: Path
) -> None:
    page = phone.open(report, "#samples")
    page.get_by_text("Question 2", exact=True).tap()
    expect(page.locator("#trial-title")).to_be_visible()
    expect(page.locator(".list")).to_be_hidden()
    box = page.locator(".pane").bounding_box()
    assert box is not None and box["width"] == 360
    page.get_by_role("button", name="Back").tap()
    expect(page.locator(".list")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_text_stands_out_and_every_control_has_a_name_in_both_themes(
    browser: Browser, report: Path, theme: Theme, view: str
) -> None:
    with watched(browser, theme=theme) as seen:
        page = settled(seen.open(report, view))
        assert (check(page, "poorContrast"), check(page, "nameless")) == ([], [])
        assert seen.is_calm()


def test_the_theme_follows_the_system_until_one_is_chosen(
    seen: Watched, report: Path
) -> None:
    page = seen.open(report)
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Light theme").click()
    assert (dark != light, page.evaluate(ground)) == (True, light)
    page.reload()
    assert page.evaluate(ground) == light
    page.get_by_role("button", name="Dark theme").click()
    assert page.evaluate(ground) == dark


def test_the_keyboard_alone_goes_everywhere(samples: Page) -> None:
    title, press = samples.locator("#trial-title"), samples.keyboard.press
    order = samples.get_by_role("button", name="Failures first")
    expect(order).to_have_attribute("aria-pressed", "true")
    press("f")
    expect(order).to_have_attribute("aria-pressed", "false")
    expect(title).to_have_text("Show everything")
    for keys, shown in (
        ("j", "Question 1"),
        ("ArrowDown", "Question 2"),
        ("k", "Question 1"),
    ):
        press(keys)
        expect(title).to_have_text(shown)
    press("/")
    expect(samples.locator("#search")).to_be_focused()
    samples.keyboard.type("word9x")
    expect(samples.locator("#count")).to_have_text(f"1 of {ROWS} trials")
    press("Escape")
    press("Escape")
    expect(title).to_have_text("Question 9")
    press("Escape")
    expect(samples.locator("#count")).to_have_text(f"{ROWS} of {ROWS} trials")


def test_tab_reaches_controls_list_and_rows_and_shows_where_it_is(
    samples: Page,
) -> None:
    reached = {}
    focused = (
        "(({id, className, tagName}) => id || className || "
        "tagName)(document.activeElement)"
    )
    for _ in range(24):
        samples.keyboard.press("Tab")
        reached[samples.evaluate(focused)] = samples.evaluate(
            "getComputedStyle(document.activeElement).outlineStyle"
        )
    assert "none" not in reached.values(), reached
    assert {
        "to-results",
        "theme",
        "help",
        "search",
        "failures-first",
        "to-gallery",
        "lowest-scores",
        "highest-scores",
        "list",
        "A",
    } <= reached.keys()


def test_without_scripts_the_numbers_are_readable(
    browser: Browser, report: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    expect(page.locator("#view-results")).to_contain_text("0.512")
    expect(page.locator("#no-scripts")).to_be_visible()
    expect(page.locator("svg.gauge:visible")).to_have_count(1)
    page.locator("summary").filter(has_text="Charts").click()
    expect(page.locator("svg.chart:visible")).to_have_count(1)
    context.close()
