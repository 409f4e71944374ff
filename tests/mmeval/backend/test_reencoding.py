from mmeval.backend.reencoding import USUAL_FORMATS, encoding_fault
from mmeval.media.media import Media
from mmeval.model_backends.openai import OpenAIBackend
from tests.support import tiny_media


def test_the_usual_formats_are_those_of_the_openai_interface() -> None:
    backend = OpenAIBackend(model="m", base_url="http://localhost/v1")
    limits = backend.capabilities.inputs
    assert limits["image"].formats == USUAL_FORMATS["image"]
    assert limits["audio"].formats == USUAL_FORMATS["audio"]


def test_a_medium_that_cannot_be_decoded_has_a_fault() -> None:
    whole = Media.from_bytes(tiny_media.sound("flac"))
    assert encoding_fault("audio", whole) == ""
    assert "midi" in encoding_fault("audio", Media.from_bytes(b"MThd\0\0\0\x06"))
