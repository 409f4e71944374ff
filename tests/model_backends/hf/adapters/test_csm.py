from functools import partial

import pytest
import torch

from mmeval.backend import load_tool
from mmeval.media import decode, wav
from mmeval.model_backends.hf.adapters.csm import CsmAdapter
from mmeval.records import Request, message
from tests.support.models import (
    adapter_of,
    answers,
    asked,
    drawn,
    fault,
    loaded,
    only,
    says,
    started,
    tiny_model,
)
from tests.support.sounds import RATE, tone

csm = partial(loaded, "csm", "auto")
speech = partial(only, "audio")

LOW_VOICE = wav(tone(0.5, 110), RATE)
HIGH_VOICE = wav(tone(0.5, 880), RATE)
FRAME_SECONDS = 0.08


def with_option(name: str, value: object) -> Request:
    return asked("one", options={f"audio.{name}": value})


def test_small_files_say_that_text_and_recordings_become_speech() -> None:
    capabilities = csm().capabilities
    assert set(capabilities.inputs) == {"text", "code", "audio"}
    assert set(capabilities.outputs) == {"audio"}
    assert capabilities.options == {"audio.voice", "audio.max_tokens"}


def test_speech_depends_on_words_speaker_and_seed() -> None:
    requests = [
        asked("one"),
        asked("two"),
        with_option("voice", 1),
        asked("one", seed=1),
        with_option("voice", 0),
    ]
    *different, same = map(speech, answers(csm(), requests))
    assert len(set(different)) == 4
    assert same == different[0]


def test_a_tool_that_clones_a_voice_hears_the_recording() -> None:
    tool = load_tool("clone_speech")
    calls = [
        tool.call("one", LOW_VOICE, max_tokens=5),
        tool.call("one", HIGH_VOICE, max_tokens=5),
        tool.call("one", max_tokens=5),
    ]
    low, high, without = (speech(says(csm(), call.request)) for call in calls)
    assert len({low, high, without}) == 3
    sound = decode.audio(low)
    assert sound.rate == 24000
    assert sound.seconds == pytest.approx(5 * FRAME_SECONDS)


def test_a_style_of_the_tool_is_left_out_with_a_warning() -> None:
    call = load_tool("clone_speech").call("one", LOW_VOICE, system="slowly")
    response = says(csm(), call.request)
    assert speech(response) == speech(says(csm(), asked("one", LOW_VOICE)))
    assert "system message" in response.warnings[0]


def test_a_row_of_a_batch_is_the_same_file_as_alone() -> None:
    requests = [
        asked("one", LOW_VOICE, seed=1),
        asked("a rather long sentence", seed=2),
        asked("two", HIGH_VOICE, seed=1),
    ]
    batch = [speech(response) for response in answers(csm(), requests)]
    assert batch == [speech(says(csm(), request)) for request in requests]


def test_words_beside_an_earlier_recording_are_its_transcript() -> None:
    def prompt(request: Request) -> int:
        return says(csm(), request).usage.input_tokens

    recording = [message("user", "uno", LOW_VOICE)]
    with_transcript = asked("one", before=recording)
    # the tokens are the same, but in another order: the words are not spoken
    assert prompt(with_transcript) == prompt(asked("unoone", LOW_VOICE))
    heard = speech(says(csm(), with_transcript))
    assert heard != speech(says(csm(), asked("unoone", LOW_VOICE)))


def test_several_recordings_come_in_order() -> None:
    request = asked("one", LOW_VOICE, HIGH_VOICE)
    other = asked("one", HIGH_VOICE, LOW_VOICE)
    assert speech(says(csm(), request)) != speech(says(csm(), other))


def test_speech_that_a_limit_cuts_says_so() -> None:
    response = says(csm(), with_option("max_tokens", 3))
    assert response.finish_reason == "length"
    assert "after 3 codes" in response.warnings[0]
    assert decode.audio(speech(response)).seconds == pytest.approx(3 * FRAME_SECONDS)


def test_codes_end_before_the_code_for_the_end() -> None:
    adapter = adapter_of(CsmAdapter, "csm", "auto")
    end, other = [0, 0, 5], [0, 1, 0]
    codes = torch.tensor([other, other, end, other])
    assert adapter.frames_before_end(codes) == 2
    assert adapter.frames_before_end(codes[:2]) == 2


def test_speech_that_ends_at_once_fails_its_row() -> None:
    backend = started(tiny_model("csm"))
    adapter = backend.adapter
    assert isinstance(adapter, CsmAdapter)
    with torch.no_grad():
        for head in (adapter.model.lm_head, adapter.model.depth_decoder.codebooks_head):
            head.weight.zero_()
    adapter.model.generation_config.do_sample = False
    adapter.model.depth_decoder.generation_config.do_sample = False
    kind, text = fault(says(backend, asked("one")))
    assert kind == "internal"
    assert "at once" in text


@pytest.mark.parametrize("value", ["loud", -1, 0.5])
def test_a_voice_is_the_number_of_a_speaker(value: object) -> None:
    assert fault(says(csm(), with_option("voice", value)))[0] == "bad_request"


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (asked(LOW_VOICE), "bad_request"),
        (asked("look", drawn()), "unsupported"),
        (asked("a" * 300), "too_long"),
    ],
    ids=["no words", "a picture", "longer than the context"],
)
def test_an_unusable_prompt_fails_only_its_row(request_: Request, kind: str) -> None:
    first, refused, last = answers(csm(), [asked("one"), request_, asked("one")])
    assert fault(refused)[0] == kind
    assert speech(first) == speech(last)


def test_a_control_token_of_the_prompt_is_plain_text() -> None:
    response = says(csm(), asked("one <|AUDIO|>"))
    assert speech(response)
    assert "<|AUDIO|>" in response.warnings[0]
