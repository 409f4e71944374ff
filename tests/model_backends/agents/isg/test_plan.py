import pytest

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
    plan,
    problems,
    titles,
)


@pytest.mark.parametrize(
    "written",
    [
        "Here it is: {} Good luck!",
        "```json\n{}\n```",
        "[I count to 2 [two].] {}",
        "[1, 2, 3] {}",
        '{{"plan": {}}}',
    ],
    ids=[
        "prose",
        "fences",
        "brackets in prose",
        "a list of numbers",
        "an object around it",
    ],
)
def test_a_plan_is_found_in_what_stands_around_it(written: str) -> None:
    result = ask(
        written.replace("{{", "{").replace("}}", "}").replace("{}", plan(*GOOD))
    )
    assert blocks(result) == ["text 0", "image"]
    assert result["warnings"] == []


BRACKET = [call("Use ImageGeneration tool: a sign that says ]["), *GOOD[1:]]
READ_BY_ONE = {
    "a bracket in a text": plan(*BRACKET).replace("][", "]"),
    "brackets in prose": f"[two] {plan(*GOOD)}",
    "numbers before": f"[1, 2, 3] {plan(*GOOD)}",
    "a trailing comma": plan(*GOOD)[:-1] + ",]",
}


@pytest.mark.parametrize("written", READ_BY_ONE.values(), ids=READ_BY_ONE)
def test_the_released_agent_reads_from_the_first_bracket_to_its_closing_one(
    written: str,
) -> None:
    assert blocks(ask(written)) == ["text 0", "image"]
    assert ask(written, **OFFICIAL)["error"]["kind"] == "bad_reply"


def test_the_released_agent_reads_a_plan_with_prose_around_it() -> None:
    assert blocks(ask(f"Here: {plan(*GOOD)} Done.", **OFFICIAL)) == ["text 0", "image"]


@pytest.mark.parametrize(
    "written",
    [
        plan(*GOOD)[:-30],
        plan(*GOOD).replace("}, {", "}, and then {"),
        "No plan.",
        "[1, 2]",
        '[{"Task": 1}]',
        '[{"Task": "Caption", "Input_images": 3}]',
    ],
    ids=[
        "cut off",
        "prose inside",
        "prose",
        "numbers",
        "no label",
        "no list",
    ],
)
@pytest.mark.parametrize("profile", ["standard", "official"])
def test_a_reply_without_a_plan_is_asked_for_again(written: str, profile: str) -> None:
    result = ask(written, roles={"planner": [written, plan(*GOOD)]}, profile=profile)
    assert titles(result)[:2] == ["plan", "select"]
    assert blocks(result) == ["text 0", "image"]
    lost = ask(written, roles={"planner": [written] * 3}, profile=profile)
    assert lost["error"]["kind"] == "bad_reply"
    assert titles(lost) == ["plan"]


def test_of_many_steps_the_first_are_carried_out() -> None:
    many = [DRAW, add("<GEN_0>")] * 1000
    result = ask(many, selected=[DRAWN] * 200, max_items=5, refine=0)
    assert blocks(result) == ["image"] * 5
    assert titles(result).count("tool") == 5
    assert problems(result) == [(0, 11), (0, 12)]
    assert blocks(ask([DRAW, add(*["<GEN_0>"] * 1000)], refine=0)) == []
    short = ask(
        "[" + ",".join(['{"Task":"Caption"}'] * 10_000) + "]", max_items=5, refine=0
    )
    assert titles(short).count("caption") == 5
    assert problems(short) == [(0, 6)]
    # it is longer than a reply may be
    assert ask([caption()] * 10_000)["error"]["kind"] == "bad_reply"


@pytest.mark.parametrize(
    ("written", "found"), [("[]", []), (plan(*GOOD[:2], {"Step": 3}), [(0, 3)])]
)
def test_the_released_agent_takes_a_plan_without_steps_and_steps_without_a_label(
    written: str, found: list[tuple[int, int]]
) -> None:
    official = ask(written, refine=0, **OFFICIAL)
    assert official["error"] is None
    assert problems(official) == found
    assert ask(written)["error"]["kind"] == "bad_reply"


@pytest.mark.parametrize("label", ["ImageEdit", "Check", "call_tool"])
@pytest.mark.parametrize("profile", ["standard", "official"])
def test_an_unknown_label_ends_the_second_pass(label: str, profile: str) -> None:
    result = ask(
        [DRAW, caption("<GEN_0>"), {"Task": label}, add("<GEN_0>")],
        refine=0,
        profile=profile,
    )
    assert blocks(result) == ["text 0"]
    assert problems(result) == [(0, 3)]
    assert titles(result) == ["plan", "select", "tool", "caption"]
