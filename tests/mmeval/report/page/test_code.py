from typing import Any

import pytest

from mmeval.errors import MediaLimitError
from mmeval.media.decode.code import code_words
from mmeval.report.page import code
from mmeval.report.page.code import MAX_CODE, MAX_LINE, Colours

INNER = 'def area(a):\n    return a * 2  # "x"'
FENCED = f"```python\n{INNER}\n```"
SENTENCE = "a quiet sentence"


def coloured(*texts: str, colours: Colours | None = None) -> list[dict[str, Any]]:
    """Parts of code, as the page gets them."""
    shown: list[dict[str, Any]] = [{"text": text} for text in texts]
    colours = colours or Colours()
    for part in shown:
        colours.later(part)
    colours.fill()
    return shown


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("```\nx = 1\n```", "x = 1"),
        ("```nosuchlanguage\nx = 1\n```\n", "x = 1"),
        ("```python\nx = 1", "x = 1"),
        ("```python\n```", ""),
        ("x = `1`", "x = `1`"),
        ("\r\n```python\r\nx\r\n```", "x\r"),
        ("```c++\n\x00\ud800\n", "\x00\ud800\n"),
        ("```html\n</script>", "</script>"),
        ("```json\n{{{", "{{{"),
    ],
    ids=ascii,
)
def test_a_fence_is_not_shown_and_odd_code_keeps_every_character(
    text: str, inner: str
) -> None:
    (shown,) = coloured(text)
    assert (
        "".join(word for _, word in shown.get("tokens", [("", shown["text"])])) == inner
    )


def test_many_texts_are_sent_at_once_and_no_code_sends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def counted(texts: Any, **more: Any) -> Any:
        asked.append(len(texts))
        return code_words(texts, **more)

    monkeypatch.setattr(code, "code_words", counted)
    *parts, last = coloured(*[FENCED] * 50, SENTENCE)
    assert (asked, "tokens" in last) == ([50], False)
    assert all(len(part["tokens"]) > 5 for part in parts)
    coloured(SENTENCE)
    assert asked == [50]


def test_unmarked_code_is_known_by_what_it_looks_like() -> None:
    languages = {
        "import os\nprint(1)": "python",
        "#!/bin/sh\necho hello": "bash",
        '{"a": [1, 2]}': "json",
        "<!DOCTYPE html><p>x</p>": "html",
        "#include <stdio.h>\nint main() {}": "c",
        "SELECT a FROM b": "sql",
        SENTENCE: "",
    }
    assert [part["language"] for part in coloured(*languages)] == [*languages.values()]


def test_what_is_long_or_empty_stays_plain() -> None:
    texts = ["import os\n" * MAX_CODE, "import os\n" + "x" * (MAX_LINE + 1), ""]
    assert ["tokens" in part for part in coloured(*texts)] == [False] * 3
    assert (MAX_CODE, MAX_LINE) == (20_000, 2_000)


def test_one_text_that_takes_too_long_costs_the_others_no_colour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def choosy(texts: Any, **more: Any) -> Any:
        if any("slow" in text for text, _ in texts):
            raise MediaLimitError("too slow")
        return code_words(texts, **more)

    monkeypatch.setattr(code, "code_words", choosy)
    parts = coloured(FENCED, "import slow\n", FENCED)
    assert [len(part.get("tokens", ())) > 1 for part in parts] == [True, False, True]
