import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UsageError
from tests.support.agent_cases import driven, titles
from tests.support.isg_agent import (
    DRAW,
    DRAWN,
    EDIT,
    EDITED,
    GOOD,
    add,
    ask,
    blocks,
    call,
    caption,
    plan,
    problems,
    select,
)
from tests.support.tiny_media import picture

OFFICIAL = {"profile": "official"}
FILM = call("Use VideoGeneration tool: it runs", "#image1#")
FILMED = select("VideoGeneration", prompt_list=[{"type": "text", "content": "it runs"}], num_screenshot=2)
BAD = [*GOOD, {"Task": "Draw"}]


@pytest.fixture
def given(tmp_path: Path) -> dict[str, Any]:
    """A task with a picture."""
    (tmp_path / "user.png").write_bytes(picture())
    return {"folder": tmp_path, "files": ["user.png"]}


def test_a_plan_becomes_texts_and_pictures_in_its_order(given: dict[str, Any]) -> None:
    edited = call(EDIT, "<GEN_0>")
    result = ask([add("#image1#"), DRAW, edited, caption("<GEN_1>"), add("<GEN_1>", "<GEN_0>")], **given,
                 selected=[DRAWN, EDITED])  # fmt: skip
    assert titles(result) == ["plan", "select", "tool", "select", "tool", "caption"]
    assert blocks(result) == ["image", "text 0", "image", "image"]
    assert (result["error"], result["warnings"]) == (None, [])
    drawn, changed = (step for step in result["steps"] if step["title"] == "tool")
    assert (drawn["role"], drawn["text"], drawn["media"]) == ("text_to_image", "a hare", [])
    first, second = (part["media"]["sha256"] for part in (result["parts"][3], result["parts"][2]))
    assert (changed["role"], [medium["sha256"] for medium in changed["media"]]) == ("image_edit", [first])
    assert [medium["sha256"] for medium in result["steps"][-1]["media"]] == [second]
    assert result["evidence"] | {"plan": None} == {
        "structure": [],
        "plan": None,
        "log": [],
        "rounds": 0,
        "refine_exhausted": False,
        "smoothing": None,
    }


def test_the_planner_sees_the_pictures_then_the_task_then_the_structure(given: dict[str, Any]) -> None:
    stated = {"type": "text", "text": "Show it twice. Blocks: <gen_img1> <gen_text1><gen_img2>"}
    result = ask(GOOD, **given, prompt=[stated], structure="prompt")
    asked = result["steps"][0]
    assert (asked["title"], len(asked["media"])) == ("plan", 1)
    assert asked["text"].index("Show it twice") < asked["text"].index("<gen_img1> <gen_text1> <gen_img2>")
    assert result["evidence"]["structure"] == ["<gen_img1>", "<gen_text1>", "<gen_img2>"]
    without = ask(GOOD, structure="prompt")
    assert (without["evidence"]["structure"], len(without["warnings"]), blocks(without)) == (
        [],
        1,
        ["text 0", "image"],
    )


def test_the_planner_finds_the_structure_as_the_first_stage_of_question_generation(given: dict[str, Any]) -> None:
    found = json.dumps({"Query": ["<query_text1>", "<query_img1>"], "Answer": ["<gen_text1>", "<gen_img1>"]})
    two_texts = found.replace("<gen_img1>", "<gen_text2>")
    good = {"planner": [two_texts, found, plan(*GOOD)]}
    result = ask(GOOD, **given, structure="self", roles=good)
    assert titles(result)[:2] == ["structure", "plan"]
    assert result["evidence"]["structure"] == ["<gen_text1>", "<gen_img1>"]
    assert (len(result["steps"][0]["media"]), "<query_img1>" in result["steps"][0]["text"]) == (1, True)
    unread = ask(GOOD, **given, structure="self", roles={"planner": [*["It has two."] * 3, plan(*GOOD)]})
    assert (unread["evidence"]["structure"], len(unread["warnings"]), unread["error"]) == ([], 1, None)


def test_the_planner_is_told_of_the_tools_that_are_there() -> None:
    there = ask(GOOD)["steps"][0]["text"]
    absent = ("image_edit", "image_to_video", "fixed_views", "free_views", "image_morph")
    alone = ask(GOOD, roles=dict.fromkeys(absent))["steps"][0]["text"]
    for name in ("ImageEdit", "VideoGeneration", "Fixed3DGeneration", "Free3DGeneration", "ImageMorph"):
        assert (name in there, name in alone) == (True, False)


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_a_step_that_names_a_tool_nobody_plays_is_a_problem_of_the_plan(profile: str) -> None:
    result = ask([call(EDIT), caption()], GOOD, roles={"image_edit": None}, profile=profile)
    assert titles(result) == ["plan", "caption", "refine", "select", "tool", "caption"]
    (row,) = result["evidence"]["log"]
    assert (row["step"], "--role image_edit=BACKEND" in row["problem"]) == (1, True)
    assert row["problem"] in result["steps"][2]["text"]
    assert (blocks(result), result["evidence"]["rounds"]) == (["text 1", "image"], 1)


def test_an_agent_without_any_tool_writes_texts_alone() -> None:
    tools = ("text_to_image", "image_edit", "image_to_video", "fixed_views", "free_views", "image_morph")
    replies = {"planner": [plan(call("a hare"), caption())], "captioner": ["one"], **dict.fromkeys(tools)}
    args = {"structure": "none", "refine": 0}
    result = driven("isg_agent", replies, prompt="Say it.", wants=["text"], args=args)
    assert (titles(result), blocks(result), problems(result)) == (["plan", "caption"], ["one"], [(0, 1)])


# What is in a plan ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        "Here it is: {} Good luck!",
        "```json\n{}\n```",
        "[I count to 2 [two].] {}",
        "[1, 2, 3] {}",
        '{{"plan": {}}}',
    ],
    ids=["prose", "fences", "brackets in prose", "a list of numbers", "an object around it"],
)
def test_a_plan_is_found_in_what_stands_around_it(written: str) -> None:
    result = ask(written.replace("{{", "{").replace("}}", "}").replace("{}", plan(*GOOD)))
    assert (blocks(result), result["warnings"]) == (["text 0", "image"], [])


BRACKET = [call("Use ImageGeneration tool: a sign that says ]["), *GOOD[1:]]
READ_BY_ONE = {
    "a bracket in a text": plan(*BRACKET).replace("][", "]"),
    "brackets in prose": f"[two] {plan(*GOOD)}",
    "numbers before": f"[1, 2, 3] {plan(*GOOD)}",
    "a trailing comma": plan(*GOOD)[:-1] + ",]",
}


@pytest.mark.parametrize("written", READ_BY_ONE.values(), ids=READ_BY_ONE)
def test_the_released_agent_reads_from_the_first_bracket_to_its_closing_one(written: str) -> None:
    assert blocks(ask(written)) == ["text 0", "image"]
    assert ask(written, **OFFICIAL)["error"]["kind"] == "bad_reply"


def test_the_released_agent_reads_a_plan_with_prose_around_it() -> None:
    assert blocks(ask(f"Here: {plan(*GOOD)} Done.", **OFFICIAL)) == ["text 0", "image"]


@pytest.mark.parametrize(
    "written",
    [plan(*GOOD)[:-30], plan(*GOOD)[:60], "No plan.", "[1, 2]", '[{"Step": 1}]', '[{"Task": "AddImage", "Input_images": 3}]'],
    ids=["cut off", "cut off early", "prose", "numbers", "no label", "no list"],
)  # fmt: skip
@pytest.mark.parametrize("profile", ["standard", "official"])
def test_a_reply_without_a_plan_is_asked_for_again(written: str, profile: str) -> None:
    result = ask(written, roles={"planner": [written, plan(*GOOD)]}, profile=profile)
    assert (titles(result)[:2], blocks(result)) == (["plan", "select"], ["text 0", "image"])
    lost = ask(written, roles={"planner": [written] * 3}, profile=profile)
    assert (lost["error"]["kind"], titles(lost)) == ("bad_reply", ["plan"])


def test_of_many_steps_the_first_are_carried_out() -> None:
    many = [DRAW, add("<GEN_0>")] * 1000
    result = ask(many, selected=[DRAWN] * 200, max_items=5, refine=0)
    assert (blocks(result), titles(result).count("tool")) == (["image"] * 5, 5)
    assert problems(result) == [(0, 11), (0, 12)]
    assert blocks(ask([DRAW, add(*["<GEN_0>"] * 1000)], refine=0)) == []
    short = ask([{"Task": "Caption"}] * 10_000, max_items=5, refine=0)
    assert (titles(short).count("caption"), problems(short)) == (5, [(0, 6)])
    assert ask([caption()] * 10_000)["error"]["kind"] == "bad_reply"  # it is longer than a reply may be


@pytest.mark.parametrize("label", ["ImageEdit", "Check", "call_tool"])
@pytest.mark.parametrize("profile", ["standard", "official"])
def test_an_unknown_label_ends_the_second_pass(label: str, profile: str) -> None:
    result = ask([DRAW, caption("<GEN_0>"), {"Task": label}, add("<GEN_0>")], refine=0, profile=profile)
    assert (blocks(result), problems(result)) == (["text 0"], [(0, 3)])
    assert titles(result) == ["plan", "select", "tool", "caption"]


# What a plan names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("name", ["<GEN_1>", "<GEN_0>", "#image9#", "#image0#", "hare.png"])
def test_a_tool_is_not_asked_with_a_picture_that_is_not_there(name: str, profile: str, given: dict[str, Any]) -> None:
    result = ask([call(EDIT, name), DRAW, add("<GEN_1>")], **given, selected=[DRAWN], refine=0, profile=profile)
    assert problems(result)[0] == (0, 1)
    assert [step["role"] for step in result["steps"] if step["title"] == "tool"] == (
        ["text_to_image"] if profile == "standard" else []
    )


def test_a_picture_that_is_added_and_not_there_is_reported_and_vanishes_in_the_released_agent() -> None:
    steps = [DRAW, add("<GEN_0>", "#image9#", "<GEN_7>")]
    standard, official = (ask(steps, refine=0, profile=profile) for profile in ("standard", "official"))
    assert (blocks(standard), blocks(official)) == (["image"], ["image"])
    assert (problems(standard), problems(official)) == ([(0, 2), (0, 2)], [])


@pytest.mark.parametrize(("text", "images"), [("ImageEdit", 0), ("ImageEdit", 2), ("ImageGeneration", 1)])
@pytest.mark.parametrize("profile", ["standard", "official"])
def test_too_few_or_too_many_pictures_for_a_tool_are_a_problem(
    text: str, images: int, profile: str, given: dict[str, Any]
) -> None:
    steps = [call(f"Use {text} tool: x", *["#image1#"] * images), caption()]
    result = ask(steps, **given, selected=[select(text)], refine=0, profile=profile)
    assert (problems(result), titles(result)) == ([(0, 1)], ["plan", "select", "caption"])
    assert f"{images}" in result["evidence"]["log"][0]["problem"]


# Tools of several pictures ----------------------------------------------------------------------------------------------


def test_a_tool_of_several_pictures_gives_as_many_as_were_asked_for(given: dict[str, Any]) -> None:
    result = ask([FILM, add("<GEN_0>", "<GEN_1>")], **given, selected=[FILMED])
    assert (blocks(result), result["warnings"]) == (["image", "image"], [])
    (asked,) = (step for step in result["steps"] if step["title"] == "tool")
    assert (asked["text"], asked["options"], len(asked["media"])) == ("it runs", {"options": {"image.n": 2}}, 1)


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_a_film_beside_another_tool_is_a_problem_wherever_it_stands(first: bool, given: dict[str, Any]) -> None:
    steps = [FILM, DRAW] if first else [DRAW, FILM]
    selected = [FILMED, DRAWN] if first else [DRAWN, FILMED]
    shown = add("<GEN_0>", "<GEN_1>", "<GEN_2>")
    standard = ask([*steps, shown], **given, selected=selected, refine=0)
    assert problems(standard)[0] == (0, 1 if first else 2)
    assert [step["role"] for step in standard["steps"] if step["title"] == "tool"] == ["text_to_image"]
    official = ask([*steps, shown], **given, selected=selected, refine=0, **OFFICIAL)
    assert problems(official) == ([] if first else [(0, 2)])
    assert blocks(official) == ["image"] * (3 if first else 1)


def frames(count: int) -> list[dict[str, str]]:
    return [{"type": "image", "path": f"{at}.png"} for at in range(count)]


@pytest.fixture
def shots(given: dict[str, Any]) -> list[str]:
    """The digests of eight pictures, ``0.png`` and so on."""
    import hashlib

    found = []
    for at in range(8):
        data = picture(size=(8 + at, 8))
        (given["folder"] / f"{at}.png").write_bytes(data)
        found.append(hashlib.sha256(data).hexdigest())
    return found


def digests(result: dict[str, Any]) -> list[str]:
    return [part["media"]["sha256"] for part in result["parts"]]


def test_a_film_of_eight_pictures_in_place_of_seven_is_cut(given: dict[str, Any], shots: list[str]) -> None:
    seven = select("VideoGeneration", prompt_list=[{"type": "text", "content": "x"}], num_screenshot=7)
    steps = [FILM, add(*(f"<GEN_{at}>" for at in range(8)))]
    roles = {"image_to_video": [frames(8)]}
    standard = ask(steps, **given, selected=[seven], roles=roles, refine=0)
    assert (digests(standard), problems(standard)) == (shots[:7], [(0, 2)])
    assert digests(ask(steps, **given, selected=[seven], roles=roles, refine=0, **OFFICIAL)) == shots


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_views_come_in_the_order_that_is_documented(given: dict[str, Any], shots: list[str], profile: str) -> None:
    fixed = [call("Use Fixed3DGeneration tool", "#image1#"), add(*(f"<GEN_{at}>" for at in range(4)))]
    roles = {"fixed_views": [frames(4)], "free_views": [frames(3)]}
    how: dict[str, Any] = {**given, "roles": roles, "profile": profile}
    chosen = json.dumps({"tool": "Fixed3DGeneration", "arguments": {}})
    left60, left30, right30, right60 = shots[:4]
    released = [right30, right60, left60, left30]
    assert digests(ask(fixed, selected=[chosen], **how)) == (released if profile == "official" else shots[:4])
    free = [
        call("Use Free3DGeneration tool: 45 left, 90 right, above", "#image1#"),
        add("<GEN_0>", "<GEN_1>", "<GEN_2>"),
    ]
    result = ask(free, selected=[select("Free3DGeneration", time_stamps=[0.875, 0.25, 0])], **how)
    assert digests(result) == (shots[2::-1] if profile == "official" else shots[:3])
    (asked,) = (step for step in result["steps"] if step["title"] == "tool")
    assert (asked["text"], asked["options"]) == ("0.875 0.25 0", {"options": {"image.n": 3}})


def test_the_number_of_pictures_is_checked_against_the_tools(given: dict[str, Any], shots: list[str]) -> None:
    steps = [call("Use Fixed3DGeneration tool", "#image1#"), add("<GEN_0>")]
    chosen = json.dumps({"tool": "Fixed3DGeneration", "arguments": {}})
    how: dict[str, Any] = {**given, "selected": [chosen], "refine": 0, "roles": {"fixed_views": [frames(3)]}}
    standard, official = ask(steps, **how), ask(steps, **how, **OFFICIAL)
    assert (problems(standard), blocks(standard)) == ([(0, 1), (0, 2)], [])
    assert (problems(official), digests(official)) == ([], shots[:1])
    twice = ask([DRAW, add("<GEN_0>")], **given, refine=0, roles={"text_to_image": [frames(2)]})
    assert (problems(twice), blocks(twice)) == ([(0, 1), (0, 2)], [])


@pytest.mark.parametrize(
    "bad",
    [
        select("Paint"),
        '{"tool": "ImageGeneration"}',
        select("ImageGeneration", negative_prompt="x"),
        select("ImageGeneration", prompt=" "),
        select("VideoGeneration", prompt_list=[]),
        select("VideoGeneration", prompt_list=[{"type": "text", "content": "x"}] * 2),
        select("VideoGeneration", prompt_list=[{"type": "text", "content": "x"}], num_screenshot=9),
        select("Free3DGeneration", time_stamps=[]),
        select("Free3DGeneration", time_stamps=[1.5]),
        '{"tool": "ImageGen',
    ],
)
def test_a_selection_that_cannot_be_used_is_asked_for_again_and_is_then_a_problem(bad: str) -> None:
    assert blocks(ask(GOOD, selected=[bad, DRAWN])) == ["text 0", "image"]
    result = ask([DRAW, caption()], selected=[bad] * 3, refine=0)
    assert (problems(result), blocks(result)) == ([(0, 1)], ["text 0"])


@pytest.mark.parametrize("name", ["ImageGeneration", "text_to_image"])
def test_a_tool_may_be_called_by_its_role_too(name: str) -> None:
    assert blocks(ask([call(f"Use {name}: x"), add("<GEN_0>")], selected=[select(name)])) == ["image"]


def test_a_morph_gets_two_pictures_and_a_negative_prompt_is_not_used(given: dict[str, Any]) -> None:
    morph = call("Use ImageMorph tool: a hare", "#image1#", "#image1#")
    result = ask([morph, add("<GEN_3>")], **given, selected=[select("ImageMorph", prompt="a photo of a hare")])
    assert (blocks(result), len(result["steps"][2]["media"])) == (["image"], 2)
    drawn = ask(GOOD, selected=[select("ImageGeneration", prompt="a hare", negative_prompt="blurred")])
    assert drawn["steps"][2]["text"] == "a hare"


# The two passes ---------------------------------------------------------------------------------------------------------


def test_tools_that_do_not_need_each_other_are_asked_at_once_unless_official() -> None:
    steps = [DRAW, DRAW, call(EDIT, "<GEN_1>"), caption("<GEN_0>"), caption("<GEN_2>"), add("<GEN_2>")]
    chosen = [DRAWN, DRAWN, EDITED]
    standard, official = (ask(steps, selected=chosen, profile=profile) for profile in ("standard", "official"))
    paths = {
        profile: [(step["title"], step["path"].split(".")[0]) for step in result["steps"][1:]]
        for profile, result in (("standard", standard), ("official", official))
    }
    one_by_one = ["select", "tool"] * 3 + ["caption"] * 2
    assert paths["official"] == [(title, str(at)) for at, title in enumerate(one_by_one, 1)]
    assert paths["standard"] == [
        *(("select", "1"), ("select", "1"), ("tool", "2"), ("tool", "2")),
        *(("select", "3"), ("tool", "4"), ("caption", "5"), ("caption", "5")),
    ]
    assert (blocks(standard), blocks(official)) == (["text 0\n\ntext 1", "image"], ["text 0text 1", "image"])


def test_a_step_without_a_picture_stops_those_that_need_it_or_all_in_the_released_agent() -> None:
    steps = [DRAW, call(EDIT, "<GEN_0>"), call(EDIT, "<GEN_1>"), DRAW, add("<GEN_3>"), add("<GEN_0>")]
    how: dict[str, Any] = {"selected": [DRAWN] * 4, "refine": 0}
    official = ask(steps, roles={"text_to_image": [{"error": "bad_request"}]}, **how, **OFFICIAL)
    assert (titles(official), problems(official)) == (["plan", "select", "tool"], [(0, 1)])
    assert (official["error"], blocks(official)) == (None, [])
    standard = ask(steps, roles={"text_to_image": [{"error": "bad_request"}, "no picture"]}, **how)
    assert titles(standard) == ["plan", "select", "select", "tool", "tool"]
    assert problems(standard) == [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6)]


def test_a_caption_that_fails_is_no_part_of_the_answer_but_in_the_released_agent() -> None:
    texts = [{"error": "bad_request"}, "kept"]
    steps = [caption(), caption()]
    standard = ask(steps, texts=texts, refine=0)
    assert (blocks(standard), problems(standard)) == (["kept"], [(0, 1)])
    (leaked,) = blocks(ask(steps, texts=texts, refine=0, **OFFICIAL))
    assert (leaked.startswith("bad_request"), leaked.endswith("kept")) == (True, True)
    empty = ask([caption(), caption()], texts=["  ", "", "\n", "kept"], refine=0)
    assert (blocks(empty), problems(empty)) == (["kept"], [(0, 1)])


def test_a_caption_about_a_picture_that_is_missing_is_not_asked_for() -> None:
    result = ask([caption("<GEN_0>"), caption()], refine=0)
    assert (blocks(result), problems(result), titles(result)) == (["text 0"], [(0, 1)], ["plan", "caption"])


def test_texts_are_stripped_and_blank_ones_vanish() -> None:
    result = ask([caption(), DRAW, add("<GEN_0>"), caption()], texts=["  a \n", " b"])
    assert blocks(result) == ["a", "image", "b"]


# Refinement -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_a_plan_with_problems_is_made_again_and_carried_out_from_the_start(profile: str) -> None:
    result = ask(BAD, GOOD, profile=profile)
    assert titles(result) == ["plan", "select", "tool", "caption", "refine", "select", "tool", "caption"]
    assert (blocks(result), result["warnings"]) == (["text 1", "image"], [])
    evidence = result["evidence"]
    assert (evidence["rounds"], evidence["refine_exhausted"], problems(result)) == (1, False, [(0, 4)])
    assert [len(steps) for steps in evidence["plan"]] == [4, 3]
    told = result["steps"][4]
    assert (told["role"], told["media"]) == ("refiner", [])
    assert all(word in told["text"] for word in ("step 4", '"Draw"', "Show a hare"))


def test_after_the_last_round_the_last_answer_is_kept_or_the_sample_is_skipped() -> None:
    standard = ask(BAD, BAD, BAD)
    assert (titles(standard).count("refine"), blocks(standard)) == (2, ["text 2", "image"])
    assert (standard["evidence"]["rounds"], standard["evidence"]["refine_exhausted"]) == (2, True)
    assert (problems(standard), len(standard["warnings"])) == ([(0, 4), (1, 4), (2, 4)], 2)
    official = ask(BAD, BAD, BAD, **OFFICIAL)
    assert (blocks(official), official["evidence"]["refine_exhausted"], official["error"]) == ([], True, None)


def test_refinement_can_be_switched_off() -> None:
    result = ask(BAD, refine=0)
    assert (titles(result).count("refine"), blocks(result)) == (0, ["text 0", "image"])
    assert (result["evidence"]["refine_exhausted"], len(result["warnings"])) == (False, 1)


def test_a_refiner_without_a_plan_leaves_the_last_answer() -> None:
    result = ask(BAD, *["No."] * 3)
    assert (blocks(result), result["error"]) == (["text 0", "image"], None)
    assert (result["evidence"]["rounds"], result["evidence"]["refine_exhausted"]) == (0, True)


# Smoothing --------------------------------------------------------------------------------------------------------------

MARK = "<boi><eoi>"
TWICE = [caption(), DRAW, add("<GEN_0>"), caption(), add("<GEN_0>")]


@pytest.mark.parametrize(
    ("replies", "expected", "outcome"),
    [
        ([f"A{MARK} B {MARK}"], ["A", "image", "B", "image"], (True, 0)),
        ([f"Sure. Result: A{MARK}B{MARK}"], ["A", "image", "B", "image"], (True, 0)),
        ([f"A{MARK}B", f"A{MARK}B{MARK}"], ["A", "image", "B", "image"], (True, 1)),
        ([f"A{MARK}B"] * 3, ["text 0", "image", "text 1", "image"], (False, 2)),
        ([f"A{MARK * 2}B{MARK}"] * 3, ["text 0", "image", "text 1", "image"], (False, 2)),
        ([f"{MARK}A{MARK}B"], ["text 0", "image", "text 1", "image"], (False, 0)),
        ([{"error": "too_long"}], ["text 0", "image", "text 1", "image"], (False, 0)),
        ([" "] * 3, ["text 0", "image", "text 1", "image"], (False, 0)),
    ],
    ids=["smoothed", "after Result:", "at the second try", "one lost", "one added", "moved", "an error", "blank"],
)
@pytest.mark.parametrize("profile", ["standard", "official"])
def test_smoothed_texts_are_taken_if_pictures_keep_their_number_and_places(
    replies: list[Any], expected: list[str], outcome: tuple[bool, int], profile: str
) -> None:
    result = ask(TWICE, roles={"smoother": replies}, smooth=True, profile=profile)
    found = result["evidence"]["smoothing"]
    assert (blocks(result), (found["accepted"], found["retried"])) == (expected, outcome)
    assert bool(found["kept"]) is not outcome[0]
    asked = next(step for step in result["steps"] if step["title"] == "smooth")
    assert (f"text 0{MARK}text 1{MARK}" in asked["text"], asked["media"]) == (True, [])


def test_only_an_answer_with_texts_and_without_problems_is_smoothed() -> None:
    for steps in ([DRAW, add("<GEN_0>")], BAD):
        result = ask(steps, smooth=True, refine=0)
        assert ("smooth" in titles(result), result["evidence"]["smoothing"]) == (False, None)


# Bad days ---------------------------------------------------------------------------------------------------------------

FOR_GOOD = {"error": "timeout"}
LATE = {
    "planner": {"planner": [FOR_GOOD]},
    "tool_selector": {"tool_selector": [FOR_GOOD]},
    "captioner": {"captioner": [FOR_GOOD]},
    "text_to_image": {"text_to_image": [FOR_GOOD]},
    "refiner": {"refiner": [FOR_GOOD]},
    "smoother": {"smoother": [FOR_GOOD]},
}


@pytest.mark.parametrize("role", LATE)
@pytest.mark.parametrize("profile", ["standard", "official"])
def test_an_outage_of_a_role_is_a_failure_of_the_answer_with_its_evidence(role: str, profile: str) -> None:
    result = ask(BAD if role == "refiner" else GOOD, roles=LATE[role], smooth=True, profile=profile)
    assert (result["error"]["kind"], result["answer"]) == ("timeout", None)
    assert len(result["evidence"]["plan"]) == (0 if role == "planner" else 1)


@pytest.mark.parametrize("role", ["tool_selector", "captioner", "refiner", "smoother"])
def test_the_planner_stands_in_for_a_role_that_is_not_there(role: str) -> None:
    every = {"tool_selector": DRAWN, "captioner": "a text", "refiner": plan(*GOOD), "smoother": f"A{MARK}"}
    order = [plan(*BAD), every["tool_selector"], every["captioner"], every["refiner"], DRAWN, "a text", f"A{MARK}"]
    roles = ["planner", "tool_selector", "captioner", "refiner", "tool_selector", "captioner", "smoother"]
    own = {name: [said for said, by in zip(order, roles, strict=True) if by == name] for name in (*every, "planner")}
    own["planner"] = [said for said, by in zip(order, roles, strict=True) if by in ("planner", role)]
    del own[role]
    args = {"structure": "none"}
    result = driven("isg_agent", own, prompt="x", args=args)
    assert (blocks(result), result["error"], result["warnings"]) == (["A", "image"], None, [])
    assert role not in {step["role"] for step in result["steps"]}


def test_the_released_agent_has_parameters_of_its_own() -> None:
    for profile, own in (("standard", {}), ("official", {"temperature": 0.5, "max_tokens": 4096})):
        result = ask(BAD, GOOD, roles={"smoother": [f"A{MARK}"]}, smooth=True, profile=profile)
        by_title = {step["title"]: step["options"] for step in result["steps"]}
        assert by_title["plan"] == own
        assert by_title["refine"] == (own and {"temperature": 0.7, "max_tokens": 4096})
        assert by_title["select"] == (own and {"max_tokens": 512})
        assert by_title["smooth"] == (own and {"temperature": 0.0, "max_tokens": 4096})


@pytest.mark.parametrize("args", [{"structure": "golden"}, {"refine": -1}, {"max_items": 0}, {"profile": "x"}])
def test_an_argument_that_is_none_is_refused(args: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ask(GOOD, **args)


def test_a_prompt_of_ones_own_is_part_of_the_identity(tmp_path: Path) -> None:
    from tests.support.agent_cases import agent_called

    (tmp_path / "caption.jinja").write_text("[user]\n{{ step }}, in verse. {{ pictures }}\n")
    own, ours = (agent_called("isg_agent")(prompts=folder) for folder in (str(tmp_path), ""))
    assert own.identity["prompts"] != ours.identity["prompts"]
    assert "in verse" in ask(GOOD, prompts=str(tmp_path))["steps"][-1]["text"]
