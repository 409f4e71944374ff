from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmeval.errors import MissingExtraError
from mmeval.metrics.text import normalisers
from mmeval.metrics.text.normalisers import NO_WORDS, han, lacking, ocr, speech

READ = {"Hello, World!": "hello world", "  FOR SALE. ": "for sale", "345": "345", "Grüße aus Köln": "gruße aus koln"}
READ |= {"Ångström naïve": "angstrom naive", "don't stop": "dont stop", "": NO_WORDS, " ?! ": NO_WORDS}
READ |= {"! !": NO_WORDS, "“quoted”": "“quoted”"}


@pytest.mark.parametrize(("text", "normalised"), READ.items())
def test_text_that_is_read_loses_case_accents_and_ascii_punctuation(text: str, normalised: str) -> None:
    assert ocr(text) == normalised


@given(st.text(max_size=60))
def test_what_is_read_is_never_blank(text: str) -> None:
    assert ocr(text).strip()


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("<|startoftranscript|><|en|> The old man sat.<|endoftext|>", "the old man sat"),
        *[
            ("It's twenty-one (or so), Mr. Smith!", "it is 21 mister smith"),
            ("傍晚的湖面，夕阳。", "傍晚的湖面 夕阳"),
            ("", ""),
        ],
    ],
)
def test_what_is_heard_is_normalised_as_whisper_does(text: str, normalised: str) -> None:
    assert speech(text) == normalised


def test_only_chinese_characters_are_kept() -> None:
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
