from functools import cache

import pytest

from mmeval.backend.capabilities import Capabilities
from mmeval.backend.tool import load_tool
from mmeval.media import Media, Part
from mmeval.model_backends.hf import HFBackend
from mmeval.program import Call, Reply
from mmeval.records import Request
from tests.support.models import answers, drawn, embedded_tiny, started
from tests.support.tiny_media import wav

TOOLS = (
    "text_to_image",
    "image_edit",
    "text_to_speech",
    "clone_speech",
    "text_to_sound",
    "text_to_music",
    "text_to_video",
    "image_to_video",
    "fixed_views",
    "free_views",
    "image_morph",
)
"""All tools that make pictures, sounds or videos."""
MEDIA = {"image": drawn(), "audio": Media.from_bytes(wav(800))}


@cache
def model() -> HFBackend:
    return started(embedded_tiny())


@pytest.mark.parametrize("name", TOOLS)
def test_the_embedded_model_can_play_the_tool(name: str) -> None:
    tool = load_tool(name)
    inputs = [MEDIA[kind] for kind in tool.takes if kind != "text"]
    call: Call = tool.call("a bell", *inputs)
    assert isinstance(call.request, Request)

    (response,) = answers(model(), [call.request])

    part = tool.made(Reply(response, ""))
    assert isinstance(part, Part), part
    assert part.kind == tool.makes


@pytest.mark.parametrize("name", TOOLS)
def test_the_kinds_of_the_embedded_model_fit_the_tool(name: str) -> None:
    tool = load_tool(name)
    capabilities: Capabilities = model().capabilities

    assert tool.makes in capabilities.outputs
    assert set(tool.takes) <= capabilities.inputs.keys()
