from functools import partial
from pathlib import Path

import pytest
import torch
import transformers

from mmeval.errors import MissingExtraError, UsageError
from mmeval.media import decode
from mmeval.model_backends.hf.adapters.sound import sampling_rate
from mmeval.records import Request, message
from tests.support.models import (
    answers,
    asked,
    copied,
    drawn,
    fault,
    loaded,
    only,
    rewritten,
    says,
    started,
    tiny_model,
)

vits = partial(loaded, "vits", "auto")
speech = partial(only, "audio")


def test_words_become_sound_at_the_rate_of_the_model_by_the_seed_of_their_row() -> None:
    sound = decode.audio(speech(says(vits(), asked("hello there"))))
    assert sound.rate == 16000
    assert sound.samples.shape[1] == 1
    assert abs(sound.samples).max() > 0.1
    assert sound.seconds > decode.audio(speech(says(vits(), asked("hi")))).seconds
    first, again, other = (
        speech(r) for r in answers(vits(), [asked("one", seed=s) for s in (1, 1, 2)])
    )
    assert first == again != other
    for temperature in (None, 0.0, 1.0):
        assert first == speech(
            says(vits(), asked("one", seed=1, temperature=temperature))
        )


def test_letters_that_the_model_does_not_know_are_named_and_a_system_message_is_not_spoken() -> (
    None
):
    spoken = says(vits(), asked("Grün, grün: 5€", max_tokens=None))
    assert speech(spoken) == speech(says(vits(), asked("grn, grn 5")))
    assert [warning.endswith("':', 'ü', '€'") for warning in spoken.warnings] == [True]
    turns = [message("user", "one"), message("assistant", "two")]
    whispered = says(
        vits(), asked("three", system="whisper", before=turns, max_tokens=None)
    )
    assert speech(whispered) == speech(says(vits(), asked("one two\nthree")))
    assert ["system message" in warning for warning in whispered.warnings] == [True]


@pytest.mark.parametrize(
    ("text", "word"), [("", "neither text"), ("日本語", "'日', '本', '語'")]
)
def test_silence_is_never_an_answer(text: str, word: str) -> None:
    before, refused, after = answers(vits(), [asked("one"), asked(text), asked("two")])
    kind, complaint = fault(refused)
    assert kind == "bad_request"
    assert word in complaint
    assert speech(before) == speech(says(vits(), asked("one")))
    assert speech(after) == speech(says(vits(), asked("two")))


def test_speech_that_is_no_number_or_too_long_fails_its_row() -> None:
    backend = started(tiny_model("vits"))
    with torch.no_grad():
        backend.adapter.model.decoder.conv_post.weight.fill_(float("nan"))  # type: ignore[attr-defined]  # a VITS
    kind, text = fault(says(backend, asked("one")))
    assert kind == "internal"
    assert "not numbers" in text
    short = started(tiny_model("vits"), max_length=20)
    assert speech(says(short, asked("short")))
    assert fault(says(short, asked("this is rather long")))[0] == "too_long"
    assert fault(says(vits(), asked("look at", drawn())))[0] == "unsupported"


def with_voice(voice: object) -> Request:
    return asked("one", options={"audio.voice": voice})


def test_a_model_of_several_voices_is_told_which_one(tmp_path: Path) -> None:
    folder = copied("vits", tmp_path)
    config = transformers.VitsConfig.from_pretrained(
        folder, num_speakers=3, speaker_embedding_size=8
    )
    torch.manual_seed(0)
    transformers.VitsModel(config).save_pretrained(folder)
    backend = started(folder)
    assert backend.capabilities.options == {"audio.voice"}
    assert vits().capabilities.options == frozenset()
    assert speech(says(backend, with_voice(2))) != speech(says(backend, with_voice(0)))
    assert speech(says(backend, with_voice(0))) == speech(says(backend, asked("one")))
    assert {
        fault(says(backend, with_voice(wrong)))[0] for wrong in (3, "loud", 0.5)
    } == {"bad_request"}


def test_a_rate_stands_in_the_configuration_and_a_tokenizer_of_phonemes_names_its_package(
    tmp_path: Path,
) -> None:
    folder = copied("vits", tmp_path)
    rewritten(folder / "tokenizer_config.json", phonemize=True)
    with pytest.raises(MissingExtraError) as caught:
        started(folder)
    assert caught.value.name == "phonemizer"
    assert sampling_rate({"vocoder_config": {"sampling_rate": 22050}}) == 22050
    rewritten(folder / "config.json", sampling_rate=None)
    with pytest.raises(UsageError, match="sampling_rate"):
        started(folder)
