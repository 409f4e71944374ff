from typing import Any

import pytest

from mmeval.decode.code import code_words
from mmeval.decode.limits import DecodeLimits
from mmeval.errors import MediaLimitError
from mmeval.report.page import code
from mmeval.report.page.code import MAX_CODE, MAX_LINE, Colours


def coloured(text: str, colours: Colours | None = None) -> dict[str, Any]:
    """A part of code, as the page gets it."""
    shown: dict[str, Any] = {"text": text}
    colours = colours or Colours()
    colours.later(shown)
    colours.fill()
    return shown


def words(shown: dict[str, Any]) -> str:
    """What the page shows of it."""
    return "".join(word for _, word in shown["tokens"]) if "tokens" in shown else str(shown["text"])


INNER = 'def area(a):\n    return a * 2  # "x"'
FENCED = f"```python\n{INNER}\n```"


def test_the_words_of_fenced_code_have_classes_and_stay_in_order_without_the_fence() -> None:
    found = coloured(FENCED)
    assert (found["language"], found["text"]) == ("python", FENCED)
    assert words(found) == INNER
    assert {("keyword", "def"), ("name", "area"), ("number", "2"), ("comment", '# "x"')} <= set(found["tokens"])


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("```\nx = 1\n```", "x = 1"),
        ("```nosuchlanguage\nx = 1\n```\n", "x = 1"),
        ("```python\nx = 1", "x = 1"),
        ("```python\n```", ""),
        ("x = `1`", "x = `1`"),
    ],
    ids=["no language", "unknown language", "never closed", "empty", "no fence"],
)
def test_a_fence_is_not_shown_as_code(text: str, inner: str) -> None:
    assert words(coloured(text)) == inner


def test_many_texts_are_asked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(texts: Any, **more: Any) -> Any:
        asked.append(len(texts))
        return code_words(texts, **more)

    monkeypatch.setattr(code, "code_words", counted)
    colours = Colours()
    parts: list[dict[str, Any]] = [{"text": FENCED} for _ in range(50)]
    for part in (*parts, {"text": "a quiet sentence"}):
        colours.later(part)
    colours.fill()
    assert asked == [50]
    assert all(len(part["tokens"]) > 5 for part in parts)


def test_no_code_asks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "code_words", None)
    assert words(coloured("a quiet sentence")) == "a quiet sentence"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("import os\nprint(1)", "python"),
        ("#!/bin/sh\necho hello", "bash"),
        ('{"a": [1, 2]}', "json"),
        ("<!DOCTYPE html><p>x</p>", "html"),
        ("#include <stdio.h>\nint main() {}", "c"),
        ("SELECT a FROM b", "sql"),
        ("a quiet sentence", ""),
    ],
)
def test_unmarked_code_is_known_by_what_it_looks_like(text: str, language: str) -> None:
    assert coloured(text)["language"] == language


@pytest.mark.parametrize(
    "text", ["import os\n" * MAX_CODE, "import os\n" + "x" * (MAX_LINE + 1), ""], ids=["long", "long line", "empty"]
)
def test_what_is_not_coloured_stays_plain(text: str) -> None:
    assert "tokens" not in coloured(text)


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("\r\n```python\r\nx\r\n```", "x\r"),
        ("```c++\n\x00\ud800\n", "\x00\ud800\n"),
        ("```html\n</script>", "</script>"),
        ("```json\n{{{", "{{{"),
    ],
)
def test_odd_code_keeps_every_character(text: str, inner: str) -> None:
    assert words(coloured(text)) == inner


def test_a_text_that_its_lexer_cannot_bear_stays_plain_and_soon_all_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "LIMITS", DecodeLimits(max_step_seconds=1e-6))
    colours = Colours()
    slow = "```python\n" + "a = [b, c]\n" * 1500
    for _ in range(code.MOST_REFUSED):
        assert [kind for kind, _ in coloured(slow, colours)["tokens"]] == [""]
    monkeypatch.undo()
    assert coloured(FENCED, colours)["tokens"] == [("", INNER)]
    assert len(coloured(FENCED)["tokens"]) > 1


def test_one_text_that_takes_too_long_costs_the_others_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    def choosy(texts: Any, **more: Any) -> Any:
        if any("slow" in text for text, _ in texts):
            raise MediaLimitError("too slow")
        return code_words(texts, **more)

    monkeypatch.setattr(code, "code_words", choosy)
    colours = Colours()
    parts: list[dict[str, Any]] = [{"text": FENCED}, {"text": "import slow\n"}, {"text": FENCED}]
    for part in parts:
        colours.later(part)
    colours.fill()
    assert [len(part.get("tokens", ())) > 1 for part in parts] == [True, False, True]
