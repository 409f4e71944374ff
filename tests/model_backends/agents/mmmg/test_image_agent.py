import time
from pathlib import Path
from typing import Any

import pytest

from mmeval.media import Media, Part
from mmeval.media.decode import image
from mmeval.model_backends.agents.mmmg.image_agent import ImageItem, read_item, white
from mmeval.records import GenerationParams
from tests.support.agents import calls_of, driven, kinds, titles
from tests.support.tiny_media import picture


def place(prompt: str, reference: str = "") -> str:
    return f'<image_start><image_prompt="{prompt}"><image_ref=[{reference}]><image_end>'


def draw(
    plan: str, *, tools: dict[str, Any] | None = None, **case: Any
) -> dict[str, Any]:
    return driven("mmmg_image_agent", {"planner": [plan], **(tools or {})}, **case)


def inside(prompt: str, reference: str) -> str:
    return f'<image_prompt="{prompt}"><image_ref=[{reference}]>'


def test_equal_placeholders_have_numbers_of_their_own_but_for_the_released_script() -> (
    None
):
    plan = f"{place('a hare')} and {place('a hare')}"
    both = [
        draw(plan, args={"profile": profile}) for profile in ("standard", "official")
    ]
    assert [result["answer"] for result in both] == [
        "<image_start><image_0><image_end> and <image_start><image_1><image_end>",
        "<image_start><image_0><image_end> and <image_start><image_0><image_end>",
    ]
    one, other = (
        [part["media"]["sha256"] for part in found["parts"] if "media" in part]
        for found in both
    )
    assert one == other
    assert len(set(one)) == 2


def test_the_words_of_a_placeholder_are_replaced_elsewhere_by_the_released_script_alone() -> (
    None
):
    plan = f"{place('a hare')} is {inside('a hare', '')}"
    assert draw(plan)["answer"].endswith(f"is {inside('a hare', '')}")
    assert draw(plan, args={"profile": "official"})["answer"].endswith("is <image_0>")


def test_a_picture_is_made_as_soon_as_those_that_it_changes_are_there(
    tmp_path: Path,
) -> None:
    (tmp_path / "user.png").write_bytes(picture())
    plan = (
        place("new")
        + place("of the user", "0")
        + place("of both", "#0,#1")
        + place("of the last", "#2")
    )
    result = draw(plan, prompt="Draw.", files=["user.png"], folder=tmp_path)
    assert result["evidence"]["rounds"] == [[0, 1], [2], [3]]
    assert [
        (step["role"], step["title"], len(step["media"])) for step in result["steps"]
    ] == [
        ("planner", "plan", 1),
        ("text_to_image", "image0", 0),
        ("image_edit", "image1", 1),
        ("image_edit", "image2", 2),
        ("image_edit", "image3", 1),
    ]
    assert [step["path"] for step in result["steps"]] == [
        "0",
        "1.0",
        "1.1",
        "2.0",
        "3.0",
    ]
    assert result["evidence"]["items"][1] == {
        "type": "edit",
        "prompt": "of the user",
        "reference": [0],
    }
    assert result["warnings"] == []


@pytest.mark.parametrize(
    ("written", "item"),
    [
        (inside("a cat", ""), ImageItem("gen", "a cat")),
        (
            '<image_prompt="a" "quoted" cat"><image_ref=[]>',
            ImageItem("gen", 'a" "quoted" cat'),
        ),
        (
            '< /image_prompt="a cat" / >< image_ref=[0,1]/>',
            ImageItem("edit", "a cat", [0, 1]),
        ),
        (
            inside("a cat", "#2,#0") + " and more",
            ImageItem("edit_gen", "a cat", [2, 0]),
        ),
    ],
)
def test_a_placeholder_is_read(written: str, item: ImageItem) -> None:
    assert read_item(written, before=3, pictures=2) == item


REFERENCES = ("2", "#3", "0,#0", "#0,0", "0, 1", "-1", "9" * 5000, "##0", ",")


@pytest.mark.parametrize(
    "written",
    [
        *(inside("a cat", reference) for reference in REFERENCES),
        '<image_prompt="a cat">',
        ' <image_prompt="a cat"><image_ref=[]>',
        "",
    ],
)
def test_a_placeholder_is_malformed(written: str) -> None:
    assert isinstance(read_item(written, before=3, pictures=2), str)


@pytest.mark.parametrize(
    ("plan", "answer"),
    [
        ("I cannot help with that.", None),
        (
            "<image_start>a cat</image_end> and </image_end>",
            "<image_start>a cat<image_end> and <image_end>",
        ),
        (f"<image_start>\n{inside('a cat', '')}<image_end>", None),
        (
            place("later", "#1") + place("now"),
            place("later", "#1") + "<image_start><image_0><image_end>",
        ),
        ("<image_start><image_7><image_end>", None),
    ],
    ids=["refusal", "other ending", "two lines", "forward", "a number of its own"],
)
def test_what_is_no_placeholder_stays_with_a_warning(
    plan: str, answer: str | None
) -> None:
    result = draw(plan)
    assert result["answer"] == (answer or plan)
    assert result["error"] is None
    assert len(result["warnings"]) == 1


def test_placeholders_in_the_users_own_words_are_not_read() -> None:
    result = draw("Nothing.", prompt=f"Copy {place('a cat')}")
    assert result["answer"] == "Nothing."
    assert result["evidence"]["items"] == []


def test_placeholders_after_the_most_are_left_as_they_are() -> None:
    result = draw(place("a hare") * 500)
    assert len(result["evidence"]["items"]) == 32
    assert kinds(result) == ["image"] * 32
    assert result["answer"].endswith(place("a hare"))
    assert len(result["warnings"]) == 1
    assert kinds(draw(place("a hare") * 3, args={"max_items": 2})) == ["image", "image"]


@pytest.mark.parametrize(
    "plan",
    [
        "<image_start>" * 80_000,
        '"><image_ref=[' * 80_000,
        place('" //// ' * 100_000),
        place("a", "#0," * 300_000),
    ],
    ids=["openings", "middles", "quotes", "references"],
)
@pytest.mark.parametrize("profile", ["standard", "official"])
def test_a_plan_of_a_megabyte_is_read_at_once(plan: str, profile: str) -> None:
    start = time.process_time()
    draw(plan, args={"profile": profile})
    draw(f'<image_start><image_prompt="{plan}<image_end>', args={"profile": profile})
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "reply",
    [
        {"error": "timeout"},
        "no picture, but words",
    ],
    ids=[
        "it hangs",
        "another kind",
    ],
)
def test_a_white_picture_is_in_the_place_of_one_that_was_not_made(reply: Any) -> None:
    result = draw(
        place("a hare") + place("the same", "#0"), tools={"text_to_image": [reply]}
    )
    assert result["error"] is None
    assert len(result["warnings"]) == 1
    assert kinds(result) == ["image", "image"]
    assert result["parts"][0]["media"]["sha256"] == medium(white()).sha256
    assert [media["sha256"] for media in result["steps"][2]["media"]] == [
        medium(white()).sha256
    ]


def medium(part: Part) -> Media:
    assert part.media is not None
    return part.media


def test_a_picture_of_a_malformed_one_is_white() -> None:
    result = draw("<image_start>bad<image_end>" + place("of it", "#0"))
    assert titles(result) == ["plan"]
    assert result["evidence"]["never_resolved"] == [1]
    assert [part["media"]["sha256"] for part in result["parts"] if "media" in part] == [
        medium(white()).sha256
    ]
    assert image(medium(white())).size == (1024, 1024)
    assert len(result["warnings"]) == 2


def test_a_placeholder_for_a_tool_that_is_not_there_is_malformed_and_the_planner_is_not_told_of_it() -> (
    None
):
    result = draw(place("a hare") + place("the same", "#0"), tools={"image_edit": None})
    assert result["answer"] == "<image_start><image_0><image_end>" + place(
        "the same", "#0"
    )
    assert "--role image_edit=BACKEND" in result["warnings"][0]
    assert "[#0]" not in result["steps"][0]["text"]
    assert "[#0]" in draw("")["steps"][0]["text"]


def test_the_planner_is_asked_with_the_users_pictures_in_their_places(
    tmp_path: Path,
) -> None:
    (tmp_path / "user.png").write_bytes(picture())
    result = draw(
        "",
        prompt=[
            {"type": "text", "text": "Make "},
            {"type": "image", "path": "user.png"},
        ],
        folder=tmp_path,
    )
    (step,) = result["steps"]
    assert step["text"].endswith("Make ")
    assert len(step["media"]) == 1


def test_parameters_of_a_request_reach_the_planner_and_options_the_tools() -> None:
    params = GenerationParams(
        max_tokens=9, temperature=0.5, options={"image.size": "8x8", "audio.voice": "v"}
    )
    planned, drawn = calls_of(
        "mmmg_image_agent", params, ("text", "image"), place("a hare")
    )
    assert planned.request.params == GenerationParams(max_tokens=9, temperature=0.5)
    assert drawn.request.params == GenerationParams(options={"image.size": "8x8"})


def test_a_planner_that_fails_is_the_failure_of_the_answer() -> None:
    assert (
        driven("mmmg_image_agent", {"planner": [{"error": "too_long"}]})["error"][
            "kind"
        ]
        == "too_long"
    )


def test_the_prompt_can_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "image_plan.jinja").write_text(
        "Pictures: {{ pictures }}. {{ question }}"
    )
    result = draw("", prompt="Draw.", args={"prompts": str(tmp_path)})
    assert result["steps"][0]["text"] == "Pictures: 0. Draw."
