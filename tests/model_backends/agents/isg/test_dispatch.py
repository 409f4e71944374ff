import hashlib
import json
from typing import Any

import pytest

from mmeval.backend.tool import load_tool
from mmeval.model_backends.agents.isg.dispatch import PlanTools
from tests.support.agents import (
    DRAW,
    DRAWN,
    GOOD,
    OFFICIAL,
    add,
    ask,
    blocks,
    call,
    caption,
    problems,
    select,
)
from tests.support.tiny_media import picture

FILM = call("Use VideoGeneration tool: it runs", "#image1#")
FILMED = select(
    "VideoGeneration",
    prompt_list=[{"type": "text", "content": "it runs"}],
    num_screenshot=2,
)


def test_a_tool_of_several_pictures_gives_as_many_as_were_asked_for(
    given: dict[str, Any],
) -> None:
    result = ask([FILM, add("<GEN_0>", "<GEN_1>")], **given, selected=[FILMED])
    assert blocks(result) == ["image", "image"]
    assert result["warnings"] == []
    (asked,) = (step for step in result["steps"] if step["title"] == "tool")
    assert asked["text"] == "it runs"
    assert asked["options"] == {"options": {"image.n": 2}}
    assert len(asked["media"]) == 1


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_a_film_beside_another_tool_is_a_problem_wherever_it_stands(
    first: bool, given: dict[str, Any]
) -> None:
    steps = [FILM, DRAW] if first else [DRAW, FILM]
    selected = [FILMED, DRAWN] if first else [DRAWN, FILMED]
    shown = add("<GEN_0>", "<GEN_1>", "<GEN_2>")
    standard = ask([*steps, shown], **given, selected=selected, refine=0)
    assert problems(standard)[0] == (0, 2)
    tools = [step["role"] for step in standard["steps"] if step["title"] == "tool"]
    assert tools == ["image_to_video" if first else "text_to_image"]
    assert blocks(standard) == ["image"] * (2 if first else 1)
    official = ask([*steps, shown], **given, selected=selected, refine=0, **OFFICIAL)
    assert problems(official) == ([] if first else [(0, 2)])
    assert blocks(official) == ["image"] * (3 if first else 1)


def test_a_film_without_its_picture_is_the_only_problem_beside_another_tool(
    given: dict[str, Any],
) -> None:
    steps = [call("Use VideoGeneration tool: it runs"), DRAW, add("<GEN_1>")]
    result = ask(steps, **given, selected=[FILMED, DRAWN], refine=0)
    assert problems(result) == [(0, 1)]
    assert blocks(result) == ["image"]


def test_of_two_films_the_second_one_is_a_problem(given: dict[str, Any]) -> None:
    for profile in ("standard", "official"):
        how: dict[str, Any] = {
            "selected": [FILMED, FILMED],
            "refine": 0,
            "profile": profile,
        }
        result = ask([FILM, FILM, add("<GEN_0>", "<GEN_1>")], **given, **how)
        assert problems(result) == [(0, 2)]
        assert blocks(result) == ["image", "image"]


def frames(count: int) -> list[dict[str, str]]:
    return [{"type": "image", "path": f"{at}.png"} for at in range(count)]


@pytest.fixture
def shots(given: dict[str, Any]) -> list[str]:
    """The digests of eight pictures, ``0.png`` and so on."""
    found = []
    for at in range(8):
        data = picture(size=(8 + at, 8))
        (given["folder"] / f"{at}.png").write_bytes(data)
        found.append(hashlib.sha256(data).hexdigest())
    return found


def digests(result: dict[str, Any]) -> list[str]:
    return [part["media"]["sha256"] for part in result["parts"]]


def test_a_film_of_eight_pictures_in_place_of_seven_is_cut(
    given: dict[str, Any], shots: list[str]
) -> None:
    seven = select(
        "VideoGeneration",
        prompt_list=[{"type": "text", "content": "x"}],
        num_screenshot=7,
    )
    steps = [FILM, add(*(f"<GEN_{at}>" for at in range(8)))]
    roles = {"image_to_video": [frames(8)]}
    standard = ask(steps, **given, selected=[seven], roles=roles, refine=0)
    assert digests(standard) == shots[:7]
    assert problems(standard) == [(0, 2)]
    assert (
        digests(
            ask(steps, **given, selected=[seven], roles=roles, refine=0, **OFFICIAL)
        )
        == shots
    )


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_views_come_in_the_order_that_is_documented(
    given: dict[str, Any], shots: list[str], profile: str
) -> None:
    fixed = [
        call("Use Fixed3DGeneration tool", "#image1#"),
        add(*(f"<GEN_{at}>" for at in range(4))),
    ]
    roles = {"fixed_views": [frames(4)], "free_views": [frames(3)]}
    how: dict[str, Any] = {**given, "roles": roles, "profile": profile}
    chosen = json.dumps({"tool": "Fixed3DGeneration", "arguments": {}})
    left60, left30, right30, right60 = shots[:4]
    released = [right30, right60, left60, left30]
    assert digests(ask(fixed, selected=[chosen], **how)) == (
        released if profile == "official" else shots[:4]
    )
    free = [
        call("Use Free3DGeneration tool: 45 left, 90 right, above", "#image1#"),
        add("<GEN_0>", "<GEN_1>", "<GEN_2>"),
    ]
    result = ask(
        free, selected=[select("Free3DGeneration", time_stamps=[0.875, 0.25, 0])], **how
    )
    assert digests(result) == (shots[2::-1] if profile == "official" else shots[:3])
    (asked,) = (step for step in result["steps"] if step["title"] == "tool")
    assert asked["text"] == "0.875 0.25 0"
    assert asked["options"] == {"options": {"image.n": 3}}


def test_the_number_of_pictures_is_checked_against_the_tools(
    given: dict[str, Any], shots: list[str]
) -> None:
    steps = [call("Use Fixed3DGeneration tool", "#image1#"), add("<GEN_0>")]
    chosen = json.dumps({"tool": "Fixed3DGeneration", "arguments": {}})
    how: dict[str, Any] = {
        **given,
        "selected": [chosen],
        "refine": 0,
        "roles": {"fixed_views": [frames(3)]},
    }
    standard, official = ask(steps, **how), ask(steps, **how, **OFFICIAL)
    assert problems(standard) == [(0, 1), (0, 2)]
    assert blocks(standard) == []
    assert problems(official) == []
    assert digests(official) == shots[:1]
    twice = ask(
        [DRAW, add("<GEN_0>")], **given, refine=0, roles={"text_to_image": [frames(2)]}
    )
    assert problems(twice) == [(0, 1), (0, 2)]
    assert blocks(twice) == []


@pytest.mark.parametrize(
    "bad",
    [
        select("Paint"),
        '{"tool": "ImageGeneration"}',
        select("ImageGeneration", negative_prompt="x"),
        select("ImageGeneration", prompt=" "),
        select("VideoGeneration", prompt_list=[]),
        select("VideoGeneration", prompt_list=[{"type": "text", "content": "x"}] * 2),
        select(
            "VideoGeneration",
            prompt_list=[{"type": "text", "content": "x"}],
            num_screenshot=9,
        ),
        select("Free3DGeneration", time_stamps=[]),
        select("Free3DGeneration", time_stamps=[1.5]),
        '{"tool": "ImageGen',
    ],
)
def test_a_selection_that_cannot_be_used_is_asked_for_again_and_is_then_a_problem(
    bad: str,
) -> None:
    assert blocks(ask(GOOD, selected=[bad, DRAWN])) == ["text 0", "image"]
    result = ask([DRAW, caption()], selected=[bad] * 3, refine=0)
    assert problems(result) == [(0, 1)]
    assert blocks(result) == ["text 0"]


def test_a_tool_gets_the_options_of_its_kind() -> None:
    asked = (
        PlanTools(load_tool("text_to_image"))
        .selected(DRAWN)
        .call([], {"size": "64x64"})
    )
    assert asked.request.params.options == {"image.size": "64x64"}


@pytest.mark.parametrize("name", ["ImageGeneration", "text_to_image"])
def test_a_tool_may_be_called_by_its_role_too(name: str) -> None:
    assert blocks(
        ask([call(f"Use {name}: x"), add("<GEN_0>")], selected=[select(name)])
    ) == ["image"]


def test_a_morph_gets_two_pictures_and_a_negative_prompt_is_not_used(
    given: dict[str, Any],
) -> None:
    morph = call("Use ImageMorph tool: a hare", "#image1#", "#image1#")
    result = ask(
        [morph, add("<GEN_3>")],
        **given,
        selected=[select("ImageMorph", prompt="a photo of a hare")],
    )
    assert blocks(result) == ["image"]
    assert len(result["steps"][2]["media"]) == 2
    drawn = ask(
        GOOD,
        selected=[
            select("ImageGeneration", prompt="a hare", negative_prompt="blurred")
        ],
    )
    assert drawn["steps"][2]["text"] == "a hare"
