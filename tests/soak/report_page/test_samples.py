"""The list of samples: filters, the order, the count, what a row says, next and
previous, deep links and the back button, and many trials."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.soak.support.chromium import Watched, settled
from tests.soak.support.report_page import ROWS, Row, demo, write

pytestmark = pytest.mark.timeout(1800)

MANY = 20_000


def titles(page: Page) -> list[str]:
    return page.locator(".row-title").all_inner_texts()


def expect_count(page: Page, count: int) -> None:
    expect(page.locator("#count")).to_have_text(f"{count} of {ROWS} trials")


@pytest.mark.parametrize(
    ("hash_", "count", "first"),
    [
        ("#status=failed", 12, "Question 2"),
        ("#status=failed,unscored", 24, "Question 2"),
        ("#task=toy_hard", 30, "Question 7"),
        ("#label.field=law&order=data", 20, "Question 1"),
        ("#kinds=image", 14, "Question 12"),
        ("#score=accuracy:0.3:0.4", 3, "Question 30"),
        ("#score=accuracy::0.1", 2, "Question 5"),
        ("#text=word17X", 1, "Question 17"),
        ("#task=toy&status=failed&label.field=music", 2, "Question 2"),
        ("#status=failed&text=nowhere", 0, ""),
    ],
    ids=[
        "one",
        "two",
        "task",
        "label",
        "kinds",
        "from and to",
        "up to",
        "text",
        "three filters",
        "none left",
    ],
)
def test_filters_of_a_link_leave_what_matches(
    seen: Watched, report: Path, hash_: str, count: int, first: str
) -> None:
    page = seen.open(report, hash_)
    expect_count(page, count)
    assert titles(page)[:1] == ([first] if first else [])


def test_failures_come_first_until_another_order_is_wanted(samples: Page) -> None:
    scores = samples.locator(".row-score")
    assert scores.all_inner_texts()[:12] == ["failed"] * 12
    samples.get_by_role("button", name="Failures first").click()
    assert titles(samples)[:2] == ["Show everything", "Question 1"]


@pytest.mark.parametrize(
    ("name", "first"), [("Worst first", "0.05"), ("Best first", "0.55")]
)
def test_scores_order_trials_from_the_worst_or_the_best_one_and_the_rest_comes_last(
    name: str, first: str, samples: Page
) -> None:
    order = samples.get_by_role("button", name=name)
    order.click()
    scores = samples.locator(".row-score").all_inner_texts()
    assert scores[0] == first
    ends = sorted(scores[:12], reverse=name == "Best first")
    assert scores[:12] == ends
    assert scores[12] not in ends
    expect_count(samples, ROWS)
    order.click()
    expect(samples.locator(".row-score").first).to_have_text("failed")


def test_a_row_has_the_kinds_of_its_answer_the_metric_and_a_graded_score(
    seen: Watched, tmp_path: Path
) -> None:
    rows = [
        Row("good", scores={"accuracy": 0.9}, kinds="text+image"),
        Row("bad", scores={"errors": 0.9}, kinds="audio"),
    ]
    index = write(tmp_path / "report", rows, lower={"errors"})
    page = seen.open(index, "#samples")
    good, bad = page.locator(".row").all()
    expect(good.get_by_role("img")).to_have_count(2)
    expect(good.get_by_role("img", name="picture")).to_be_visible()
    expect(good.locator(".row-metric")).to_have_text("accuracy")
    expect(good.locator(".grade-4")).to_have_text("0.9")
    expect(bad.get_by_role("img", name="sound")).to_be_visible()
    expect(bad.locator(".grade-0")).to_have_attribute(
        "title", "errors, from 0 to 1, lower is better"
    )


def test_the_first_trial_that_matches_is_shown_beside_the_list(samples: Page) -> None:
    title = samples.locator("#trial-title")
    expect(title).to_have_text("Question 2")
    expect(samples.locator('.row a[aria-current="true"]')).to_have_count(1)
    samples.get_by_role("button", name="Best first").click()
    expect(title).to_have_text("Question 55")
    expect(samples.locator(".place")).to_have_text(f"1 of {ROWS}")


def test_on_a_phone_the_list_comes_first(phone: Watched, report: Path) -> None:
    page = phone.open(report, "#samples")
    expect(page.locator(".list")).to_be_visible()
    expect(page.locator("#trial-title")).to_have_count(0)


def test_without_failures_the_order_is_that_of_the_data(
    seen: Watched, tmp_path: Path
) -> None:
    rows = [
        Row(f"s{at}", f"Question {at}", scores={"accuracy": 1 - at / 4})
        for at in range(3)
    ]
    assert titles(seen.open(write(tmp_path / "report", rows), "#samples")) == [
        f"Question {at}" for at in range(3)
    ]


def test_selects_and_ranges_filter_and_the_address_has_them(samples: Page) -> None:
    samples.get_by_text("More filters").click()
    samples.get_by_label("field").select_option(label="music")
    samples.get_by_label("Score", exact=True).select_option(label="accuracy")
    samples.get_by_label("lowest score").fill("0.3")
    samples.get_by_label("lowest score").press("Enter")
    expect_count(samples, 2)
    assert (
        "label.field=music" in samples.url
        and "score=accuracy:0.3:" in samples.url.replace("%3A", ":")
    )
    samples.get_by_role("button", name="Clear filters").click()
    expect_count(samples, ROWS)


def test_next_and_previous_go_through_what_matches(seen: Watched, report: Path) -> None:
    page = seen.open(report, "#status=failed&trial=toy/2/0")
    for button, title in (
        ("Next", "Question 7"),
        ("Next", "Question 12"),
        ("Previous", "Question 7"),
    ):
        page.get_by_role("button", name=button).click()
        expect(page.locator("#trial-title")).to_have_text(title)
    expect(page.locator('.row a[aria-current="true"] .row-title')).to_have_text(
        "Question 7"
    )


def test_a_deep_link_opens_its_trial(seen: Watched, report: Path) -> None:
    page = seen.open(report, "#trial=toy_hard/33/0")
    expect(page.locator("#trial-title")).to_have_text("Question 33")
    expect(page.locator(".block-output")).to_contain_text("area/33")
    expect(page.locator('.row a[aria-current="true"]')).to_be_in_viewport()


def test_a_file_that_is_gone_is_named(seen: Watched, tmp_path: Path) -> None:
    index = demo(tmp_path)
    (index.parent / "data" / "details-0000.js").unlink()
    page = seen.open(index, "#trial=toy/2/0")
    expect(page.locator(".failure")).to_contain_text("data/details-0000.js")
    assert any("ERR_FILE_NOT_FOUND" in text for text in seen.complaints)
    seen.complaints.clear()


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [
        Row(f"s{n}", f"Question {n}", scores={"accuracy": n / MANY}, text=f"text {n}.")
        for n in range(MANY)
    ]
    return write(tmp_path_factory.mktemp("many") / "report", rows)


def test_of_many_trials_only_those_around_the_open_one_are_read(
    seen: Watched, many: Path
) -> None:
    read: list[str] = []
    seen.page.on(
        "request", lambda request: read.append(request.url.rpartition("/data/")[2])
    )
    page = seen.open(many)
    expect(page.locator(".figure")).to_be_visible()
    page.locator("#to-samples").click()
    expect(page.locator(".row").first).to_be_visible()
    expect(page.locator(".block-output")).to_be_visible()
    assert [name for name in read if name.endswith(".js") and "/" not in name] == [
        "index.js",
        "details-0000.js",
    ]


def test_few_of_many_rows_are_in_the_document_wherever_the_list_stands(
    seen: Watched, many: Path
) -> None:
    page = seen.open(many, "#samples")
    for share in (0, 0.25, 0.5, 1):
        page.locator(".list").evaluate(
            "(box, share) => { box.scrollTop = share * box.scrollHeight; }", share
        )
        assert 5 < settled(page).locator(".row").count() < 60
    expect(page.locator(".row").last).to_contain_text(f"Question {MANY - 1}")


def test_a_search_through_many_texts_ends_and_a_deep_link_into_many_brings_its_row_into_sight(
    seen: Watched, many: Path
) -> None:
    page = seen.open(many, "#trial=toy/15000/0")
    expect(page.locator('.row a[aria-current="true"]')).to_be_in_viewport()
    expect(page.locator(".place")).to_have_text("15,001 of 20,000")
    page.get_by_label("Search in texts").fill("text 1234.")
    expect(page.locator("#count")).to_have_text("1 of 20,000 trials")
    expect(page.locator("progress")).to_have_count(0)
