from collections.abc import Iterable
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.media import Interleaved, Part, media_part, text_part
from mmeval.metric import bind, load_metric
from mmeval.metrics.structure.self_description import words_beside
from tests.support.judging import BLUE, RED, trial_of
from tests.support.trials import score_of

IMAGE = "<image_start><image_%d><image_end>"
COLORS: dict[str, Any] = {"object": ["cup", "rug"], "color": ["red", "blue"]}
PROFILES = ("standard", "official")


def said(
    kind: str,
    text: str,
    profile: str = "official",
    labels: dict[str, Any] | None = None,
    **switches: Any,
) -> Any:
    """What a profile reads in a text."""
    score = score_of(
        load_metric("self_description"),
        trial_of(text, **(labels or {})),
        profile,
        kind=kind,
        **switches,
    )
    assert score.value == float(score.evidence["statement"] is not None)
    return score.evidence["statement"]


def read(
    kind: str, texts: Iterable[str], labels: dict[str, Any] | None = None
) -> dict[str, tuple[Any, Any]]:
    """What the standard and the official profile read in texts."""
    return {
        text: (
            said(kind, text, "standard", labels),
            said(kind, text, "official", labels),
        )
        for text in texts
    }


def test_counts_and_texts() -> None:
    counts: dict[str, tuple[Any, Any]] = {
        "<count>4</count>": (4, 4),
        "<count>15</count>": (15, 5),
        "4": (None, None),
    }
    counts |= {
        "<count> 4 </count>": (4, None),
        "<count>three</count> or <count>3</count>": (3, 3),
    }
    counts |= {
        "<count>4</count><count>5</count>": (4, 4),
        f"<count>{'9' * 5000}</count>": (None, 9),
    }
    counts |= {"<count></count>": (None, None)}
    assert read("count", counts) == counts
    five, ten = "one two three four five", f"{'a ' * 9}a"
    texts: dict[str, tuple[Any, Any]] = {
        f"<text>{five}</text>": (five, five),
        "<text>a b\nc d e</text>": (None, None),
    }
    texts |= {
        "<text>a b c d</text>": (None, None),
        "<text>a b  c d</text>": (None, "a b  c d"),
    }
    texts |= {
        "<text>. . . . .</text>": (None, ". . . . ."),
        f"<text>{ten} a</text>": (None, None),
    }
    texts |= {
        f"<text>{ten}</text>": (ten, ten),
        "<text>\n<text>a b c d e</text>": ("a b c d e", "a b c d e"),
    }
    assert read("text", texts) == texts


def test_colors_and_sizes() -> None:
    named = {'So: {"cup": "red", "rug": "blue"}.': {"cup": "red", "rug": "blue"}}
    named |= {'{"cup":\n "blue",\n "rug": "red"}': {"cup": "blue", "rug": "red"}}
    wrong = [
        '{"cup": "Red", "rug": "blue"}',
        '{"cup": "red", "rug": "red"}',
        '{"cup": "red"}',
        "[]",
        "}",
        "{",
    ]
    wrong += ['{"cup": 1, "rug": "blue"}', "{'cup': 'red', 'rug': 'blue'}"]
    wanted = {
        text: (found, found) for text, found in (named | dict.fromkeys(wrong)).items()
    }
    assert read("colors", wanted, COLORS) == wanted
    broken = said(
        "colors",
        '{"tea\ncup": "red"}',
        labels={"object": ["tea cup"], "color": ["red"]},
    )
    assert broken == {"tea cup": "red"}
    abc = ["a", "b", "c"]
    sizes: dict[str, tuple[Any, Any]] = {
        '["a", "b", "c"]': (abc, abc),
        '["a", "b", "c", "a"]': (None, abc),
    }
    sizes |= {'["a", "a", "b", "c"]': (None, ["a", "a", "b"])}
    wrong = [
        '["a",\n"b", "c"]',
        '["a", "b"]',
        "['a', 'b', 'c']",
        '["a", "b", "c", {}]',
        'from [1] to ["a", "b", "c"]',
    ]
    sizes |= dict.fromkeys(wrong, (None, None))
    assert read("sizes", sizes, {"object": ["c", "b", "a"]}) == sizes


def test_letters_and_patterns() -> None:
    wrong = [
        "[A, B]",
        '["A. left", "B"]',
        '["A", "D"]',
        '["A"]',
        '["A", "B", "C"]',
        '["", "A"]',
        '["A", 1]',
    ]
    letters: dict[str, tuple[Any, Any]] = {
        '["A", "B"]': ([0, 1], [0, 1]),
        '[" c ", "a"]': ([2, 0], [2, 0]),
    }
    letters |= dict.fromkeys([*wrong, '["ab", "c"]'], (None, None))
    assert read("letters", letters) == letters
    assert said("letters", '["A", "D"]', letters="abcd") == [0, 3]
    for unfit in ("aa", "A", ""):
        with pytest.raises(UsageError, match="letters"):
            bind(load_metric("self_description"), {"letters": unfit})
    patterns = {
        "so <<a 3x3 grid>> done": "a 3x3 grid",
        "<one>": None,
        "<<a\nb>>": None,
        "<<>>": "",
    }
    assert read("pattern", patterns) == {
        text: (found, found) for text, found in patterns.items()
    }


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("text", "pictures", "many", "words"),
    [
        (f"a {IMAGE % 0} b", 1, False, "a  b"),
        ("no image", 0, True, None),
        ("beside", 1, False, "beside"),
        (f"a {IMAGE % 0} b {IMAGE % 1}", 2, False, None),
        (f"a {IMAGE % 0} b {IMAGE % 1}", 2, True, "a  b "),
        (f"a {IMAGE % 0}", 0, True, None),
    ],
)
def test_words_beside_pictures(
    text: str, pictures: int, many: bool, words: str | None, profile: str
) -> None:
    trial = trial_of(text, *(RED, BLUE)[:pictures])
    score = score_of(
        load_metric("self_description"), trial, profile, kind="words", many=many
    )
    assert score.evidence["statement"] == words


def test_a_row_without_the_labels_of_the_statement_is_unscored() -> None:
    for kind, key, given in (
        ("colors", "color", "object"),
        ("colors", "object", "color"),
        ("sizes", "object", "color"),
    ):
        labels: dict[str, Any] = {given: ["a"]}
        score = score_of(
            load_metric("self_description"), trial_of("a", **labels), kind=kind
        )
        assert score.status == "unscored"
        assert f"'{key}'" in score.reason
    assert (
        score_of(load_metric("self_description"), trial_of(None)).status == "unscored"
    )
    thought = Part(
        "reasoning", text="<count>3</count>", raw="<think><count>3</count></think>"
    )
    answer = Interleaved((thought, text_part("<count>4</count>"), media_part(RED)))
    assert (
        words_beside(answer) == words_beside(answer, "official") == "<count>4</count>"
    )
