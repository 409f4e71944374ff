"""Many trials: the document stays small, whatever is in the list."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.chromium import Watched
from tests.support.report_folder import Row, write

COUNT = 20_000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [Row(f"s{n}", f"Question {n}", scores={"accuracy": n / COUNT}, text=f"text {n}.") for n in range(COUNT)]
    return write(tmp_path_factory.mktemp("many") / "report", rows)


@pytest.mark.slow
def test_few_rows_are_in_the_document_wherever_the_list_stands(seen: Watched, many: Path) -> None:
    page = seen.open(many, "#samples")
    box = page.locator(".list")
    for share in (0, 0.25, 0.5, 1):
        box.evaluate("(box, share) => { box.scrollTop = share * box.scrollHeight; }", share)
        page.wait_for_timeout(100)
        assert 5 < page.locator(".row").count() < 60
    expect(page.locator(".row").last).to_contain_text(f"Question {COUNT - 1}")


@pytest.mark.slow
def test_a_search_through_many_texts_says_how_far_it_is_and_ends(seen: Watched, many: Path) -> None:
    page = seen.open(many, "#samples")
    page.get_by_label("Search in texts").fill("text 1234.")
    expect(page.locator("#count")).to_have_text("1 of 20,000 trials")
    expect(page.locator("progress")).to_have_count(0)


@pytest.mark.slow
def test_a_deep_link_into_many_brings_its_row_into_sight(seen: Watched, many: Path) -> None:
    page = seen.open(many, "#trial=toy/15000/0")
    expect(page.locator('.row a[aria-current="true"]')).to_be_in_viewport()
    expect(page.locator(".place")).to_have_text("15,001 of 20,000")
