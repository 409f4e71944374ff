from typing import Any

import pytest

from mmeval.report.page.answers import MAX_TEXT, MOST_PARTS, three_answers

IMAGE = {"kind": "image", "src": "../media/a.png", "label": "image1"}


def index(*values: float | None, **changes: Any) -> dict[str, Any]:
    """One task whose headline is ``m``, with a trial of each value."""
    count = len(values)
    rows: dict[str, Any] = {
        "task": [0] * count,
        "index": [*range(count)],
        "repeat": [0] * count,
        "status": [0] * count,
        "kinds": ["text"] * count,
        "title": [f"title {at}" for at in range(count)],
        "sample": [f"s{at}" for at in range(count)],
        "scores": {"m": list(values)},
        **changes,
    }
    return {
        "rows": rows,
        "tasks": [{"name": "a/b", "alias": "A", "run": 0, "headline": "m"}],
        "metrics": [{"name": "m", "range": [0, 1], "higher_is_better": True}],
        "statuses": ["scored", "uncounted"],
        "runs": [{"name": "default", "model": "tiny"}],
    }


def chosen(
    given: dict[str, Any], output: list[dict[str, Any]] | None = None
) -> list[tuple[str, str, str]]:
    cards = three_answers(given, lambda row: {"output": output})
    return [(card["label"], card["title"], card["value"]) for card in cards]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            index(0.0, 0.5, 0.5, 1.0),
            ["best title 3", "typical title 1", "worst title 0"],
        ),
        (index(0.0, 1.0, kinds=["text", "text"]), ["best title 1", "worst title 0"]),
        (index(0.5, 0.5, 0.5), [" title 0", " title 2", " title 1"]),
        (
            index(1.0, 1.0, 0.0, kinds=["text", "text+image", "text"]),
            ["best title 1", "typical title 0", "worst title 2"],
        ),
        (
            index(1.0, 0.0, 0.5, 0.5, index=[0, 0, 1, 2]),
            ["best title 0", "typical title 3", "worst title 2"],
        ),
        (
            index(1.0, 0.0, 0.5, 0.4, status=[0, 1, 0, 0]),
            ["best title 0", "typical title 2", "worst title 3"],
        ),
        (index(None, None, kinds=["text", ""]), [" title 0"]),
        (index(), []),
    ],
    ids=[
        "typical",
        "two",
        "alike",
        "kinds",
        "one sample once",
        "uncounted",
        "no score",
        "nothing",
    ],
)
def test_answers_differ_in_sample_and_those_with_more_kinds_come_first(
    given: dict[str, Any], expected: list[str]
) -> None:
    assert [f"{label} {title}" for label, title, _ in chosen(given)] == expected


def test_of_a_metric_where_lower_is_better_the_lowest_is_best() -> None:
    given = index(3.0, 9.0, 4.0)
    given["metrics"][0].update(range=None, higher_is_better=False)
    assert chosen(given)[0] == ("best", "title 0", "3.000")


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"kind": "text", "text": " a\n"}, {"kind": "text", "text": "a"}),
        (
            {"kind": "text", "text": "x" * 999},
            {"kind": "text", "text": "x" * MAX_TEXT + "…"},
        ),
        ({"kind": "text", "text": " ., "}, None),
        ({"kind": "reasoning", "text": "why"}, None),
        (IMAGE, {"kind": "image", "src": "../media/a.png", "name": "image1"}),
        (
            {"kind": "document", "pages": ["p1.png", "p2.png"]},
            {"kind": "image", "src": "p1.png", "name": "document"},
        ),
        ({"kind": "document", "text": "a page"}, {"kind": "text", "text": "a page"}),
        (
            {"kind": "code", "text": "\n".join("abcdefghij")},
            {"kind": "code", "text": "\n".join("abcdefgh")},
        ),
        (
            {"kind": "audio", "src": "", "note": "gone"},
            {"kind": "other", "name": "sound", "note": "gone"},
        ),
        (
            {"kind": "image", "label": "image3", "dangling": True},
            {"kind": "other", "name": "image3", "note": ""},
        ),
    ],
    ids=lambda given: str(given and given["kind"]),
)
def test_parts_are_short_and_need_no_scripts(
    part: dict[str, Any], shown: dict[str, Any] | None
) -> None:
    (card,) = three_answers(index(1.0), lambda row: {"output": [part]})
    assert card["parts"] == ([shown] if shown else [])
    assert (card["href"], card["task"], card["run"]) == ("#trial=a/b/0/0", "A", "")


def test_of_many_parts_the_first_are_shown_and_the_others_counted() -> None:
    (card,) = three_answers(
        index(1.0), lambda row: {"output": [IMAGE] * (MOST_PARTS + 2)}
    )
    assert (len(card["parts"]), card["more"]) == (MOST_PARTS, 2)
