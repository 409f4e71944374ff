"""What the files of the page may not contain: ways from data to markup, code or style, and ways out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.report_folder import STATIC

SINKS = (
    *("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "createContextualFragment"),
    *("srcdoc", "setHTML", "eval(", "new Function", "import(", "javascript:", "new Worker"),
    *("XMLHttpRequest", "fetch(", "WebSocket", "EventSource", "sendBeacon", "postMessage", "window.open"),
    *(".cssText", "insertRule", "adoptedStyleSheets"),
)
SCRIPTS = sorted(STATIC.glob("*.js"))
TEMPLATE = (STATIC / "index.html.jinja").read_text(encoding="utf-8")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda file: file.name)
def test_no_script_knows_a_way_from_data_to_markup_or_out(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert [sink for sink in SINKS if sink in text] == []


def test_attributes_are_set_in_one_place_and_addresses_in_two() -> None:
    texts = {file.name: file.read_text(encoding="utf-8") for file in SCRIPTS}
    named = {name for name, text in texts.items() if re.search(r"setAttribute\((?!\")", text)}
    assert named == {"dom.js"}, "attributes by a name that is not written there"
    assert {name for name, text in texts.items() if re.search(r"\.src = ", text)} == {"dom.js", "data.js"}
    assert {
        name for name, text in texts.items() if re.search(r"\.(href|style) = |location\.(assign|replace)", text)
    } == set()


def test_every_script_is_named_by_the_template_and_there() -> None:
    named = set(re.findall(r'"(\w+\.js)"', TEMPLATE)) | {"main.js"}
    assert named == {file.name for file in SCRIPTS}


def test_the_template_has_no_inline_script_style_or_handler() -> None:
    assert re.findall(r"<script(?! src=)|<style|\sstyle=|\son\w+=|\|\s*safe", TEMPLATE) == []


def test_the_policy_allows_nothing_but_files() -> None:
    found = re.search(r'Content-Security-Policy" content="([^"]+)"', TEMPLATE)
    assert found is not None
    policy = {rule.split()[0]: rule.split()[1:] for rule in found[1].split("; ")}
    assert policy["default-src"] == policy["connect-src"] == policy["base-uri"] == policy["form-action"] == ["'none'"]
    assert (
        policy["script-src"] == policy["style-src"] == policy["img-src"] == policy["media-src"] == ["'self'", "file:"]
    )
    assert policy["require-trusted-types-for"] == ["'script'"]


def test_the_style_takes_nothing_from_anywhere() -> None:
    text = (STATIC / "page.css").read_text(encoding="utf-8")
    assert re.findall(r"url\(|@import|@font-face|attr\(", text) == []
