import sys

import pytest

from mmeval.errors import MissingExtraError
from mmeval.metrics.text import normalisers
from mmeval.metrics.text.normalisers import NO_WORDS, han, lacking, ocr, speech


def test_read_and_heard_text_is_normalised() -> None:
    read = {"Hello, World!": "hello world", "  FOR SALE. ": "for sale", "Grüße aus Köln": "gruße aus koln"}
    read |= {"Ångström naïve": "angstrom naive", "don't stop": "dont stop", "“quoted”": "“quoted”"}
    read |= dict.fromkeys(["", " ?! ", "! !"], NO_WORDS)
    assert {text: ocr(text) for text in read} == read
    heard = {"<|startoftranscript|><|en|> The old man sat.<|endoftext|>": "the old man sat", "": ""}
    heard |= {"It's twenty-one (or so), Mr. Smith!": "it is 21 mister smith", "傍晚的湖面，夕阳。": "傍晚的湖面 夕阳"}
    assert {text: speech(text) for text in heard} == heard
    assert han("“梦想”, dream 1 \u3400\u4e00\u9fff\ua000") == "梦想\u4e00\u9fff"


def test_the_normaliser_of_speech_names_the_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    normalisers._whisper.cache_clear()
    monkeypatch.setitem(sys.modules, "transformers.models.whisper.english_normalizer", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert lacking("ocr") == lacking("none") == ""
    assert "transformers is not installed" in lacking("speech")
    with pytest.raises(MissingExtraError) as caught:
        speech("words")
    assert (caught.value.name, caught.value.extra) == ("transformers", "hf")
