import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.authoring.agent_bench import load_agent
from mmeval.errors import UsageError
from mmeval.records import GenerationParams
from tests.support.agents import (
    BAD,
    DRAW,
    DRAWN,
    EDIT,
    EDITED,
    GOOD,
    MARK,
    OFFICIAL,
    add,
    ask,
    blocks,
    call,
    calls_of,
    caption,
    driven,
    plan,
    problems,
    titles,
)


def test_a_plan_becomes_texts_and_pictures_in_its_order(given: dict[str, Any]) -> None:
    edited = call(EDIT, "<GEN_0>")
    result = ask(
        [add("#image1#"), DRAW, edited, caption("<GEN_1>"), add("<GEN_1>", "<GEN_0>")],
        **given,
        selected=[DRAWN, EDITED],
    )
    assert titles(result) == ["plan", "select", "select", "tool", "tool", "caption"]
    assert blocks(result) == ["image", "text 0", "image", "image"]
    assert result["error"] is None
    assert result["warnings"] == []
    drawn, changed = (step for step in result["steps"] if step["title"] == "tool")
    assert drawn["role"] == "text_to_image"
    assert drawn["text"] == "a hare"
    assert drawn["media"] == []
    first, second = (
        part["media"]["sha256"] for part in (result["parts"][3], result["parts"][2])
    )
    assert changed["role"] == "image_edit"
    assert [medium["sha256"] for medium in changed["media"]] == [first]
    assert [medium["sha256"] for medium in result["steps"][-1]["media"]] == [second]
    assert result["evidence"] | {"plan": None} == {
        "structure": [],
        "plan": None,
        "log": [],
        "rounds": 0,
        "refine_exhausted": False,
        "smoothing": None,
    }


def test_the_planner_sees_the_pictures_then_the_task_then_the_structure(
    given: dict[str, Any],
) -> None:
    stated = {
        "type": "text",
        "text": "Show it twice. Blocks: <gen_img1> <gen_text1><gen_img2>",
    }
    result = ask(GOOD, **given, prompt=[stated], structure="prompt")
    asked = result["steps"][0]
    assert asked["title"] == "plan"
    assert len(asked["media"]) == 1
    assert asked["text"].index("Show it twice") < asked["text"].index(
        "<gen_img1> <gen_text1> <gen_img2>"
    )
    assert result["evidence"]["structure"] == [
        "<gen_img1>",
        "<gen_text1>",
        "<gen_img2>",
    ]
    listed = 'Not <gen_text1>. Blocks: ["<gen_text1>", "<gen_img1>"]'
    assert ask(GOOD, **given, prompt=listed, structure="prompt")["evidence"][
        "structure"
    ] == [
        "<gen_text1>",
        "<gen_img1>",
    ]
    without = ask(GOOD, structure="prompt")
    assert without["evidence"]["structure"] == []
    assert len(without["warnings"]) == 1
    assert blocks(without) == ["text 0", "image"]


@pytest.mark.parametrize(
    ("prompt", "task"),
    [
        (
            [
                {"type": "text", "text": "A"},
                {"type": "image", "path": "user.png"},
                {"type": "text", "text": "B"},
            ],
            "A\nB",
        ),
        ("See <image1>, and draw.", "See #image1#, and draw."),
    ],
    ids=["beside the words", "tags"],
)
def test_pictures_part_the_words_of_the_task_or_are_called_in_them_as_plans_call_them(
    prompt: Any, task: str, given: dict[str, Any]
) -> None:
    files = given["files"] if isinstance(prompt, str) else ()
    asked = ask(GOOD, prompt=prompt, folder=given["folder"], files=files)["steps"][0]
    assert f" task begins\n{task}\n" in asked["text"]
    assert len(asked["media"]) == 1


def test_the_planner_finds_the_structure_as_the_first_stage_of_question_generation(
    given: dict[str, Any],
) -> None:
    found = json.dumps(
        {
            "Query": ["<query_text1>", "<query_img1>"],
            "Answer": ["<gen_text1>", "<gen_img1>"],
        }
    )
    two_texts = found.replace("<gen_img1>", "<gen_text2>")
    good = {"planner": [two_texts, found, plan(*GOOD)]}
    result = ask(GOOD, **given, structure="self", roles=good)
    assert titles(result)[:2] == ["structure", "plan"]
    assert result["evidence"]["structure"] == ["<gen_text1>", "<gen_img1>"]
    assert len(result["steps"][0]["media"]) == 1
    assert "<query_img1>" in result["steps"][0]["text"]
    miscounted = ask(GOOD, structure="self", roles={"planner": [found, plan(*GOOD)]})
    assert miscounted["evidence"]["structure"] == ["<gen_text1>", "<gen_img1>"]
    unread = ask(
        GOOD,
        **given,
        structure="self",
        roles={"planner": [*["It has two."] * 3, plan(*GOOD)]},
    )
    assert unread["evidence"]["structure"] == []
    assert len(unread["warnings"]) == 1
    assert unread["error"] is None


def test_the_planner_is_told_of_the_tools_that_are_there() -> None:
    there = ask(GOOD)["steps"][0]["text"]
    absent = (
        "image_edit",
        "image_to_video",
        "fixed_views",
        "free_views",
        "image_morph",
    )
    alone = ask(GOOD, roles=dict.fromkeys(absent))["steps"][0]["text"]
    for name in (
        "ImageEdit",
        "VideoGeneration",
        "Fixed3DGeneration",
        "Free3DGeneration",
        "ImageMorph",
    ):
        assert name in there
        assert name not in alone


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_a_step_that_names_a_tool_without_a_backend_is_a_problem_of_the_plan(
    profile: str,
) -> None:
    steps = [call(f"{EDIT}, after ImageGeneration"), caption()]
    result = ask(steps, GOOD, roles={"image_edit": None}, profile=profile)
    assert titles(result) == ["plan", "caption", "refine", "select", "tool", "caption"]
    (row,) = result["evidence"]["log"]
    assert row["step"] == 1
    assert "--role image_edit=BACKEND" in row["problem"]
    assert row["problem"] in result["steps"][2]["text"]
    assert blocks(result) == ["text 1", "image"]
    assert result["evidence"]["rounds"] == 1


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_a_plan_with_problems_is_made_again_and_carried_out_from_the_start(
    profile: str,
) -> None:
    result = ask(BAD, GOOD, profile=profile)
    assert titles(result) == [
        "plan",
        "select",
        "tool",
        "caption",
        "refine",
        "select",
        "tool",
        "caption",
    ]
    assert blocks(result) == ["text 1", "image"]
    assert result["warnings"] == []
    evidence = result["evidence"]
    assert evidence["rounds"] == 1
    assert evidence["refine_exhausted"] is False
    assert problems(result) == [(0, 4)]
    assert [len(steps) for steps in evidence["plan"]] == [4, 3]
    refine_step = result["steps"][4]
    assert refine_step["role"] == "refiner"
    assert refine_step["media"] == []
    assert all(
        word in refine_step["text"] for word in ("step 4", '"Draw"', "Show a hare")
    )


def test_after_the_last_round_the_last_answer_is_kept_or_the_sample_is_skipped() -> (
    None
):
    standard = ask(BAD, BAD, BAD)
    assert titles(standard).count("refine") == 2
    assert blocks(standard) == ["text 2", "image"]
    assert standard["evidence"]["rounds"] == 2
    assert standard["evidence"]["refine_exhausted"] is True
    assert problems(standard) == [(0, 4), (1, 4), (2, 4)]
    assert len(standard["warnings"]) == 2
    official = ask(BAD, BAD, BAD, **OFFICIAL)
    assert blocks(official) == []
    assert official["evidence"]["refine_exhausted"] is True
    assert official["error"] is None


def test_refinement_can_be_switched_off() -> None:
    result = ask(BAD, refine=0)
    assert titles(result).count("refine") == 0
    assert blocks(result) == ["text 0", "image"]
    assert result["evidence"]["refine_exhausted"] is False
    assert len(result["warnings"]) == 1


def test_a_refiner_without_a_plan_leaves_the_last_answer() -> None:
    result = ask(BAD, *["No."] * 3)
    assert blocks(result) == ["text 0", "image"]
    assert result["error"] is None
    assert result["evidence"]["rounds"] == 0
    assert result["evidence"]["refine_exhausted"] is True


@pytest.mark.parametrize(
    "role",
    ["planner", "tool_selector", "captioner", "text_to_image", "refiner", "smoother"],
)
@pytest.mark.parametrize("profile", ["standard", "official"])
def test_an_outage_of_a_role_is_a_failure_of_the_answer_with_its_evidence(
    role: str, profile: str
) -> None:
    result = ask(
        BAD if role == "refiner" else GOOD,
        roles={role: [{"error": "timeout"}]},
        smooth=True,
        profile=profile,
    )
    assert result["error"]["kind"] == "timeout"
    assert result["answer"] is None
    assert len(result["evidence"]["plan"]) == (0 if role == "planner" else 1)


@pytest.mark.parametrize("role", ["tool_selector", "captioner", "refiner", "smoother"])
def test_the_planner_stands_in_for_a_role_that_is_not_there(role: str) -> None:
    every = {
        "tool_selector": DRAWN,
        "captioner": "a text",
        "refiner": plan(*GOOD),
        "smoother": f"A{MARK}",
    }
    order = [
        plan(*BAD),
        every["tool_selector"],
        every["captioner"],
        every["refiner"],
        DRAWN,
        "a text",
        f"A{MARK}",
    ]
    roles = [
        "planner",
        "tool_selector",
        "captioner",
        "refiner",
        "tool_selector",
        "captioner",
        "smoother",
    ]
    own = {
        name: [said for said, by in zip(order, roles, strict=True) if by == name]
        for name in (*every, "planner")
    }
    own["planner"] = [
        said for said, by in zip(order, roles, strict=True) if by in ("planner", role)
    ]
    del own[role]
    args = {"structure": "none"}
    result = driven("isg_agent", own, prompt="x", args=args)
    assert blocks(result) == ["A", "image"]
    assert result["error"] is None
    assert result["warnings"] == []
    assert role not in {step["role"] for step in result["steps"]}


def test_the_released_agent_has_parameters_of_its_own() -> None:
    for profile, own in (
        ("standard", {}),
        ("official", {"temperature": 0.5, "max_tokens": 4096}),
    ):
        result = ask(
            BAD, GOOD, roles={"smoother": [f"A{MARK}"]}, smooth=True, profile=profile
        )
        by_title = {step["title"]: step["options"] for step in result["steps"]}
        assert by_title["plan"] == own
        assert by_title["refine"] == (own and {"temperature": 0.7, "max_tokens": 4096})
        assert by_title["select"] == (own and {"max_tokens": 512})
        assert by_title["smooth"] == (own and {"temperature": 0.0, "max_tokens": 4096})


def test_the_planner_samples_as_the_request_says_and_is_not_cut_off_by_it() -> None:
    params = GenerationParams(
        temperature=0.3, max_tokens=9, options={"image.size": "64x64"}
    )
    layout = json.dumps(
        {"Query": ["<query_text1>"], "Answer": ["<gen_text1>", "<gen_img1>"]}
    )
    asked = calls_of("isg_agent", params, ("text", "image"), layout, plan(*GOOD))
    assert [(call.title, call.request.params.to_json()) for call in asked] == [
        ("structure", {"temperature": 0.3}),
        ("plan", {"temperature": 0.3}),
        ("select", {}),
    ]


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("absent", [(), ("text_to_image",)])
def test_the_examples_of_its_calls_lead_through_every_step(
    absent: tuple[str, ...], profile: str, given: dict[str, Any]
) -> None:
    tools = dict.fromkeys(absent)
    result = driven(
        "isg_agent",
        tools,
        given["folder"],
        prompt="Draw.",
        files=["user.png"],
        args={"profile": profile},
    )
    made = ["select", "tool", "caption"]
    assert titles(result) == ["structure", "plan", *made, "refine", *made, "smooth"]
    assert {step["role"] for step in result["steps"]} == {
        "planner",
        "image_edit" if absent else "text_to_image",
    }
    assert result["error"] is None
    assert result["warnings"] == []
    assert len(result["evidence"]["log"]) == 1


@pytest.mark.parametrize(
    "args",
    [{"structure": "golden"}, {"refine": -1}, {"max_items": 0}, {"profile": "x"}],
)
def test_an_argument_that_is_none_is_refused(args: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ask(GOOD, **args)


def test_a_prompt_of_ones_own_is_part_of_the_identity(tmp_path: Path) -> None:
    (tmp_path / "caption.jinja").write_text(
        "[user]\n{{ step }}, in verse. {{ pictures }}\n"
    )
    own, ours = (
        load_agent("isg_agent")(prompts=folder) for folder in (str(tmp_path), "")
    )
    assert own.identity["prompts"] != ours.identity["prompts"]
    assert "in verse" in ask(GOOD, prompts=str(tmp_path))["steps"][-1]["text"]
