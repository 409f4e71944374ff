import time

import pytest

from mmeval.model_backends.wire.replies.in_text import references
from tests.support.openai_calls import PNG, data_uri

URI = data_uri(PNG, "image/png")
LONG_URI = data_uri(PNG + bytes(range(60)), "image/png")
LINK = "https://files.example.com/x.png"


def around(text: str, *, links: bool = False) -> list[str]:
    """What is left of a text around the addresses in it."""
    left, at = [], 0
    for reference in references(text, links=links):
        left.append(text[at : reference.start])
        at = reference.end
    return [*left, text[at:]]


MARK_UP = {
    "bare": URI,
    "Markdown": f"![a cat]({URI})",
    "Markdown with a title": f'![]( <{URI}> "title")',
    "Markdown link": f"[a cat]({URI})",
    "HTML": f'<img alt="a" src="{URI}"/>',
    "HTML in capitals": f"<IMG SRC='{URI}' width=3>",
    "sound": f'<audio controls src="{URI}"></audio>',
    "drawing": "<img src=\"data:image/svg+xml;utf8,<svg xmlns='x'></svg>\">",
}


@pytest.mark.parametrize(
    "mark_up",
    MARK_UP.values(),
    ids=MARK_UP,
)
def test_a_data_uri_goes_with_its_mark_up(mark_up: str) -> None:
    assert around(f"One: {mark_up} two") == ["One: ", " two"]


@pytest.mark.parametrize(
    "code",
    [
        f"```html\n{URI}\n```",
        f"~~~\n![]({URI})\n~~~",
        f"`{URI}`",
        f"`` a ` {URI} ``",
        f"```\n{URI}",
    ],
)
def test_a_data_uri_in_code_is_text(code: str) -> None:
    text = f"Page:\n{code}"
    assert around(text) == [text]


def test_a_data_uri_behind_code_is_a_medium() -> None:
    text = f"`x` and ``` y\n```\nz\n```\nthen {URI} end"
    assert around(text)[1] == " end"


def test_data_uris_may_touch_each_other() -> None:
    unpadded = data_uri(PNG + bytes(-len(PNG) % 3), "image/png")
    assert "=" not in unpadded.partition(",")[2]
    assert around(f"{unpadded}{unpadded}.") == ["", "", "."]


def test_bare_base64_goes_on_over_lines_of_one_length() -> None:
    letters = "iVBORw0KGgoA" * 12
    lines = "\n".join(letters[start : start + 72] for start in range(0, 144, 72))
    text = f"See data:image/png;base64,{lines}\nIs it good?"
    assert around(text) == ["See ", "\nIs it good?"]


@pytest.mark.parametrize("text", ["data: 5,6", "metadata:a,b", "the data:x,"])
def test_words_are_no_data_uri(text: str) -> None:
    assert around(text) == [text]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"![image]({LINK})", True),
        (f'<img src="{LINK}">', True),
        ("![image](/files/x.png)", True),
        (f"[read]({LINK})", False),
        (f"See {LINK}.", False),
    ],
)
def test_a_link_is_that_of_a_medium_or_one_to_read(text: str, shown: bool) -> None:
    [reference] = references(text, links=True)
    assert reference.kind == "link"
    assert reference.shown == shown


@pytest.mark.parametrize(
    "text",
    [
        "data:image/png;base64,](" * 40_000,
        "![" * 500_000,
        '<img src="data:image/svg+xml,<' * 4_000,
        "`" + "`` " * 300_000,
        "".join("`" * length + " " for length in range(1, 1400)),
    ],
    ids=["heads", "brackets", "tags", "ticks", "runs of ticks"],
)
def test_a_hostile_text_is_read_in_seconds(text: str) -> None:
    start = time.process_time()
    list(references(text, links=True))
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "mark_up",
    [
        f"<img src={LONG_URI} alt=x>",
        LONG_URI.replace(",", ", "),
        LONG_URI.replace(",", ",\n"),
    ],
)
def test_blanks_beside_base64_are_read(mark_up: str) -> None:
    assert around(f"One: {mark_up} two") == ["One: ", " two"]
