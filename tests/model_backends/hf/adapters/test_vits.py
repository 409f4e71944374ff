from __future__ import annotations

from pathlib import Path

import pytest

from mmeval import decode
from mmeval.content.media import Media
from mmeval.errors import MissingExtraError, UsageError
from mmeval.model_backends.hf import HFBackend
from mmeval.model_backends.hf.adapters.vits import sampling_rate
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import message
from tests.support.local_models import answers, asked, copied, drawn, loaded, rewritten, says, started
from tests.support.tiny_models import tiny_model


def vits() -> HFBackend:
    return loaded("vits", "auto")


def speech(response: Response) -> Media:
    assert response.output is not None, response.error
    [part] = response.output.parts
    assert part.media is not None and part.kind == "audio"
    return part.media


def test_words_become_sound_at_the_rate_of_the_model() -> None:
    sound = decode.audio(speech(says(vits(), asked("hello there"))))
    assert (sound.rate, sound.samples.shape[1]) == (16000, 1)
    assert abs(sound.samples).max() > 0.1
    assert sound.seconds > decode.audio(speech(says(vits(), asked("hi")))).seconds


def test_a_row_has_its_own_seed_in_any_batch() -> None:
    first, again, other = (speech(r) for r in answers(vits(), [asked("one", seed=s) for s in (1, 1, 2)]))
    assert first == again == speech(says(vits(), asked("one", seed=1)))
    assert first != other


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_what_steers_words_has_no_effect_on_a_voice(temperature: float) -> None:
    assert speech(says(vits(), asked("one", temperature=temperature))) == speech(says(vits(), asked("one")))


def test_all_is_spoken_but_the_system_message_and_that_is_said() -> None:
    turns = [message("user", "one"), message("assistant", "two")]
    spoken = says(vits(), asked("three", system="whisper", before=turns))
    assert speech(spoken) == speech(says(vits(), asked("one two\nthree")))
    assert spoken.warnings == (
        "the system message was left out: this model speaks its prompt and follows no instructions",
    )


def test_letters_that_the_model_does_not_know_are_named() -> None:
    spoken = says(vits(), asked("Grün, grün: 5€"))
    assert speech(spoken) == speech(says(vits(), asked("grn, grn 5")))
    assert spoken.warnings == ("not spoken, as the model's vocabulary lacks them: ':', 'ü', '€'",)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "holds no words that could be spoken"),
        (" \n\t", "holds no words that could be spoken"),
        ("日本語", "no character of the prompt is in the model's vocabulary: '日', '本', '語'"),
    ],
    ids=["nothing", "blanks", "another script"],
)
def test_silence_is_never_an_answer(text: str, complaint: str) -> None:
    before, refused, after = answers(vits(), [asked("one"), asked(text), asked("two")])
    assert refused.error is not None
    assert (refused.error.kind, complaint in refused.error.message) == ("bad_request", True), refused.error
    assert speech(before) == speech(says(vits(), asked("one")))
    assert speech(after) == speech(says(vits(), asked("two")))


def test_a_text_is_not_spoken_beyond_max_length() -> None:
    backend = started(tiny_model("vits"), max_length=20)
    assert speech(says(backend, asked("short")))
    error = says(backend, asked("this is rather long")).error
    assert error is not None and error.kind == "too_long"


def test_a_picture_is_refused() -> None:
    error = says(vits(), asked("look at", drawn())).error
    assert error is not None and error.kind == "unsupported"


def test_speech_that_is_no_number_fails_its_row() -> None:
    import torch

    backend = started(tiny_model("vits"))
    with torch.no_grad():
        backend.adapter.model.decoder.conv_post.weight.fill_(float("nan"))  # type: ignore[attr-defined]  # a VITS

    error = says(backend, asked("one")).error

    assert error is not None
    assert (error.kind, "not numbers" in error.message) == ("internal", True)


def several_voices(folder: Path) -> HFBackend:
    """The tiny model with three speakers, its weights new."""
    import torch
    import transformers

    copied("vits", folder)
    config = transformers.VitsConfig.from_pretrained(folder / "vits", num_speakers=3, speaker_embedding_size=8)
    torch.manual_seed(0)
    transformers.VitsModel(config).save_pretrained(folder / "vits")
    return started(folder / "vits")


def test_a_model_of_several_voices_is_told_which_one(tmp_path: Path) -> None:
    backend = several_voices(tmp_path)

    def with_voice(voice: object) -> Request:
        return asked("one", options={"audio.voice": voice})

    assert backend.capabilities.options == {"audio.voice"}
    assert vits().capabilities.options == frozenset()
    assert speech(says(backend, with_voice(2))) != speech(says(backend, with_voice(0)))
    assert speech(says(backend, with_voice(0))) == speech(says(backend, asked("one")))
    for wrong in (3, "loud", 0.5):
        error = says(backend, with_voice(wrong)).error
        assert error is not None and error.kind == "bad_request"


def test_a_model_without_a_rate_is_not_loaded(tmp_path: Path) -> None:
    folder = copied("vits", tmp_path)
    rewritten(folder / "config.json", sampling_rate=None)
    with pytest.raises(UsageError, match="names no sampling_rate"):
        started(folder)


def test_a_rate_may_stand_with_the_vocoder() -> None:
    assert sampling_rate({"vocoder_config": {"sampling_rate": 22050}}) == 22050


def test_a_tokenizer_that_reads_phonemes_names_what_it_needs_before_anything_is_asked(tmp_path: Path) -> None:
    folder = copied("vits", tmp_path)
    rewritten(folder / "tokenizer_config.json", phonemize=True)
    with pytest.raises(MissingExtraError, match='pip install "phonemizer"'):
        started(folder)
