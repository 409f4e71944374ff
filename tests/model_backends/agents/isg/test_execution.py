from typing import Any

import pytest

from tests.support.agents import (
    DRAW,
    DRAWN,
    EDIT,
    EDITED,
    OFFICIAL,
    add,
    ask,
    blocks,
    call,
    caption,
    problems,
    select,
    titles,
)


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("name", ["<GEN_1>", "#image9#", "#image0#", "hare.png"])
def test_a_tool_is_not_asked_with_a_picture_that_is_not_there(
    name: str, profile: str, given: dict[str, Any]
) -> None:
    result = ask(
        [call(EDIT, name), DRAW, add("<GEN_1>")],
        **given,
        selected=[DRAWN],
        refine=0,
        profile=profile,
    )
    assert problems(result)[0] == (0, 1)
    assert [step["role"] for step in result["steps"] if step["title"] == "tool"] == (
        ["text_to_image"] if profile == "standard" else []
    )


def test_a_picture_that_is_added_and_not_there_is_reported_and_vanishes_in_the_released_agent() -> (
    None
):
    steps = [DRAW, add("<GEN_0>", "#image9#", "<GEN_7>")]
    standard, official = (
        ask(steps, refine=0, profile=profile) for profile in ("standard", "official")
    )
    assert blocks(standard) == ["image"]
    assert blocks(official) == ["image"]
    assert problems(standard) == [(0, 2), (0, 2)]
    assert problems(official) == []


@pytest.mark.parametrize(
    ("text", "images"), [("ImageEdit", 0), ("ImageEdit", 2), ("ImageGeneration", 1)]
)
@pytest.mark.parametrize("profile", ["standard", "official"])
def test_too_few_or_too_many_pictures_for_a_tool_are_a_problem(
    text: str, images: int, profile: str, given: dict[str, Any]
) -> None:
    steps = [call(f"Use {text} tool: x", *["#image1#"] * images), caption()]
    result = ask(steps, **given, selected=[select(text)], refine=0, profile=profile)
    assert problems(result) == [(0, 1)]
    assert titles(result) == ["plan", "select", "caption"]
    assert f"{images}" in result["evidence"]["log"][0]["problem"]


def test_tools_that_do_not_need_each_other_are_asked_at_once_unless_official() -> None:
    steps = [
        DRAW,
        DRAW,
        call(EDIT, "<GEN_1>"),
        caption("<GEN_0>"),
        caption("<GEN_2>"),
        add("<GEN_2>"),
    ]
    chosen = [DRAWN, DRAWN, EDITED]
    standard, official = (
        ask(steps, selected=chosen, profile=profile)
        for profile in ("standard", "official")
    )
    paths = {
        profile: [
            (step["title"], step["path"].split(".")[0]) for step in result["steps"][1:]
        ]
        for profile, result in (("standard", standard), ("official", official))
    }
    one_by_one = ["select", "tool"] * 3 + ["caption"] * 2
    assert paths["official"] == [
        (title, str(at)) for at, title in enumerate(one_by_one, 1)
    ]
    assert paths["standard"] == [
        ("select", "1"),
        ("select", "1"),
        ("select", "1"),
        ("tool", "2"),
        ("tool", "2"),
        ("tool", "3"),
        ("caption", "4"),
        ("caption", "4"),
    ]
    assert blocks(standard) == ["text 0\n\ntext 1", "image"]
    assert blocks(official) == ["text 0text 1", "image"]


def test_tools_are_chosen_in_the_order_of_the_plan_whatever_their_steps_need() -> None:
    result = ask(
        [DRAW, call(EDIT, "<GEN_0>"), DRAW, add("<GEN_1>", "<GEN_2>")],
        selected=[DRAWN, EDITED, DRAWN],
    )
    assert blocks(result) == ["image", "image"]
    assert problems(result) == []
    tools = [
        (step["role"], step["path"].split(".")[0])
        for step in result["steps"]
        if step["title"] == "tool"
    ]
    assert tools == [
        ("text_to_image", "2"),
        ("text_to_image", "2"),
        ("image_edit", "3"),
    ]


def test_a_step_without_a_picture_ends_the_first_pass_with_those_that_are_asked_at_the_same_time(
    given: dict[str, Any],
) -> None:
    steps = [DRAW, DRAW, call(EDIT, "<GEN_0>"), add("<GEN_0>"), add("<GEN_1>")]
    how: dict[str, Any] = {"selected": [DRAWN, DRAWN, EDITED], "refine": 0}
    fails = {"text_to_image": [{"error": "bad_request"}]}
    official = ask(steps, roles=fails, **how, **OFFICIAL)
    assert titles(official) == ["plan", "select", "tool"]
    assert problems(official) == [(0, 1)]
    assert official["error"] is None
    assert blocks(official) == []
    drawn = [{"type": "image", "path": "user.png"}]
    standard = ask(
        steps, **given, roles={"text_to_image": [drawn, "no picture"]}, **how
    )
    assert titles(standard) == ["plan", "select", "select", "select", "tool", "tool"]
    assert problems(standard) == [(0, 2), (0, 5)]
    assert blocks(standard) == ["image"]


def test_a_caption_that_fails_is_no_part_of_the_answer_but_in_the_released_agent() -> (
    None
):
    texts = [{"error": "bad_request"}, "kept"]
    steps = [caption(), caption()]
    standard = ask(steps, texts=texts, refine=0)
    assert blocks(standard) == ["kept"]
    assert problems(standard) == [(0, 1)]
    (leaked,) = blocks(ask(steps, texts=texts, refine=0, **OFFICIAL))
    assert leaked.startswith("bad_request")
    assert leaked.endswith("kept")
    empty = ask([caption(), caption()], texts=["  ", "", "\n", "kept"], refine=0)
    assert blocks(empty) == ["kept"]
    assert problems(empty) == [(0, 1)]
    released = ask([caption(), caption()], texts=["  ", "kept"], refine=0, **OFFICIAL)
    assert blocks(released) == ["kept"]
    assert problems(released) == []


def test_a_caption_about_a_picture_that_is_missing_is_not_asked_for() -> None:
    result = ask([caption("<GEN_0>"), caption()], refine=0)
    assert blocks(result) == ["text 0"]
    assert problems(result) == [(0, 1)]
    assert titles(result) == ["plan", "caption"]


def test_texts_are_stripped_and_blank_ones_vanish() -> None:
    result = ask([caption(), DRAW, add("<GEN_0>"), caption()], texts=["  a \n", " b"])
    assert blocks(result) == ["a", "image", "b"]
