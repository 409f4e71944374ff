import json
import random
from importlib.resources import files

from transformers.models.whisper.english_normalizer import EnglishTextNormalizer

from mmeval.metrics.text.normalisers import NO_WORDS, han, ocr, speech

SPOKEN = (
    "one two twenty hundred million point half and a double oh zero first third "
    "dollars $20 £3.50 20% percent minus "
    "I'm can't let's he's they'll y'all wanna shoulda ma'am cause kinda sorta dunno "
    "Mr. Dr. colour dialogue hmm uh "
    "café Straße 1960s 274th 1,000 3.14 5/8 ½ ' , . (aside) [music] <x> - — 中文 10:30 "
    "€5 ¢ I've gone it's been ten's"
)


def test_read_and_heard_text_is_normalised() -> None:
    read = {
        "Hello, World!": "hello world",
        "  FOR SALE. ": "for sale",
        "Grüße aus Köln": "gruße aus koln",
    }
    read |= {
        "Ångström naïve": "angstrom naive",
        "don't stop": "dont stop",
        "“quoted”": "“quoted”",
    }
    read |= dict.fromkeys(["", " ?! ", "! !"], NO_WORDS)
    assert {text: ocr(text) for text in read} == read
    heard = {
        "<|startoftranscript|><|en|> The old man sat.<|endoftext|>": "the old man sat",
        "": "",
    }
    heard |= {
        "It's twenty-one (or so), Mr. Smith!": "it is 21 mister smith",
        "傍晚的湖面，夕阳。": "傍晚的湖面 夕阳",
    }
    heard |= {
        "The colour of a grey dialogue, organised.": "the color of a gray dialog organized"
    }
    assert {text: speech(text) for text in heard} == heard
    assert han("“梦想”, dream 1 \u3400\u4e00\u9fff\ua000") == "梦想\u4e00\u9fff"


def test_speech_is_normalised_as_the_released_scorer_does() -> None:
    spellings = json.loads(
        files("whisper_normalizer").joinpath("normalizers/english.json").read_text()
    )
    chance, released = random.Random(0), EnglishTextNormalizer(spellings)
    for text in [
        "",
        *(
            " ".join(chance.choices(SPOKEN.split(), k=chance.randint(1, 12)))
            for _ in range(500)
        ),
    ]:
        assert speech(text) == released(text).strip()
