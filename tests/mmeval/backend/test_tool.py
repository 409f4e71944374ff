from __future__ import annotations

from pathlib import Path

import pytest

from mmeval.backend.tool import Tool, load_tool
from mmeval.errors import PluginError, UnknownNameError
from tests.support.task_folder import installed
from tests.support.toy import picture

PAINTER = Tool("painter", "image", "Paints what it is told.", backend="toy")


def test_a_tool_is_asked_as_the_role_of_its_name_for_what_it_makes() -> None:
    call = PAINTER.call("a hare")
    assert (call.role, call.request.wants) == ("painter", ("image",))
    assert [m.content.text for m in call.request.messages] == ["a hare"]


def test_options_are_those_of_the_kind_that_it_makes() -> None:
    assert PAINTER.call("a hare", size="64x64").request.params.options == {"image.size": "64x64"}


def test_a_tool_can_be_given_media_among_the_words() -> None:
    given = PAINTER.call("the same, at night:", picture()).request.messages[0].content
    assert [part.kind for part in given.parts] == ["text", "image"]


@pytest.mark.parametrize(("name", "makes", "backend"), [("text_to_image", "image", "diffusers")])
def test_tools_of_ours_are_found_by_name(name: str, makes: str, backend: str) -> None:
    tool = load_tool(name)
    assert (tool.name, tool.makes, tool.backend) == (name, makes, backend)


def test_a_misspelt_tool_is_answered_with_those_that_exist() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown tool .*text_to_image.*'mmeval ls tools' lists them"):
        load_tool("text_to_imag")


def test_what_is_registered_as_a_tool_and_is_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = "[mmeval.tools]\nodd = tests.support.toy:picture\n"
    with (
        installed(tmp_path, monkeypatch, {"odd": {}}, more=odd),
        pytest.raises(PluginError, match=r"'odd'.*not a mmeval"),
    ):
        load_tool("odd")
