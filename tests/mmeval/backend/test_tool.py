from pathlib import Path

import pytest

from mmeval.backend.tool import Tool, load_tool
from mmeval.errors import PluginError
from mmeval.media.parts import Part, media_part, text_part
from mmeval.program.calls import Reply
from mmeval.records.response import Response, answered
from tests.support.task_folder import installed
from tests.support.toy import picture

PAINTER = Tool("painter", "image", "Paints what it is told.", backend="toy")


def test_a_tool_is_asked_as_the_role_of_its_name_for_what_it_makes() -> None:
    call = PAINTER.call("the same, at night:", picture(), size="64x64")
    assert (call.role, call.request.wants) == ("painter", ("image",))
    (message,) = call.request.messages
    assert message.content.rendered() == "the same, at night:<<image1>>"
    assert call.request.params.options == {"image.size": "64x64"}


def test_an_instruction_stands_in_a_system_message() -> None:
    spoken, plain = (
        PAINTER.call("Hello.", system=how).request.messages for how in ("slowly", "")
    )
    assert [(message.role, message.content.text) for message in spoken] == [
        ("system", "slowly"),
        ("user", "Hello."),
    ]
    assert [message.role for message in plain] == ["user"]


@pytest.mark.parametrize(
    ("response", "made"),
    [
        (answered([text_part("Here:"), media_part(picture())]), True),
        (answered([text_part("Here.")]), "painter gave text, no image"),
        (
            answered([Part("image", raw="<<image1>>"), Part("reasoning", text="hm")]),
            "painter gave nothing, no image",
        ),
        (Response.failed("timeout", "too slow"), "painter failed (timeout: too slow)"),
    ],
    ids=["a picture", "words", "a placeholder", "an error"],
)
def test_what_a_tool_has_made_is_the_first_part_of_its_kind_or_why_there_is_none(
    response: Response, made: str | bool
) -> None:
    found = PAINTER.made(Reply(response))
    assert found == made if isinstance(made, str) else isinstance(found, Part)


def test_all_that_a_tool_has_made_may_be_several_parts() -> None:
    several = [media_part(picture()), text_part("and"), media_part(picture())]
    assert PAINTER.all_made(Reply(answered(several))) == [several[0], several[2]]
    assert (
        PAINTER.all_made(Reply(answered([text_part("Here.")])))
        == "painter gave text, no image"
    )


def test_tools_are_found_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = load_tool("text_to_image")
    assert (tool.name, tool.makes, tool.backend) == (
        "text_to_image",
        "image",
        "diffusers",
    )
    odd = "[mmeval.tools]\nodd = tests.support.toy:picture\n"
    with (
        installed(tmp_path, monkeypatch, {"odd": {}}, more=odd),
        pytest.raises(PluginError, match="'odd'"),
    ):
        load_tool("odd")
