"""The page of real runs, as the command leaves it: the demo of the README, and a model that fails at most of it."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.chromium import Watched
from tests.support.cli import mmeval_process

pytestmark = pytest.mark.timeout(1800)

# In a process of its own, as the event loop of Chromium's driver runs in this one.
mmeval = mmeval_process


def page_of(folder: Path, *model: str) -> Path:
    """The page that a run of two bundled tasks has written at its end."""
    tasks = ("--tasks", "unim_hard,mmmg_audio_text_order", "--data", "bundled", "--output_path", folder)
    mmeval(*tasks, *model, timeout=600)
    return next(folder.glob("*/default/report/index.html"))


@pytest.fixture(scope="module")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_of(tmp_path_factory.mktemp("demo_run"), "--model", "reference")


@pytest.fixture(scope="module")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    return page_of(tmp_path_factory.mktemp("tiny_run"), "--model", "hf", "--model_args", "pretrained=tiny")


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


def test_what_a_model_cannot_be_asked_is_found_with_its_reason(seen: Watched, tiny_run: Path) -> None:
    page = seen.open(tiny_run, "#samples")
    page.get_by_role("button", name="unsupported").click()
    page.keyboard.press("j")
    expect(page.locator("#count")).to_have_text("29 of 32 trials")
    expect(page.locator(".block-output .failure")).to_contain_text("takes no")


def test_several_runs_stand_on_one_page(seen: Watched, demo_run: Path, tiny_run: Path, tmp_path: Path) -> None:
    mmeval("report", demo_run.parents[1], tiny_run.parents[1], "--output_path", tmp_path / "both")
    page = seen.open(tmp_path / "both" / "index.html", "#run=1&trial=unim_hard/0/0")
    expect(page.locator(".trial-head .facts")).to_contain_text("tiny / default")
    page.get_by_role("link", name="reference", exact=True).click()
    expect(page.locator(".trial-head .facts")).to_contain_text("reference / default")
    assert "run=0&trial=unim_hard/0/0" in page.url
