"""The gallery: what a tile shows, its order and filters, several runs beside each other,
the keyboard, and ten thousand answers."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from mmeval.comparison.compare import compare
from mmeval.comparison.page import write_comparison
from tests.soak.report_page.test_runs import RUNS, TASKS
from tests.soak.support.chromium import Watched, settled
from tests.soak.support.report_page import ROWS, Row, cube, medium, text, write
from tests.support import stored_runs
from tests.support.tiny_media import clip, picture, wav

pytestmark = pytest.mark.timeout(1800)

MANY = 10_000
SIZES = [(1280, 800), (390, 844)]


def tiles(page: Page) -> Locator:
    return page.locator("a.tile")


def scores(page: Page) -> list[str]:
    return page.locator(".tile-head > :first-child").all_inner_texts()


@pytest.fixture
def gallery(seen: Watched, report: Path) -> Page:
    return settled(seen.open(report, "#gallery"))


# what a tile shows


@pytest.fixture
def kinds(seen: Watched, tmp_path: Path) -> Page:
    """A gallery with an answer of each kind."""
    folder = tmp_path / "report"
    image = medium(folder, "image", "a.png", picture(size=(64, 32)), "image/png")
    film = medium(folder, "video", "a.webm", clip("webm", "libvpx"), "video/webm")
    page = {**image, "kind": "document", "src": "", "pages": [image["src"]]}
    answers = {
        "text": text("words\nand words"),
        "code": {"kind": "code", "text": "def f(): 1"},
        "image": image,
        "audio": {
            **medium(folder, "audio", "a.wav", wav(), "audio/wav"),
            "peaks": "0909",
        },
        "video": film,
        "document": page,
        "3d": cube(folder),
    }
    rows = []
    for kind, part in answers.items():
        rows.append(Row(kind, kind, kinds=kind, details={"output": [part]}))
    return settled(seen.open(write(folder, rows), "#gallery"))


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("text", ".tile-text"),
        ("code", ".tile-code"),
        ("image", "img"),
        ("audio", ".waveform"),
        ("video", "video"),
        ("document", "img"),
        ("3d", ".tile-mark .icon"),
    ],
)
def test_a_tile_shows_its_answer_by_its_kind(
    kind: str, place: str, kinds: Page
) -> None:
    tile = tiles(kinds).filter(has=kinds.locator(f'.tile-title[title="{kind}"]'))
    expect(tile.locator(place)).to_be_visible()
    expect(tile.locator(".icons").get_by_role("img")).to_have_count(1)


def test_a_film_stands_still_at_its_first_frame_and_has_no_controls(
    kinds: Page,
) -> None:
    film = kinds.locator(".tile video")
    kinds.wait_for_function("film => film.readyState > 0", arg=film.element_handle())
    facts = "film => [film.muted, film.paused, film.currentTime, film.controls]"
    assert film.evaluate(facts) == [True, True, 0, False]


def test_a_film_that_left_the_screen_is_released(kinds: Page) -> None:
    film = kinds.locator(".tile video").element_handle()
    kinds.get_by_label("Search in texts").fill("3d")
    expect(tiles(kinds)).to_have_count(1)
    assert film.evaluate("film => film.getAttribute('src')") is None


def test_an_answer_without_its_file_has_an_icon_and_its_name(
    seen: Watched, tmp_path: Path
) -> None:
    lost = {"kind": "image", "label": "image1", "sha256": "ab", "src": "../gone.png"}
    index = write(tmp_path / "report", [Row("a", details={"output": [lost]})])
    page = seen.open(index, "#gallery")
    expect(page.locator(".tile-mark")).to_have_text("pictureimage1")
    assert "ERR_FILE_NOT_FOUND" in seen.complaints.pop()


def test_a_file_of_tiles_that_is_gone_is_named(seen: Watched, tmp_path: Path) -> None:
    index = write(tmp_path / "report", [Row("a")])
    (index.parent / "data" / "tiles-0000.js").unlink()
    page = seen.open(index, "#gallery")
    expect(page.locator(".tile-error")).to_contain_text("data/tiles-0000.js")
    assert "ERR_FILE_NOT_FOUND" in seen.complaints.pop()


# order and filters


def test_the_worst_answers_come_first_and_those_without_a_score_last(
    gallery: Page,
) -> None:
    assert scores(gallery)[:3] == ["0.05", "0.1", "0.15"]
    gallery.locator(".gallery").evaluate("box => { box.scrollTop = 1e6; }")
    assert "0.05" not in scores(settled(gallery))


def test_the_best_answers_come_first_on_demand_and_the_address_has_it(
    gallery: Page,
) -> None:
    gallery.get_by_role("button", name="Best first").click()
    assert scores(gallery)[0] == "0.55"
    gallery.wait_for_url("**#gallery&order=highest")


def test_filters_and_search_are_those_of_the_list(seen: Watched, report: Path) -> None:
    page = seen.open(report, "#gallery&status=failed&label.field=music")
    expect(page.locator("#count")).to_have_text(f"4 of {ROWS} trials")
    expect(tiles(page)).to_have_count(4)
    page.locator("#to-samples").click()
    expect(page.locator(".row")).to_have_count(4)
    assert page.url.endswith("#status=failed&label.field=music")
    page.keyboard.press("g")
    page.get_by_label("Search in texts").fill("word2x")
    expect(tiles(page)).to_have_count(1)


# several runs


def several(folder: Path) -> Path:
    """Three runs, of which the last one lacks the second sample."""
    rows = [
        Row(
            f"s{at}",
            f"Question {at}",
            scores={"right": (run + at) / 10},
            details={"output": [text(f"answer {run}.{at}")]},
            task=run,
            index=at,
        )
        for run in range(3)
        for at in range(3)
        if (run, at) != (2, 1)
    ]
    return write(folder / "report", rows, runs=RUNS, tasks=TASKS)


def test_of_several_runs_each_sample_is_a_row_and_each_run_a_column(
    seen: Watched, tmp_path: Path
) -> None:
    page = settled(seen.open(several(tmp_path), "#gallery"))
    expect(page.get_by_role("columnheader")).to_have_text(
        ["model_0", "model_1", "model_2"]
    )
    expect(page.get_by_role("rowheader")).to_have_text(
        ["Question 0", "Question 1", "Question 2"]
    )
    second = page.locator('[aria-rowindex="2"] .tile-cell')
    expect(second).to_have_text(
        [
            "0.1 right" + "textanswer 0.1",
            "0.2 right" + "textanswer 1.1",
            "No answer of this run.",
        ]
    )


def test_one_run_of_several_is_a_grid(seen: Watched, tmp_path: Path) -> None:
    page = settled(seen.open(several(tmp_path), "#gallery&run=1"))
    expect(tiles(page)).to_have_count(3)
    expect(page.get_by_role("columnheader")).to_have_count(0)


def test_a_comparison_has_the_answers_of_its_runs_in_columns(
    seen: Watched, tmp_path: Path
) -> None:
    runs = []
    for name, value in (("a", 0.0), ("b", 1.0)):
        told = stored_runs.WrittenTrial(
            [stored_runs.text("Question")],
            [stored_runs.text(f"answer of {name}")],
            {"right": {"value": value, "status": "scored"}},
        )
        folder = tmp_path / name
        runs.append(stored_runs.write_run(folder, [told], results={}, model=name))
    index = write_comparison(compare(*runs), tmp_path / "page").page
    page = settled(seen.open(index, "#gallery"))
    expect(page.get_by_role("columnheader")).to_have_text(["a", "b"])
    expect(page.locator(".tile-text")).to_have_text(["answer of a", "answer of b"])


# opening, and the keyboard


def test_a_click_opens_the_trial_and_escape_leads_back_to_its_tile(
    gallery: Page,
) -> None:
    tiles(gallery).nth(1).click()
    expect(gallery.locator("#trial-title")).to_have_text("Question 10")
    expect(gallery.locator(".gallery")).to_be_hidden()
    gallery.keyboard.press("Escape")
    expect(gallery.locator(".gallery")).to_be_visible()
    expect(tiles(gallery).nth(1)).to_be_focused()


def test_escape_from_a_link_to_a_trial_leads_to_its_tile(
    seen: Watched, report: Path
) -> None:
    page = seen.open(report, "#gallery&trial=toy_hard/35/0")
    expect(page.locator("#trial-title")).to_have_text("Question 35")
    page.keyboard.press("Escape")
    expect(page.locator("a.tile:focus")).to_contain_text("Question 35")


def test_arrows_go_through_the_tiles_and_enter_opens_one(gallery: Page) -> None:
    columns = gallery.locator('[aria-rowindex="1"] a.tile').count()
    press = gallery.keyboard.press
    for key, place in (
        ("ArrowRight", 0),
        ("ArrowRight", 1),
        ("ArrowDown", columns + 1),
        ("ArrowLeft", columns),
        ("ArrowUp", 0),
        ("j", 1),
        ("k", 0),
    ):
        press(key)
        expect(tiles(gallery).nth(place)).to_be_focused()
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert gallery.evaluate(outline) != "none"
    press("Enter")
    expect(gallery.locator("#trial-title")).to_have_text("Question 5")
    press("j")
    expect(gallery.locator("#trial-title")).to_have_text("Question 10")


def test_arrows_go_through_columns_and_pass_what_is_not_there(
    seen: Watched, tmp_path: Path
) -> None:
    page = settled(seen.open(several(tmp_path), "#gallery"))
    for key, words in (
        ("ArrowDown", "answer 0.0"),
        ("ArrowDown", "answer 0.1"),
        ("ArrowRight", "answer 1.1"),
        ("ArrowRight", "answer 0.2"),
        ("ArrowUp", "answer 0.1"),
    ):
        page.keyboard.press(key)
        expect(page.locator("a.tile:focus")).to_contain_text(words)


def test_the_help_lists_the_keys_of_the_gallery(gallery: Page) -> None:
    gallery.keyboard.press("?")
    expect(gallery.get_by_role("dialog")).to_contain_text("in the gallery")


# ten thousand answers


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Answers with a picture each, of a few different ones."""
    folder = tmp_path_factory.mktemp("many") / "report"
    pictures = []
    for number in range(40):
        drawn = picture(size=(512, 384), colour=(6 * number, 90, 200 - 4 * number))
        pictures.append(medium(folder, "image", f"{number}.png", drawn, "image/png"))
    rows = [
        Row(
            f"s{number}",
            f"Question {number}",
            scores={"accuracy": (number * 7919 % MANY) / MANY},
            details={"output": [text(f"answer {number}"), pictures[number % 40]]},
            kinds="text+image",
        )
        for number in range(MANY)
    ]
    return write(folder, rows)


@pytest.mark.parametrize(("width", "height"), SIZES, ids=["desk", "phone"])
def test_few_of_many_tiles_are_in_the_document_wherever_the_gallery_stands(
    width: int, height: int, seen: Watched, many: Path
) -> None:
    seen.page.set_viewport_size({"width": width, "height": height})
    page = settled(seen.open(many, "#gallery"))
    for share in (0, 0.3, 1):
        page.locator(".gallery").evaluate(
            "(box, share) => { box.scrollTop = share * box.scrollHeight; }", share
        )
        assert 5 < tiles(settled(page)).count() < 60
    assert page.evaluate("document.documentElement.scrollWidth") == width
    expect(tiles(page).last).to_contain_text(str((MANY - 1) / MANY))


def test_of_many_tiles_only_those_in_sight_are_read(seen: Watched, many: Path) -> None:
    read: list[str] = []
    seen.page.on(
        "request", lambda request: read.append(request.url.rpartition("/data/")[2])
    )
    page = settled(seen.open(many, "#gallery&order=data"))
    expect(page.locator(".tile img").first).to_be_visible()
    scripts = [name for name in read if name.startswith(("tiles", "details", "text"))]
    assert scripts == ["tiles-0000.js"]
