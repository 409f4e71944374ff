from mmeval import decode
from mmeval.backend.tool import load_tool
from tests.support.local_models import loaded, only, says


def test_a_speech_model_plays_the_tool_text_to_speech() -> None:
    tool = load_tool("text_to_speech")
    call = tool.call("the hare was quick")
    assert (tool.makes, tool.takes, call.role) == ("audio", ("text",), "text_to_speech")
    assert decode.audio(only("audio", says(loaded("vits", "auto"), call.request))).rate == 16000
