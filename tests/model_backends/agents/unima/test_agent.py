import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mmeval.media import Media
from mmeval.records import GenerationParams
from tests.support.agents import calls_of, driven, kinds, titles
from tests.support.tiny_media import picture, wav

QUESTION = "Draw <<image1>> at night, and count its hares."
CAPTION = "Two hares."
TCDC = {"tcdc": {"image1": "Two hares to count."}}
PARAPHRASE = {"paraphrased_question": "How many hares? Show them at night."}
NO_DATA = {"needs_data_analysis": False, "data_report": None}
REPORT = {"inputs": "a count", "steps": "add"}
DATA = {"needs_data_analysis": True, "data_report": REPORT, "code": "print(1 + 1)"}
PASS = {"pass": True, "issues": []}
FAIL = {"pass": False, "issues": ["no hare"]}
WANTED = ("text", "image", "document")


def plan(**changes: Any) -> dict[str, Any]:
    return {
        "modalities_content": {
            "image": {"image2": "<<image1>> at night"},
            "document": {"document1": "the count"},
        },
        "text_content": "Night: <<image2>>, count: <<document1>>",
        "tool_list": {"image2": "image_edit", "document1": "planner"},
        **changes,
    }


def blame(step: int) -> dict[str, Any]:
    return {"faulty_step": step, "reason": "look again"}


FIRST = (CAPTION, TCDC, PARAPHRASE, NO_DATA)
MENDED = (plan(), FAIL, blame(3), plan(), PASS)
DOCUMENT = "| hares |"
FULL = [
    "receive",
    "tcdc",
    "paraphrase",
    "data",
    "plan",
    "check",
    "generate",
    "generate",
]


@pytest.fixture
def ask(tmp_path: Path) -> Any:
    """Asks for a picture and a document about a picture, on replies of the planner, as
    JSON or as they are written."""
    (tmp_path / "user.png").write_bytes(picture())

    def asked(
        *planner: Any, tools: Mapping[str, Any] | None = None, **args: Any
    ) -> dict[str, Any]:
        said = [
            reply if isinstance(reply, str) or "error" in reply else json.dumps(reply)
            for reply in planner
        ]
        case = {
            "prompt": QUESTION,
            "files": ["user.png"],
            "wants": [*WANTED],
            "args": args,
        }
        return driven("unima", {"planner": said, **(tools or {})}, tmp_path, **case)

    return asked


def test_the_items_of_a_checked_report_are_made_in_the_places_of_their_tags(
    ask: Any,
) -> None:
    result = ask(*FIRST, plan(), PASS, DOCUMENT)
    assert titles(result) == FULL
    assert result["answer"] == plan()["text_content"]
    assert kinds(result) == ["image", "document"]
    assert result["error"] is None
    assert result["warnings"] == []
    assert result["evidence"] == {
        "tcdc": TCDC["tcdc"],
        "paraphrased_question": PARAPHRASE["paraphrased_question"],
        "data_report": None,
        "plan": plan(),
        "final_report": plan(),
        "checks": [PASS],
        "verification_exhausted": False,
    }
    drawn, written = result["steps"][-2:]
    assert drawn["role"] == "image_edit"
    assert drawn["text"] == "image 1 at night"
    assert len(drawn["media"]) == 1
    assert written["text"].count("the count") == 1


def test_each_step_reads_what_the_steps_before_it_found(ask: Any) -> None:
    prompt = {
        step["title"]: step["text"]
        for step in ask(*FIRST, plan(), PASS, DOCUMENT)["steps"]
    }
    assert QUESTION not in prompt["receive"]
    assert CAPTION in prompt["tcdc"]
    assert TCDC["tcdc"]["image1"] in prompt["plan"]
    assert PARAPHRASE["paraphrased_question"] in prompt["data"]
    assert QUESTION in prompt["check"]
    assert "the count" in prompt["check"]
    assert CAPTION not in prompt["check"]


@pytest.mark.parametrize(
    ("switch", "gone", "replies"),
    [
        (
            {"tcdc": False},
            {"tcdc"},
            (CAPTION, PARAPHRASE, NO_DATA, *MENDED),
        ),
        (
            {"ter": False},
            {"data", "plan", "check", "judge"},
            (CAPTION, TCDC, PARAPHRASE, plan()),
        ),
        ({"verification": False}, {"check", "judge"}, (*FIRST, plan())),
        (
            {"judger": False},
            {"judge"},
            (*FIRST, plan(), FAIL, *FIRST[1:], plan(), PASS),
        ),
        ({}, set(), (*FIRST, *MENDED)),
    ],
    ids=["tcdc", "ter", "verification", "judger", "none"],
)
def test_a_switch_removes_its_own_steps_alone(
    ask: Any, switch: Any, gone: set[str], replies: Any
) -> None:
    result = ask(*replies, DOCUMENT, **switch)
    assert set(titles(result)) == {*FULL, "judge"} - gone
    assert kinds(result) == ["image", "document"]
    assert result["warnings"] == []


def test_without_ter_the_conditioned_captions_go_straight_to_the_plan(
    ask: Any,
) -> None:
    result = ask(CAPTION, TCDC, PARAPHRASE, plan(), DOCUMENT, ter=False)
    planned = next(step for step in result["steps"] if step["title"] == "generate")
    assert TCDC["tcdc"]["image1"] in planned["text"]
    assert PARAPHRASE["paraphrased_question"] in planned["text"]
    assert CAPTION not in planned["text"]
    assert result["evidence"]["tcdc"] == TCDC["tcdc"]


@pytest.mark.parametrize(
    ("step", "again"),
    [
        (1, ["tcdc", "paraphrase", "data", "plan"]),
        (2, ["data", "plan"]),
        (3, ["plan"]),
        (4, ["plan"]),
    ],
)
def test_a_failed_check_repeats_the_steps_from_the_one_that_is_blamed(
    ask: Any, step: int, again: list[str]
) -> None:
    replies = {"tcdc": TCDC, "paraphrase": PARAPHRASE, "data": NO_DATA, "plan": plan()}
    result = ask(
        *FIRST,
        plan(),
        FAIL,
        blame(step),
        *(replies[title] for title in again),
        PASS,
        DOCUMENT,
    )
    assert titles(result) == [
        *FULL[:6],
        "judge",
        *again,
        "check",
        "generate",
        "generate",
    ]
    noted = [{**FAIL, "faulty_step": step, "reason": "look again"}, PASS]
    assert result["evidence"]["checks"] == noted
    assert result["warnings"] == []
    prompt = next(
        one["text"] for one in result["steps"][7:] if one["title"] == again[0]
    )
    assert "- no hare\n- look again" in prompt


def test_a_judger_that_names_no_step_begins_again_at_step_1(ask: Any) -> None:
    result = ask(*FIRST, plan(), FAIL, blame(9), *FIRST[1:], plan(), PASS, DOCUMENT)
    assert titles(result)[7:11] == ["tcdc", "paraphrase", "data", "plan"]
    assert len(result["warnings"]) == 1
    assert kinds(result) == ["image", "document"]


def test_a_check_that_never_passes_ends_with_the_last_report(ask: Any) -> None:
    last = plan(text_content="The last: <<image2>> <<document1>>")
    result = ask(
        *FIRST,
        plan(),
        FAIL,
        blame(3),
        plan(),
        FAIL,
        blame(3),
        last,
        FAIL,
        DOCUMENT,
        max_cycles=2,
    )
    assert titles(result).count("check") == 3
    assert result["answer"] == last["text_content"]
    assert kinds(result) == ["image", "document"]
    assert result["evidence"]["verification_exhausted"] is True
    assert result["warnings"][-1].startswith("verification_exhausted")


@pytest.mark.parametrize(
    "later", [[plan(), *[""] * 3], ["No plan."] * 3], ids=["the check", "the plan"]
)
def test_a_repair_that_cannot_be_read_has_not_used_up_the_repairs(
    ask: Any, later: list[Any]
) -> None:
    result = ask(*FIRST, plan(), FAIL, blame(3), *later, DOCUMENT)
    assert kinds(result) == ["image", "document"]
    assert result["evidence"]["checks"][-1]["pass"] is False
    assert result["evidence"]["verification_exhausted"] is False
    assert len(result["warnings"]) == 1


def drawing(words: str) -> dict[str, Any]:
    """A plan whose picture is made by these words."""
    content = {"image": {"image2": words}, "document": {"document1": "x"}}
    return plan(modalities_content=content)


BAD_PLANS = {
    "unknown tool": plan(tool_list={"image2": "magic", "document1": "planner"}),
    "no tool": plan(tool_list={"document1": "planner"}),
    "a tool of another kind": plan(
        tool_list={"image2": "text_to_speech", "document1": "planner"}
    ),
    "a tag without an item": plan(text_content="<<image2>> <<image3>> <<document1>>"),
    "an item without a tag": plan(text_content="<<document1>>"),
    "a tag twice": plan(text_content="<<image2>> <<image2>> <<document1>>"),
    "an item of the question": plan(text_content="<<image1>> <<image2>> <<document1>>"),
    "another kind": plan(
        modalities_content={
            "audio": {"image2": "x"},
            "document": {"document1": "the count"},
        }
    ),
    "a kind that nothing makes": plan(
        modalities_content={**plan()["modalities_content"], "video": {"video1": "x"}}
    ),
    "itself": drawing("like <<image1>> <<image2>>"),
    "a later one": drawing("<<image1>> with <<document1>>"),
    "out of range": drawing("<<image1>> <<image99>>"),
    "nothing to edit": drawing("a hare"),
    "500 items": {
        "modalities_content": {
            "image": {f"image{at}": "a hare" for at in range(2, 502)}
        },
        "text_content": " ".join(f"<<image{at}>>" for at in range(2, 502)),
        "tool_list": {f"image{at}": "text_to_image" for at in range(2, 502)},
    },
}


@pytest.mark.parametrize("bad", BAD_PLANS.values(), ids=BAD_PLANS)
def test_a_plan_that_does_not_agree_with_itself_is_made_again_without_a_judger(
    ask: Any, bad: Any
) -> None:
    result = ask(*FIRST, bad, plan(), PASS, DOCUMENT)
    assert titles(result) == [*FULL[:5], "plan", "check", "generate", "generate"]
    failed, passed = result["evidence"]["checks"]
    assert failed["pass"] is False
    assert failed["faulty_step"] == 3
    assert passed == PASS
    assert failed["issues"][0] in result["steps"][5]["text"]
    assert kinds(result) == ["image", "document"]
    assert result["warnings"]


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ("unknown tool", ["image", "document"]),
        ("no tool", ["image", "document"]),
        ("a tool of another kind", ["image", "document"]),
        ("a tag without an item", ["image", "(image)", "document"]),
        ("an item without a tag", ["document"]),
        ("a tag twice", ["image", "image", "document"]),
        ("an item of the question", ["(image)", "image", "document"]),
        ("another kind", ["(image)", "document"]),
        ("itself", ["image", "document"]),
        ("a later one", ["image", "document"]),
        ("out of range", ["image", "document"]),
        ("nothing to edit", ["(image)", "document"]),
        ("500 items", ["image"] * 32 + ["(image)"] * 468),
    ],
)
def test_without_verification_what_can_be_made_of_a_bad_plan_is_made(
    ask: Any, bad: str, expected: list[str]
) -> None:
    result = ask(*FIRST, BAD_PLANS[bad], DOCUMENT, verification=False)
    assert result["error"] is None
    assert result["answer"] == BAD_PLANS[bad]["text_content"]
    assert kinds(result) == expected
    assert 1 <= len(result["warnings"]) <= 12


@pytest.mark.parametrize(
    "written",
    [
        "<think>{'modalities_content': 1}</think> {}",
    ],
    ids=["thoughts"],
)
def test_a_plan_is_found_in_what_stands_around_it(ask: Any, written: str) -> None:
    result = ask(*FIRST, written.replace("{}", json.dumps(plan()), 1), PASS, DOCUMENT)
    assert kinds(result) == ["image", "document"]
    assert result["warnings"] == []


@pytest.mark.parametrize(
    "plan_reply",
    [
        "No plan.",
        json.dumps(plan()).replace("document1", "image2"),
        json.dumps(plan(text_content="word " * 250_000)),
        "{" * 1_000_000,
    ],
    ids=[
        "no JSON",
        "a key twice",
        "1 MB",
        "1 MB of braces",
    ],
)
def test_without_a_plan_the_planner_answers_in_words(ask: Any, plan_reply: str) -> None:
    start = time.process_time()
    result = ask(*FIRST, *[plan_reply] * 3, "Two hares.")
    assert time.process_time() - start < 5
    assert titles(result) == [
        "receive",
        "tcdc",
        "paraphrase",
        "data",
        "plan",
        "generate",
    ]
    assert result["answer"] == "Two hares."
    assert result["error"] is None
    assert len(result["warnings"]) == 2


@pytest.mark.parametrize(
    ("at", "title", "default"),
    [
        (0, "receive", None),
        (1, "tcdc", ("tcdc", None)),
        (2, "paraphrase", ("paraphrased_question", None)),
        (3, "data", ("data_report", None)),
        (5, "check", ("checks", [])),
    ],
)
def test_the_answer_goes_on_without_a_step_that_has_no_usable_reply(
    ask: Any, at: int, title: str, default: tuple[str, Any] | None
) -> None:
    replies: list[Any] = [*FIRST, plan(), PASS, DOCUMENT]
    replies[at : at + 1] = [""] * 3
    result = ask(*replies)
    assert kinds(result) == ["image", "document"]
    assert len(result["warnings"]) == 1
    assert next(step for step in result["steps"] if "error" in step)["title"] == title
    assert default is None or result["evidence"][default[0]] == default[1]


def test_a_planner_that_is_gone_is_the_failure_of_the_answer_whose_evidence_is_kept(
    ask: Any,
) -> None:
    result = ask(*FIRST, {"error": "connection"})
    assert result["error"]["kind"] == "connection"
    assert result["evidence"]["tcdc"] == TCDC["tcdc"]


@pytest.mark.parametrize(
    "reply",
    [
        {"error": "timeout"},
        "words",
    ],
    ids=[
        "it hangs",
        "another kind",
    ],
)
def test_an_item_that_its_tool_does_not_make_leaves_its_tag_alone(
    ask: Any, reply: Any
) -> None:
    result = ask(*FIRST, plan(), PASS, DOCUMENT, tools={"image_edit": [reply]})
    assert kinds(result) == ["(image)", "document"]
    assert result["error"] is None
    assert len(result["warnings"]) == 1
    assert result["answer"] == plan()["text_content"]


def test_an_item_is_made_of_earlier_ones_in_rounds(ask: Any) -> None:
    chained = {
        "modalities_content": {
            "image": {"image2": "a hare", "image3": "<<image2>> beside <<image1>>"}
        },
        "text_content": "<<image2>> <<image3>>",
        "tool_list": {"image2": "text_to_image", "image3": "image_edit"},
    }
    result = ask(*FIRST, chained, PASS)
    first, second = result["steps"][-2:]
    assert first["text"] == "a hare"
    assert second["text"] == "image 1 beside image 2"
    assert len(second["media"]) == 2
    lost = ask(*FIRST, chained, PASS, tools={"text_to_image": [{"error": "server"}]})
    # the user's picture is still there to be changed
    assert kinds(lost) == ["(image)", "image"]
    alone = {
        **chained,
        "modalities_content": {
            "image": {"image2": "a hare", "image3": "<<image2>> at night"}
        },
    }
    lost = ask(*FIRST, alone, PASS, tools={"text_to_image": [{"error": "server"}]})
    assert kinds(lost) == ["(image)", "(image)"]
    assert titles(lost)[-1] == "generate"
    assert len(lost["warnings"]) == 2


def test_a_program_computes_the_results_of_the_data_report(ask: Any) -> None:
    result = ask(
        CAPTION,
        TCDC,
        PARAPHRASE,
        DATA,
        plan(),
        PASS,
        DOCUMENT,
        tools={"code_interpreter": ["2"]},
    )
    assert titles(result)[3:5] == ["data", "data"]
    assert [result["steps"][4][key] for key in ("role", "text")] == [
        "code_interpreter",
        DATA["code"],
    ]
    assert len(result["steps"][4]["media"]) == 1
    report = {**REPORT, "code": DATA["code"], "results": "2"}
    assert result["evidence"]["data_report"] == report
    assert result["warnings"] == []
    assert '"results": "2"' in next(
        step["text"] for step in result["steps"] if step["title"] == "plan"
    )


@pytest.mark.parametrize(
    "replies", [None, [{"error": "timeout"}]], ids=["there is none", "it hangs"]
)
def test_a_program_that_nothing_ran_leaves_a_report_without_its_results(
    ask: Any, replies: Any
) -> None:
    tools = {"code_interpreter": replies}
    result = ask(CAPTION, TCDC, PARAPHRASE, DATA, plan(), PASS, DOCUMENT, tools=tools)
    assert not result["evidence"]["data_report"].get("results")
    assert kinds(result) == ["image", "document"]
    assert len(result["warnings"]) == 1
    assert ("print" in result["steps"][3]["text"]) == (replies is not None)


def test_items_are_described_by_the_receiver_of_their_kind_and_pictures_by_a_detector_too(
    tmp_path: Path,
) -> None:
    (tmp_path / "user.png").write_bytes(picture())
    (tmp_path / "user.wav").write_bytes(wav())
    replies = {
        "planner": [json.dumps(reply) for reply in (TCDC, PARAPHRASE, NO_DATA)],
        "receiver": ["A meadow."],
        "receiver.audio": ["A lark."],
        "detector": ["hare [1, 2, 3, 4]"],
    }
    result = driven(
        "unima", replies, tmp_path, prompt="Where?", files=["user.png", "user.wav"]
    )
    received = [step for step in result["steps"] if step["title"] == "receive"]
    assert [(step["role"], step["media"][0]["kind"]) for step in received] == [
        ("receiver", "image"),
        ("detector", "image"),
        ("receiver.audio", "audio"),
    ]
    prompt = next(step["text"] for step in result["steps"] if step["title"] == "tcdc")
    assert r"A meadow.\nhare [1, 2, 3, 4]" in prompt
    assert "A lark." in prompt
    assert "Where?<<image1>><<audio1>>" in prompt


def test_the_planner_is_told_of_the_tools_that_are_there_and_of_the_wanted_kinds(
    ask: Any,
) -> None:
    prompt = next(
        step["text"]
        for step in ask(*FIRST, plan(), tools={"image_edit": None})["steps"][4:]
    )
    assert "text_to_image" in prompt
    assert "image_edit" not in prompt
    assert "text_to_speech" not in prompt


@pytest.mark.parametrize("runs", [None, []], ids=["no interpreter", "an interpreter"])
def test_the_examples_of_the_steps_are_an_answer_without_warnings(runs: Any) -> None:
    result = driven(
        "unima",
        {"code_interpreter": runs},
        prompt="How many hares?",
        wants=["text", "image"],
    )
    assert kinds(result) == ["image"]
    assert result["warnings"] == []
    assert ("code_interpreter" in [step["role"] for step in result["steps"]]) == (
        runs is not None
    )


def test_how_to_sample_reaches_the_planner_and_options_reach_the_tools() -> None:
    options = {"image.size": "8x8", "audio.voice": "v"}
    drawn = plan(
        modalities_content={"image": {"image2": "a hare"}},
        text_content="<<image2>>",
        tool_list={"image2": "text_to_image"},
    )
    said = map(json.dumps, (CAPTION, TCDC, PARAPHRASE, NO_DATA, drawn, PASS))
    given = GenerationParams(
        max_tokens=9, temperature=0.5, stop=("}",), options=options
    )
    media = [Media.from_bytes(picture())]
    *planned, tool = calls_of("unima", given, ("text", "image"), *said, media=media)
    assert planned[0].title == "receive"
    assert {call.request.params.temperature for call in planned} == {0.5}
    assert {
        (call.request.params.max_tokens, call.request.params.stop) for call in planned
    } == {(None, ())}
    assert tool.request.params == GenerationParams(options={"image.size": "8x8"})


def test_placeholders_in_the_users_own_words_stay_words(tmp_path: Path) -> None:
    numbered = {
        "modalities_content": {"image": {"image2": "a hare"}},
        "text_content": "<<image2>>",
        "tool_list": {"image2": "text_to_image"},
    }
    said = [json.dumps(reply) for reply in (PARAPHRASE, NO_DATA, numbered, PASS)]
    result = driven(
        "unima",
        {"planner": said},
        tmp_path,
        prompt="What is <<image1>>?",
        wants=["text", "image"],
    )
    assert titles(result) == ["paraphrase", "data", "plan", "check", "generate"]
    assert "first ones are <<image2>>" in result["steps"][2]["text"]
    assert kinds(result) == ["image"]
    assert result["warnings"] == []


def test_code_is_an_item_in_both_directions() -> None:
    translated = {
        "modalities_content": {"code": {"code2": "<<code1>> in Rust"}},
        "text_content": "In Rust: <<code2>>",
        "tool_list": {"code2": "planner"},
    }
    tcdc = {"tcdc": {"code1": "Adds two numbers."}}
    said = [
        json.dumps(reply) for reply in (tcdc, PARAPHRASE, NO_DATA, translated, PASS)
    ]
    replies = {
        "receiver": ["Adds."],
        "planner": [*said, "Here it is:\n```rust\nfn main() {}\n```\nDone."],
    }
    prompt = [
        {"type": "text", "text": "Translate "},
        {"type": "code", "text": "print(1 + 1)"},
    ]
    result = driven("unima", replies, prompt=prompt, wants=["text", "code"])
    assert titles(result)[0] == "receive"
    assert "print(1 + 1)" in result["steps"][-1]["text"]
    assert [part["text"] for part in result["parts"] if part["type"] == "code"] == [
        "fn main() {}"
    ]
