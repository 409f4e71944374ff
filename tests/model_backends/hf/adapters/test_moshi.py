from dataclasses import replace
from functools import partial

import pytest

from mmeval.media import Media, PartKind, decode, wav
from mmeval.records import Request
from tests.support.models import answers, asked, fault, loaded, only, says
from tests.support.sounds import RATE, tone

moshi = partial(loaded, "moshi", "auto")
LOW_VOICE = wav(tone(0.5, 110), RATE)
HIGH_VOICE = wav(tone(0.5, 880), RATE)
BOTH: tuple[PartKind, ...] = ("text", "audio")


def hears(
    *parts: Media | str,
    seconds: float = 0.4,
    seed: int = 0,
    wants: tuple[PartKind, ...] = BOTH,
) -> Request:
    options = {"audio.seconds": seconds}
    request = asked(*parts, options=options, seed=seed, max_tokens=None)
    return replace(request, wants=wants)


def test_small_files_say_that_speech_becomes_speech_and_text() -> None:
    capabilities = moshi().capabilities
    assert set(capabilities.inputs) == {"text", "code", "audio"}
    assert capabilities.required_inputs == {"audio"}
    assert {"text", "audio"} <= capabilities.outputs.keys()
    assert capabilities.output_mode == "parallel"
    assert capabilities.options == {"audio.seconds"}


def test_an_answer_is_text_and_speech_of_the_requested_duration() -> None:
    response = says(moshi(), hears(LOW_VOICE, seconds=0.3))
    assert response.output is not None
    assert [part.kind for part in response.output.parts] == ["text", "audio"]
    sound = decode.audio(only("audio", response))
    assert sound.rate == 24000
    assert sound.seconds == pytest.approx(0.3)
    assert response.finish_reason == "stop"


def test_the_answer_depends_on_the_speech_and_the_seed() -> None:
    requests = [
        hears(LOW_VOICE),
        hears(HIGH_VOICE),
        hears(LOW_VOICE, seed=1),
        hears(LOW_VOICE),
    ]
    *different, same = (only("audio", item) for item in answers(moshi(), requests))
    assert len(set(different)) == 3
    assert same == different[0]


def test_a_row_of_a_batch_is_the_same_as_alone() -> None:
    requests = [
        hears(LOW_VOICE, seed=1),
        hears(HIGH_VOICE, seconds=0.4, seed=2),
        hears(wav(tone(1.0, 220), RATE), seed=3),
    ]
    together = [item.output for item in answers(moshi(), requests)]
    assert together == [says(moshi(), request).output for request in requests]


@pytest.mark.parametrize("kind", BOTH)
def test_only_the_wanted_kind_is_given(kind: PartKind) -> None:
    both = says(moshi(), hears(LOW_VOICE)).output
    output = says(moshi(), hears(LOW_VOICE, wants=(kind,))).output
    assert both is not None
    assert output is not None
    assert output.parts == tuple(part for part in both.parts if part.kind == kind)


def test_the_text_of_a_prompt_is_left_out_with_a_warning() -> None:
    response = says(moshi(), hears("Answer:", LOW_VOICE))
    assert response.output == says(moshi(), hears(LOW_VOICE)).output
    assert response.warnings == (
        "the text was left out: this model hears speech and reads no text",
    )


@pytest.mark.parametrize(
    ("request_", "kind", "words"),
    [
        (hears("no speech"), "unsupported", "one recording of speech"),
        (hears(LOW_VOICE, HIGH_VOICE), "unsupported", "has 2"),
        (hears(wav(tone(11, 110), RATE)), "too_long", "maximum"),
        (hears(LOW_VOICE, seconds=11), "bad_request", "at most"),
    ],
    ids=["no speech", "two sounds", "a long sound", "a long answer"],
)
def test_what_the_model_cannot_hear_or_say_is_the_error_of_its_row(
    request_: Request, kind: str, words: str
) -> None:
    failed, good = answers(moshi(), [request_, hears(LOW_VOICE)])
    assert fault(failed)[0] == kind
    assert words in fault(failed)[1]
    assert good.error is None
