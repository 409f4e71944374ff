"""Whatever a model, a judge or a data set writes is shown as text: a real run, its report, a real browser."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from mmeval.report.page import write_report
from tests.support.chromium import Watched, check, watched
from tests.support.hostile_run import FAILING, hostile_run, registered
from tests.support.injections import INJECTIONS


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch, registered(folder / "site", patch), ThreadPoolExecutor(1) as thread:
        run = thread.submit(hostile_run, folder).result()  # this thread is that of Playwright's event loop
    return write_report([run], run / "report").page


def nothing_foreign(page: Page) -> bool:
    """Whether the document has no elements and attributes but those of the page itself."""
    assert check(page, "foreign") == []
    return True


def test_the_corpus_is_large() -> None:
    assert len(INJECTIONS) == len(set(INJECTIONS)) > 110


def test_the_summary_shows_names_as_text(seen: Watched, hostile: Path) -> None:
    page = seen.open(hostile)
    expect(page.locator("#view-results")).to_contain_text("<script>")
    assert nothing_foreign(page)


@pytest.mark.slow
def test_no_string_in_any_field_of_any_trial_becomes_anything_but_text(seen: Watched, hostile: Path) -> None:
    page = seen.open(hostile, "#samples")
    page.locator(".more-filters summary").click()
    shown = 0
    for number, text in enumerate(INJECTIONS):
        page.keyboard.press("j")
        expect(page.locator(".place")).to_have_text(f"{number + 1} of {len(INJECTIONS) + 1}")
        expect(page.locator(".loading")).to_have_count(0)
        check(page, "unfold")
        assert nothing_foreign(page), text
        shown += page.locator(".failure, .block-output .words, .block-output .raw").count() > 0
        assert seen.is_calm(), text
    assert shown == len(INJECTIONS)


def test_what_the_strings_say_is_all_there(seen: Watched, hostile: Path) -> None:
    page = seen.open(hostile, "#trial=hostile/0/0")
    for place in (
        ".block-input",
        ".block-reference",
        ".block-output",
        ".block-warnings",
        ".evidence",
        ".verdicts",
        ".block-metadata",
    ):
        expect(page.locator(place).first).to_contain_text(INJECTIONS[0])


def test_the_message_of_an_error_is_text(seen: Watched, hostile: Path) -> None:
    page = seen.open(hostile, f"#trial=hostile/{FAILING + 3}/0")
    expect(page.locator(".block-output .failure")).to_contain_text(INJECTIONS[FAILING + 3])


def test_what_turns_writing_round_is_marked_in_every_field(seen: Watched, hostile: Path) -> None:
    number = next(at for at, text in enumerate(INJECTIONS) if text.startswith("\u202e"))
    page = seen.open(hostile, f"#trial=hostile/{number}/0")
    expect(page.locator(".block-output")).to_be_visible()
    check(page, "unfold")
    assert "\u202e" not in page.locator("body").inner_text()
    assert page.locator(".control", has_text="U+202E").count() > 10


@pytest.mark.parametrize("number", [at for at, text in enumerate(INJECTIONS) if len(text) > 250 or "zero" in text])
def test_endless_words_break_on_a_phone(browser: Browser, hostile: Path, number: int) -> None:
    seen = watched(browser, width=360, height=740)
    page = seen.open(hostile, f"#trial=hostile/{number}/0")
    expect(page.locator(".block-output")).to_be_visible()
    check(page, "unfold")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert check(page, "tooWide") == []
    page.context.close()


def test_hostile_labels_filter_as_any_others(seen: Watched, hostile: Path) -> None:
    page = seen.open(hostile, "#samples")
    page.locator(".more-filters summary").click()
    page.get_by_label("label", exact=True).select_option(label=INJECTIONS[2])
    expect(page.locator("#count")).to_have_text(f"1 of {len(INJECTIONS) + 1} trials")


def test_a_hash_is_text_as_well(seen: Watched, hostile: Path) -> None:
    trial = "%3Cimg%20src=x%20onerror=window.__pwned.push(1)%3E/0/0"
    hash_ = f"#trial={trial}&text=%3Cscript%3E&label.__proto__=x&score=constructor:0:1&task=%E0%A4%A"
    page = seen.open(hostile, hash_)
    expect(page.locator(".hint")).to_have_text("There is no such trial in this report.")
    assert nothing_foreign(page)


@pytest.mark.parametrize(
    "address",
    ["javascript:window.__pwned.push(1)", "data:image/png;base64,AAAA", "//evil.invalid/x.png", "https://evil.invalid/x.png",
     "\\\\evil.invalid\\x.png", "/\\evil.invalid/x.png", " https://evil.invalid/x.png", "file://evil.invalid/x.png", "file:////evil.invalid/x.png",
     "\thttps://evil.invalid/", "ht\ntps://evil.invalid/x.png", "blob:null/1", "http:x.png", "filesystem:file:///x"],
)  # fmt: skip
def test_a_medium_never_comes_from_elsewhere(browser: Browser, seen: Watched, report: Path, address: str) -> None:
    page = seen.open(report)
    tried = "const image = document.createElement('img'); return [mmeval.dom.show(image, address), image.src];"
    shown = page.evaluate(f"(address) => {{ {tried} }}", address)
    assert shown == [False, ""]


@pytest.mark.parametrize(
    "attempt",
    ["document.body.innerHTML = '<b>x</b>'", "document.body.insertAdjacentHTML('beforeend', 'x')",
     "document.write('x')",
     "document.createElement('script').src = 'data/x.js'", "trustedTypes.createPolicy('other', {})", "eval('1')",
     "new Function('1')()", "mmeval.dom.el('a', {href: 'javascript:1'})", "mmeval.dom.el('img', {src: 'x'})",
     "mmeval.dom.el('p', {onclick: '1'})", "mmeval.dom.el('p', {style: 'color: red'})"],
)  # fmt: skip
def test_the_page_itself_could_not_write_markup(seen: Watched, report: Path, attempt: str) -> None:
    page = seen.open(report)
    tried = f"() => {{ try {{ {attempt}; return 'done'; }} catch (error) {{ return error.name; }} }}"
    outcome = page.evaluate(f"new Promise((done) => setTimeout(() => done(({tried})()), 0))")
    assert outcome in ("TypeError", "EvalError", "Error")
    seen.complaints.clear()


def test_the_policy_stops_what_would_be_fetched_or_run(browser: Browser, report: Path) -> None:
    seen = watched(browser)
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
        fetch("https://evil.invalid/").catch(() => {});
    }""")
    page.wait_for_timeout(300)
    assert len([text for text in seen.complaints if "Content Security Policy" in text]) >= 3
    assert set(ends) <= {"csp"}, "asked for, and stopped by the policy before anything left"
    page.context.close()
