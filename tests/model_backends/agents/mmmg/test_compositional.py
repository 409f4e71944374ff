from typing import Any

import pytest

from tests.support.agents import driven, titles


def draw(plan: str, tool: list[Any] | None = None, **args: Any) -> dict[str, Any]:
    replies = {"planner": [plan], **({} if tool is None else {"text_to_image": tool})}
    return driven("compositional", replies, prompt="Draw.", args=args)


def blocks(result: dict[str, Any]) -> list[str]:
    return [
        part.get("text") or ("image" if "media" in part else "(image)")
        for part in result["parts"]
    ]


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (
            " First: <image>a hare</image>\n\n<image>a fox</image> The end. ",
            ["First:", "image", "image", "The end."],
        ),
        ("<image>one\n<image>two</image>", ["image"]),
        ("<image>a hare", ["<image>a hare"]),
        ("I cannot draw.", ["I cannot draw."]),
    ],
    ids=["blocks", "nested", "not closed", "refusal"],
)
def test_an_answer_is_its_texts_and_its_pictures_in_their_order(
    plan: str, expected: list[str]
) -> None:
    result = draw(plan)
    assert blocks(result) == expected
    assert result["error"] is None
    assert bool(result["warnings"]) == ("image" not in expected)


def test_pictures_are_drawn_at_the_same_time_from_their_descriptions() -> None:
    result = draw("<image> a hare </image><image>a fox</image>")
    assert titles(result) == ["plan", "image0", "image1"]
    assert [step["path"] for step in result["steps"]] == ["0", "1.0", "1.1"]
    assert [step["text"] for step in result["steps"][1:]] == ["a hare", "a fox"]
    assert [item["prompt"] for item in result["evidence"]["items"]] == [
        "a hare",
        "a fox",
    ]


def test_a_description_does_not_span_lines_in_the_released_script() -> None:
    plan = "<image>a\nhare</image> and <image>a fox</image>"
    assert blocks(draw(plan)) == ["image", "and", "image"]
    assert blocks(draw(plan, profile="official")) == [
        "<image>a\nhare</image> and",
        "image",
    ]


@pytest.mark.parametrize(
    "reply", [{"error": "timeout"}, "words"], ids=["it hangs", "another kind"]
)
def test_a_picture_that_is_not_drawn_is_a_part_without_a_medium(reply: Any) -> None:
    result = draw("A hare: <image>a hare</image>", [reply])
    assert blocks(result) == ["A hare:", "(image)"]
    assert result["error"] is None
    assert len(result["warnings"]) == 1


def test_descriptions_after_the_most_stay_words() -> None:
    assert blocks(draw("<image>a</image>" * 3, max_items=2)) == [
        "image",
        "image",
        "<image>a</image>",
    ]
