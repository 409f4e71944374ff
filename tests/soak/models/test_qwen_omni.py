"""Speech of Qwen's omni models in batches, and by its own options."""

from dataclasses import replace

import pytest

from mmeval.media import Media, decode
from mmeval.model_backends.hf.adapters import qwen_omni
from tests.model_backends.hf.adapters.test_qwen_omni import (
    BOTH,
    CODES,
    omni,
    speech,
    wanting,
    warned,
)
from tests.support.models import answers, asked, drawn, fault, says
from tests.support.tiny_media import wav


def test_a_row_has_its_own_seed_and_media_in_any_batch() -> None:
    hum = Media.from_bytes(wav(16000, rate=16000))
    shown = (("look: ", drawn()), ("listen: ", hum, "!"), ("hm",), ("hm",))
    prompts = [
        wanting(*parts, system="x", temperature=1.0, seed=seed)
        for seed, parts in enumerate(shown)
    ]
    together = answers(omni(), prompts)
    assert [response.output for response in together] == [
        says(omni(), prompt).output for prompt in prompts
    ]
    assert len({speech(response) for response in together}) == 4


def test_speech_is_steered_by_its_own_options_of_voice_and_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spoken = says(omni(), wanting("hm", options={"audio.voice": "Chelsie"}))
    assert speech(spoken) == speech(says(omni(), wanting("hm")))
    kind, text = fault(says(omni(), wanting("hm", options={"audio.voice": "Ethan"})))
    assert (kind, "Ethan" in text, text.endswith(": Chelsie")) == (
        "bad_request",
        True,
        True,
    )
    short, long = (
        decode.audio(speech(says(omni(), wanting("hm", codes=codes))))
        for codes in (6, 12)
    )
    assert len(long.samples) == 2 * len(short.samples)
    plain = says(omni(), wanting("hm"))
    greedy = says(omni(), wanting("hm", options={"audio.temperature": 0}))
    assert plain.text == greedy.text
    assert speech(plain) != speech(greedy)
    same = says(
        omni(),
        wanting(
            "hm",
            options={"audio.top_p": 0.8, "audio.top_k": 40, "audio.temperature": 0.9},
        ),
    )
    assert speech(same) == speech(plain)
    monkeypatch.setattr(qwen_omni, "MAX_SPEECH_CODES", CODES)
    assert warned(says(omni(), replace(asked("hm"), wants=BOTH))) == ["6"]
