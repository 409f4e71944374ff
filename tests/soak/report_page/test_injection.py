"""Whatever a model, a judge or a data set writes is shown as text: a real run, its
report, a real browser."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from mmeval.report.page import write_report
from tests.soak.support.chromium import Watched, check, settled, watched
from tests.soak.support.hostile.report_run import (
    FAILING,
    INJECTIONS,
    hostile_run,
    registered,
)

pytestmark = pytest.mark.timeout(1800)

PLACES = ("input", "reference", "output", "warnings", "metadata")
ENDLESS = [
    at for at, text in enumerate(INJECTIONS) if len(text) > 250 or "zero" in text
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    with (
        pytest.MonkeyPatch.context() as patch,
        registered(folder / "site", patch),
        ThreadPoolExecutor(1) as thread,
    ):
        run = thread.submit(
            hostile_run, folder
        ).result()  # this thread is that of Playwright's event loop
    return write_report([run], run / "report").page


def unfolded(page: Page) -> Page:
    """A trial that is shown whole, in which no element or attribute is foreign to the
    page."""
    expect(page.locator(".block-output")).to_be_visible()
    expect(page.locator(".loading")).to_have_count(0)
    check(page, "unfold")
    assert check(page, "foreign") == []
    return page


def test_no_string_in_any_field_of_any_trial_becomes_anything_but_text(
    seen: Watched, hostile: Path
) -> None:
    assert len(INJECTIONS) == len(set(INJECTIONS)) > 95
    page = seen.open(hostile)
    expect(page.locator("#view-results")).to_contain_text("<script>")
    assert check(page, "foreign") == []
    page = seen.open(hostile, "#samples")
    page.locator(".more-filters summary").click()
    shown = 0
    for number, text in enumerate(INJECTIONS):
        if number:
            page.keyboard.press("j")
        expect(page.locator(".place")).to_have_text(
            f"{number + 1} of {len(INJECTIONS) + 1}"
        )
        unfolded(page)
        shown += (
            page.locator(".failure, .block-output .words, .block-output .raw").count()
            > 0
        )
        assert seen.is_calm(), text
    assert shown == len(INJECTIONS)


def test_no_string_of_a_tile_becomes_anything_but_text(
    seen: Watched, hostile: Path
) -> None:
    page = settled(seen.open(hostile, "#gallery"))
    rows = page.locator(".gallery").get_by_role("row")
    lines = int(page.get_by_role("grid").get_attribute("aria-rowcount") or 0)
    assert lines > 10
    for line in range(0, lines, 3):
        page.locator(".gallery").evaluate(
            "(box, line) => { box.scrollTop = line * 248; }", line
        )
        expect(settled(page).locator(f'[aria-rowindex="{line + 1}"]')).to_be_visible()
        assert check(page, "foreign") == []
        assert rows.count() < 20
    assert seen.is_calm()


def test_the_strings_are_all_there(seen: Watched, hostile: Path) -> None:
    page = seen.open(hostile, "#trial=hostile/0/0")
    for place in (*(f".block-{name}" for name in PLACES), ".evidence", ".verdicts"):
        expect(page.locator(place).first).to_contain_text(INJECTIONS[0])
    page = seen.open(hostile, f"#trial=hostile/{FAILING + 3}/0")
    expect(page.locator(".block-output .failure")).to_contain_text(
        INJECTIONS[FAILING + 3]
    )


@pytest.mark.parametrize("number", ENDLESS)
def test_endless_words_break_on_a_phone(
    phone: Watched, hostile: Path, number: int
) -> None:
    page = unfolded(phone.open(hostile, f"#trial=hostile/{number}/0"))
    assert (
        page.evaluate("document.documentElement.scrollWidth"),
        check(page, "tooWide"),
    ) == (360, [])


def test_a_hash_is_text_as_well(seen: Watched, hostile: Path) -> None:
    trial = "%3Cimg%20src=x%20onerror=window.__pwned.push(1)%3E/0/0"
    more = "text=%3Cscript%3E&label.__proto__=x&score=constructor:0:1&task=%E0%A4%A"
    page = seen.open(hostile, f"#trial={trial}&{more}")
    expect(page.locator(".hint")).to_contain_text("no such trial")
    assert check(page, "foreign") == []


ELSEWHERE = (
    "javascript:window.__pwned.push(1)",
    "data:image/png;base64,AAAA",
    "//evil.invalid/x.png",
    "https://evil.invalid/x.png",
    "\\\\evil.invalid\\x.png",
    "/\\evil.invalid/x.png",
    " https://evil.invalid/x.png",
    "file://evil.invalid/x.png",
    "file:////evil.invalid/x.png",
    "\thttps://evil.invalid/",
    "ht\ntps://evil.invalid/x.png",
    "blob:null/1",
    "http:x.png",
    "filesystem:file:///x",
)


def test_a_medium_never_comes_from_elsewhere(seen: Watched, report: Path) -> None:
    tried = (
        "const image = document.createElement('img'); return [mmeval.dom.show(image, "
        "address), image.src];"
    )
    page = seen.open(report)
    assert [page.evaluate(f"(address) => {{ {tried} }}", one) for one in ELSEWHERE] == [
        [False, ""]
    ] * len(ELSEWHERE)


ATTEMPTS = (
    "document.body.innerHTML = '<b>x</b>'",
    "document.body.insertAdjacentHTML('beforeend', 'x')",
    "document.write('x')",
    "document.createElement('script').src = 'data/x.js'",
    "trustedTypes.createPolicy('other', {})",
    "eval('1')",
    "new Function('1')()",
    "mmeval.dom.el('a', {href: 'javascript:1'})",
    "mmeval.dom.el('img', {src: 'x'})",
    "mmeval.dom.el('p', {onclick: '1'})",
    "mmeval.dom.el('p', {style: 'color: red'})",
)


def test_the_page_itself_could_not_write_markup(seen: Watched, report: Path) -> None:
    page = seen.open(report)
    for attempt in ATTEMPTS:
        tried = (
            f"() => {{ try {{ {attempt}; return 'done'; }} catch (error) {{ return "
            f"error.name; }} }}"
        )
        outcome = page.evaluate(
            f"new Promise((done) => setTimeout(() => done(({tried})()), 0))"
        )
        assert outcome in ("TypeError", "EvalError", "Error"), attempt
    seen.complaints.clear()


def test_the_policy_stops_what_would_be_fetched_or_run(
    browser: Browser, report: Path
) -> None:
    with watched(browser) as seen:
        page = seen.open(report)
        ends: list[str | None] = []
        page.on("requestfinished", lambda request: ends.append("finished"))
        page.on("requestfailed", lambda request: ends.append(request.failure))
        page.evaluate("""() => {
            for (const tag of ["img", "iframe"]) {
                const node = document.createElement(tag);
                node.src = "https://evil.invalid/x";
                document.body.append(node);
            }
            document.body.setAttribute("style", "color: red");
            return fetch("https://evil.invalid/").catch(() => {});
        }""")
        while sum("Content Security Policy" in text for text in seen.complaints) < 3:
            # these come as events, while the page is waited for
            page.wait_for_timeout(50)
        assert set(ends) <= {"csp"}, (
            "asked for, and stopped by the policy before anything left"
        )
