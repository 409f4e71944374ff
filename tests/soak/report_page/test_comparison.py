"""The page of a comparison in a real browser: what differs first, answers beside each
other, and nothing that runs."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from mmeval.comparison.compare import compare
from mmeval.comparison.page import write_comparison
from tests.soak.support.chromium import Watched, check
from tests.soak.support.hostile.report_run import INJECTIONS
from tests.support.stored_runs import Json, WrittenTrial, text, write_run
from tests.support.tiny_media import picture, wav

pytestmark = pytest.mark.timeout(1800)

SCORES = {
    "won": (0.0, 0.75),
    "lost": (1.0, 0.0),
    "tied": (0.5, 0.5),
    "also won": (0.5, 1.0),
    "one-sided": (0.5, None),
}
CHIP = ".chip[data-outcome={}]"


def medium(folder: Path, kind: str, data: bytes, mime: str) -> Json:
    digest = hashlib.sha256(data).hexdigest()
    file = folder / f"{digest[:8]}.{mime.partition('/')[2]}"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    row = {
        "sha256": digest,
        "mime": mime,
        "size": len(data),
        "path": str(file),
        "name": file.name,
    }
    return {"type": kind, "media": row, "raw": f"<{kind}1>", "label": f"{kind}1"}


def told(folder: Path, side: int) -> list[WrittenTrial]:
    """Samples that came out in each way; each answer has a picture and a sound of its
    own."""
    image = medium(
        folder / "made",
        "image",
        picture(size=(64, 32), colour=(200, 80 * side, 40)),
        "image/png",
    )
    sound = medium(folder / "made", "audio", wav(8_000 + side), "audio/wav")
    found = []
    for at, (name, values) in enumerate(SCORES.items()):
        value = values[side]
        score: Json = {
            "value": value,
            "status": "scored" if value is not None else "unscored",
            "reason": f"why {side}",
        }
        answer = [text(f"answer {side} to {name}"), image, sound]
        found.append(
            WrittenTrial(
                [text(f"Question {at}")],
                answer,
                {"right": score},
                name,
                [[text(f"reference {at}")]],
            )
        )
    return found


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared")
    runs = [
        write_run(folder / name, told(folder, side), results={}, model=name)
        for side, name in enumerate("ab")
    ]
    return write_comparison(compare(*runs), folder / "page").page


def listed(page: Page) -> list[str]:
    """The samples of the list, in its order."""
    found: list[str] = page.locator(".row-facts").evaluate_all(
        "all => all.map(row => row.textContent.split(' · ')[2])"
    )
    return found


def test_the_largest_differences_come_first_and_ties_last(
    seen: Watched, comparison: Path
) -> None:
    page = seen.open(comparison, "#samples")
    expect(page.locator("#count")).to_have_text("5 of 5 trials")
    assert listed(page) == ["lost", "won", "also won", "one-sided", "tied"]
    expect(page.locator(".row-facts").first).to_contain_text("lost −1")


def test_the_table_of_differences_is_on_the_page_without_scripts(
    comparison: Path,
) -> None:
    html = comparison.read_text()
    assert "b against a: too few samples in told, right." in html
    assert "not_seen" not in html


@pytest.mark.parametrize(
    ("width", "height"), [(1280, 800), (390, 844)], ids=["desk", "phone"]
)
def test_the_differences_are_drawn_on_the_first_screen_and_nothing_is_cut_off(
    width: int, height: int, seen: Watched, comparison: Path
) -> None:
    seen.page.set_viewport_size({"width": width, "height": height})
    page = seen.open(comparison)
    box = page.locator("svg.chart:visible").first.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= height
    assert box["x"] >= 0 and box["x"] + box["width"] <= width
    wide = "all => all.filter(cell => cell.scrollWidth > cell.clientWidth).length"
    assert page.locator(".pivot :is(th, td)").evaluate_all(wide) == 0
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize(
    ("outcome", "samples"),
    [
        ("won", ["won", "also won"]),
        ("lost", ["lost"]),
        ("tied", ["tied"]),
        ("one-sided", ["one-sided"]),
    ],
)
def test_a_filter_leaves_what_came_out_so_and_its_address_is_a_link(
    outcome: str, samples: list[str], seen: Watched, comparison: Path
) -> None:
    page = seen.open(comparison, "#samples")
    page.locator(CHIP.format(outcome)).click()
    expect(page.locator(".row")).to_have_count(len(samples))
    assert listed(page) == samples
    link = page.evaluate("location.hash")
    again = seen.open(comparison, link)
    expect(again.locator(CHIP.format(outcome))).to_have_attribute(
        "aria-pressed", "true"
    )
    assert listed(again) == samples
    again.locator(CHIP.format(outcome)).click()
    expect(again.locator(".row")).to_have_count(5)


def test_keys_go_through_the_differences(seen: Watched, comparison: Path) -> None:
    page = seen.open(comparison, "#samples")
    titles: list[str] = []
    for number in range(3):
        if number:
            page.keyboard.press("j")
        expect(page.locator(".block-output")).to_be_visible()
        expect(page.locator(".place")).to_have_text(f"{len(titles) + 1} of 5")
        titles.append(page.locator(".trial-head .facts bdi").nth(2).inner_text())
    assert titles == ["lost", "won", "also won"]
    page.keyboard.press("k")
    expect(page.locator(".place")).to_have_text("2 of 5")


def test_both_answers_stand_beside_each_other_with_media_references_scores_and_reasons(
    seen: Watched, comparison: Path
) -> None:
    page = seen.open(comparison, "#run=1&trial=told/0/0")
    expect(page.locator(".block-output")).to_contain_text("answer 1 to won")
    expect(page.locator(".block-other")).to_contain_text("answer 0 to won")
    expect(page.locator(".block-reference")).to_contain_text("reference 0")
    sources = set()
    for kind, ready in (
        ("img", "one => one.naturalWidth"),
        ("audio", "one => one.src.length"),
    ):
        for box in (".block-output", ".block-other"):
            found = page.locator(f"{box} {kind}")
            expect(found).to_have_count(1)
            page.wait_for_function(
                f"() => ({ready})(document.querySelector('{box} {kind}')) > 0"
            )
            sources.add(found.evaluate("one => one.src"))
    assert len(sources) == 4
    expect(page.locator(".block-scores")).to_contain_text(["why 1", "why 0"])
    tops = page.locator(
        ".answers > .block-output, .answers > .block-other"
    ).evaluate_all("all => all.map(box => box.getBoundingClientRect().top)")
    assert len(set(tops)) == 1


def test_a_deep_link_opens_a_sample_and_back_leads_to_the_list(
    seen: Watched, comparison: Path
) -> None:
    page = seen.open(comparison, "#run=1&trial=told/1/0")
    expect(page.locator(".trial-head .facts")).to_contain_text("lost −1")
    page.keyboard.press("Escape")
    expect(page.locator(".place")).to_have_text("1 of 5")
    expect(page.locator(".row")).to_have_count(5)


def test_no_string_of_two_hostile_runs_becomes_anything_but_text(
    seen: Watched, tmp_path: Path
) -> None:
    def hostile(side: int) -> list[WrittenTrial]:
        return [
            WrittenTrial(
                [text(words)],
                [text(words)],
                {"right": {"value": float(side), "status": "scored", "reason": words}},
                sample=f"{at} {words}",
                references=[[text(words)]],
                metadata={"level": words},
                labels={"level": words},
            )
            for at, words in enumerate(INJECTIONS)
        ]

    runs = [
        write_run(
            tmp_path / f"{side}", hostile(side), results={}, model=INJECTIONS[side]
        )
        for side in range(2)
    ]
    index = write_comparison(compare(*runs, by="level"), tmp_path / "page").page
    page = seen.open(index)
    assert check(page, "foreign") == []
    page = seen.open(
        index, "#outcome=%3Cscript%3E&order=difference&run=1&trial=told/0/0"
    )
    assert check(page, "foreign") == []
    page = seen.open(index, "#samples")
    for number, words in enumerate(INJECTIONS):
        if number:
            page.keyboard.press("j")
        expect(page.locator(".place")).to_have_text(
            f"{number + 1} of {len(INJECTIONS)}"
        )
        expect(page.locator(".block-output")).to_be_visible()
        expect(page.locator(".loading")).to_have_count(0)
        check(page, "unfold")
        assert check(page, "foreign") == []
        assert seen.is_calm(), words


def test_what_one_run_was_not_asked_stands_with_the_other(
    seen: Watched, tmp_path: Path
) -> None:
    trials = [told(tmp_path, side) for side in range(2)]
    runs = [
        write_run(tmp_path / "a", trials[0], results={}, model="a"),
        write_run(
            tmp_path / "b",
            [*trials[1][:3], replace(trials[1][3], sample="new")],
            results={},
            model="b",
        ),
    ]
    page = seen.open(
        write_comparison(compare(*runs), tmp_path / "page").page, "#outcome=one-sided"
    )
    expect(page.locator(".row")).to_have_count(3)
    assert sorted(listed(page)) == ["also won", "new", "one-sided"]
