from pathlib import Path

import pytest

from mmeval.backend.tool import Tool, load_tool
from mmeval.errors import PluginError, UnknownNameError
from tests.support.task_folder import installed
from tests.support.toy import picture

PAINTER = Tool("painter", "image", "Paints what it is told.", backend="toy")


def test_a_tool_is_asked_as_the_role_of_its_name_for_what_it_makes() -> None:
    call = PAINTER.call("the same, at night:", picture(), size="64x64")
    assert (call.role, call.request.wants) == ("painter", ("image",))
    (message,) = call.request.messages
    assert message.content.rendered() == "the same, at night:<<image1>>"
    assert call.request.params.options == {"image.size": "64x64"}


def test_tools_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = load_tool("text_to_image")
    assert (tool.name, tool.makes, tool.backend) == ("text_to_image", "image", "diffusers")
    with pytest.raises(UnknownNameError) as caught:
        load_tool("text_to_imag")
    assert (caught.value.name, "text_to_image" in caught.value.known) == ("text_to_imag", True)
    odd = "[mmeval.tools]\nodd = tests.support.toy:picture\n"
    with installed(tmp_path, monkeypatch, {"odd": {}}, more=odd), pytest.raises(PluginError, match="'odd'"):
        load_tool("odd")
