import pytest

from mmeval.decode.limits import DecodeLimits
from mmeval.report.page import code
from mmeval.report.page.code import MAX_CODE, MAX_LINE, Coloured, Colours


def coloured(text: str) -> Coloured:
    return Colours().of(text)


FENCED = '```python\ndef area(a):\n    return a * 2  # "x"\n```'


def test_the_words_of_fenced_code_have_classes_and_stay_in_order() -> None:
    found = coloured(FENCED)

    assert found.language == "python"
    assert found.tokens is not None
    assert "".join(word for _, word in found.tokens) == FENCED
    assert {("keyword", "def"), ("name", "area"), ("number", "2"), ("comment", '# "x"')} <= set(found.tokens)


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
    assert coloured(text).language == language


@pytest.mark.parametrize(
    "text",
    ["```nosuchlanguage\nx = 1\n```", "```python\n" + "x = 1\n" * MAX_CODE, "```python\n" + "x" * (MAX_LINE + 1), ""],
    ids=["unknown language", "long", "long line", "empty"],
)
def test_what_is_not_coloured_stays_plain(text: str) -> None:
    assert coloured(text).tokens is None


@pytest.mark.parametrize(
    "text", ["\r\n```python\r\nx\r\n```", "```c++\n\x00\ud800\n", "```html\n</script>", "```json\n{{{"]
)
def test_odd_code_keeps_every_character(text: str) -> None:
    found = coloured(text)

    assert found.tokens is None or "".join(word for _, word in found.tokens) == text


def test_a_text_that_its_lexer_cannot_bear_stays_plain_and_soon_all_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "LIMITS", DecodeLimits(max_step_seconds=1e-6))
    colours = Colours()
    slow = "```python\n" + "a = [b, c]\n" * 1500
    assert [colours.of(slow).tokens for _ in range(code.MOST_REFUSED)] == [None] * code.MOST_REFUSED

    monkeypatch.undo()
    assert colours.of(FENCED).tokens is None
    assert coloured(FENCED).tokens is not None
