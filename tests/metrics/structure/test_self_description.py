from __future__ import annotations

from typing import Any

import pytest

from mmeval.content import Interleaved, Part, media_part, text_part
from mmeval.errors import UsageError
from mmeval.metric import bind, load_metric
from mmeval.metrics.structure.self_description import words_beside
from tests.support.picture_judging import BLUE, RED, trial_of
from tests.support.trials import score_of

IMAGE = "<image_start><image_%d><image_end>"
COLORS: dict[str, Any] = {"object": ["cup", "rug"], "color": ["red", "blue"]}
PROFILES = ("standard", "official")


def said(kind: str, text: str, profile: str = "official", labels: dict[str, Any] | None = None, **switches: Any) -> Any:
    """What a profile reads in a text."""
    score = score_of(load_metric("self_description"), trial_of(text, **(labels or {})), profile, kind=kind, **switches)
    assert score.value == float(score.evidence["statement"] is not None)
    return score.evidence["statement"]


@pytest.mark.parametrize(
    ("text", "standard", "official"),
    [
        *[("<count>4</count>", 4, 4), ("<count>15</count>", 15, 5), ("4", None, None), ("<count> 4 </count>", 4, None)],
        *[("<count>three</count> or <count>3</count>", 3, 3), ("<count>4</count><count>5</count>", 4, 4)],
        *[(f"<count>{'9' * 5000}</count>", None, 9), ("<count></count>", None, None)],
    ],
)
def test_a_count(text: str, standard: int | None, official: int | None) -> None:
    assert [said("count", text, profile) for profile in PROFILES] == [standard, official]


@pytest.mark.parametrize(
    ("text", "standard", "official"),
    [
        ("<text>one two three four five</text>", "one two three four five", "one two three four five"),
        ("<text>a b\nc d e</text>", None, None),
        ("<text>a b c d</text>", None, None),
        ("<text>a b  c d</text>", None, "a b  c d"),
        ("<text>. . . . .</text>", None, ". . . . ."),
        (f"<text>{'a ' * 10}a</text>", None, None),
        (f"<text>{'a ' * 9}a</text>", "a a a a a a a a a a", "a a a a a a a a a a"),
        ("<text>\n<text>a b c d e</text>", "a b c d e", "a b c d e"),
    ],
)
def test_a_text(text: str, standard: str | None, official: str | None) -> None:
    assert [said("text", text, profile) for profile in PROFILES] == [standard, official]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("text", "colors"),
    [
        ('So: {"cup": "red", "rug": "blue"}.', {"cup": "red", "rug": "blue"}),
        ('{"cup":\n "blue",\n "rug": "red"}', {"cup": "blue", "rug": "red"}),
        *[('{"cup": "Red", "rug": "blue"}', None), ('{"cup": "red", "rug": "red"}', None), ('{"cup": "red"}', None)],
        *[('{"cup": 1, "rug": "blue"}', None), ("{'cup': 'red', 'rug': 'blue'}", None), ("[]", None)],
    ],
)
def test_colors(text: str, colors: dict[str, str] | None, profile: str) -> None:
    assert said("colors", text, profile, COLORS) == colors


def test_colors_whose_text_is_broken_by_a_line_are_read_with_blanks_collapsed() -> None:
    found = said("colors", '{"tea\ncup": "red"}', labels={"object": ["tea cup"], "color": ["red"]})
    assert found == {"tea cup": "red"}


@pytest.mark.parametrize(
    ("text", "standard", "official"),
    [
        *[('["a", "b", "c"]', ["a", "b", "c"], ["a", "b", "c"]), ('["a",\n"b", "c"]', None, None)],
        *[('["a", "b", "c", "a"]', None, ["a", "b", "c"]), ('["a", "a", "b", "c"]', None, ["a", "a", "b"])],
        *[('["a", "b"]', None, None), ("['a', 'b', 'c']", None, None), ('["a", "b", "c", {}]', None, None)],
        ('from [1] to ["a", "b", "c"]', None, None),
    ],
)
def test_sizes(text: str, standard: list[str] | None, official: list[str] | None) -> None:
    labels = {"object": ["c", "b", "a"]}
    assert [said("sizes", text, profile, labels) for profile in PROFILES] == [standard, official]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ('["A", "B"]', [0, 1]),
        ('[" c ", "a"]', [2, 0]),
        *((text, None) for text in ("[A, B]", '["A. left", "B"]', '["A", "D"]', '["A"]', '["A", "B", "C"]')),
        *((text, None) for text in ('["", "A"]', '["A", 1]', '["ab", "c"]')),
    ],
)
def test_letters(text: str, letters: list[int] | None, profile: str) -> None:
    assert said("letters", text, profile) == letters


def test_other_letters_can_be_named_if_they_differ_and_are_small() -> None:
    assert said("letters", '["A", "D"]', letters="abcd") == [0, 3]
    for letters in ("aa", "A", ""):
        with pytest.raises(UsageError, match="different small letters"):
            bind(load_metric("self_description"), {"letters": letters})


@pytest.mark.parametrize(
    ("text", "pattern"), [("so <<a 3x3 grid>> done", "a 3x3 grid"), ("<one>", None), ("<<a\nb>>", None), ("<<>>", "")]
)
def test_a_pattern(text: str, pattern: str | None) -> None:
    assert said("pattern", text) == pattern


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("text", "pictures", "many", "words"),
    [
        *[(f"text {IMAGE % 0} <count>4</count>", 1, False, "text  <count>4</count>"), ("no image", 0, True, None)],
        *[("no image", 0, False, None), (f"a {IMAGE % 0} b {IMAGE % 1}", 2, False, None)],
        *[(f"a {IMAGE % 0} b {IMAGE % 1}", 2, True, "a  b "), (f"a {IMAGE % 0}", 0, False, None)],
        *[(f"a {IMAGE % 0}", 0, True, None), ("beside", 1, False, "beside")],
    ],
)
def test_words_beside_pictures(text: str, pictures: int, many: bool, words: str | None, profile: str) -> None:
    trial = trial_of(text, *(RED, BLUE)[:pictures])
    score = score_of(load_metric("self_description"), trial, profile, kind="words", many=many)
    assert score.evidence["statement"] == words


def test_hidden_reasoning_is_no_statement() -> None:

    thought = Part("reasoning", text="<count>3</count>", raw="<think><count>3</count></think>")
    answer = Interleaved((thought, text_part("<count>4</count>"), media_part(RED)))
    assert words_beside(answer) == words_beside(answer, "official") == "<count>4</count>"


@pytest.mark.parametrize(
    ("kind", "labels", "key"),
    [
        ("colors", {"object": ["a"]}, "color"),
        ("colors", {"color": ["a"]}, "object"),
        ("sizes", {"object": [1]}, "object"),
    ],
)
def test_a_row_without_the_labels_of_the_statement_is_unscored(kind: str, labels: dict[str, Any], key: str) -> None:
    score = score_of(load_metric("self_description"), trial_of("a", **labels), kind=kind)
    assert (score.status, f"'{key}'" in score.reason) == ("unscored", True)
    assert score_of(load_metric("self_description"), trial_of(None)).status == "unscored"


@pytest.mark.parametrize("profile", PROFILES)
def test_an_answer_with_ten_thousand_places_has_a_defined_score(profile: str) -> None:
    trial = trial_of("".join(IMAGE % number for number in range(10_000)), RED)
    assert score_of(load_metric("self_description"), trial, profile, kind="words").value == 0.0
