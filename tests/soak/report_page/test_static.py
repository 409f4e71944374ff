"""What the files of the page may not contain: ways from data to markup, code or style,
and ways out."""

import re

from tests.soak.support.report_page import STATIC

SINKS = (
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "DOMParser",
    "createContextualFragment",
    "srcdoc",
    "setHTML",
    "eval(",
    "new Function",
    "import(",
    "javascript:",
    "new Worker",
    "XMLHttpRequest",
    "fetch(",
    "WebSocket",
    "EventSource",
    "sendBeacon",
    "postMessage",
    "window.open",
    ".cssText",
    "insertRule",
    "adoptedStyleSheets",
)
SCRIPTS = {file.name: file.read_text(encoding="utf-8") for file in STATIC.glob("*.js")}
TEMPLATE = (STATIC / "index.html.jinja").read_text(encoding="utf-8")
STYLE = (STATIC / "page.css").read_text(encoding="utf-8")


def test_no_script_knows_a_way_from_data_to_markup_or_out() -> None:
    assert [
        (name, sink) for name, text in SCRIPTS.items() for sink in SINKS if sink in text
    ] == []


def test_neither_template_nor_style_has_inline_code_or_takes_anything_from_elsewhere() -> (
    None
):
    assert (
        re.findall(r"<script(?! src=)|<style|\sstyle=|\son\w+=|\|\s*safe", TEMPLATE)
        == []
    )
    assert re.findall(r"url\(|@import|@font-face|attr\(", STYLE) == []


def test_the_policy_allows_nothing_but_files() -> None:
    found = re.search(r'Content-Security-Policy" content="([^"]+)"', TEMPLATE)
    assert found is not None
    policy = {
        name: values
        for name, *values in (rule.split() for rule in found[1].split("; "))
    }
    files = {
        key: ["'self'", "file:"]
        for key in ("script-src", "style-src", "img-src", "media-src")
    }
    nothing = {
        key: ["'none'"]
        for key in ("default-src", "connect-src", "base-uri", "form-action")
    }
    assert {
        **files,
        **nothing,
        "require-trusted-types-for": ["'script'"],
    }.items() <= policy.items()
