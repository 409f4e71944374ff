from functools import partial
from pathlib import Path

import pytest

from mmeval.backend import load_tool
from mmeval.media import decode
from mmeval.records import Request
from tests.support.models import (
    answers,
    asked,
    copied,
    drawn,
    fault,
    loaded,
    only,
    says,
    started,
)

bark = partial(loaded, "bark", "auto")
speech = partial(only, "audio")


def with_option(name: str, value: object) -> Request:
    return asked("one", options={f"audio.{name}": value})


def test_small_files_say_that_text_becomes_speech() -> None:
    capabilities = bark().capabilities
    assert set(capabilities.inputs) == {"text", "code"}
    assert set(capabilities.outputs) == {"audio"}
    assert capabilities.options == {"audio.voice", "audio.max_tokens"}


def test_a_model_without_voices_has_no_option_for_them(tmp_path: Path) -> None:
    folder = copied("bark", tmp_path)
    (folder / "speaker_embeddings_path.json").unlink()
    backend = started(folder)
    assert backend.capabilities.options == {"audio.max_tokens"}
    assert speech(says(backend, asked("one"))) == speech(says(bark(), asked("one")))


def test_speech_depends_on_words_voice_and_seed() -> None:
    requests = [
        asked("one"),
        asked("two"),
        with_option("voice", "low"),
        with_option("voice", "high"),
        asked("one", seed=1),
        asked("one"),
    ]
    *different, again = map(speech, answers(bark(), requests))
    assert len(set(different)) == 5
    assert again == different[0]


def test_a_row_of_a_batch_is_the_same_file_as_alone() -> None:
    requests = [
        asked("one", seed=1),
        asked("a rather long sentence", seed=2),
        asked("two", seed=1),
    ]
    batch = [speech(response) for response in answers(bark(), requests)]
    assert batch == [speech(says(bark(), request)) for request in requests]


def test_an_unknown_voice_fails_its_row_and_known_ones_are_named() -> None:
    kind, text = fault(says(bark(), with_option("voice", "Vader")))
    assert kind == "bad_request"
    assert "known: low, high" in text


def test_a_voice_of_which_a_file_is_missing_fails_its_row(tmp_path: Path) -> None:
    folder = copied("bark", tmp_path)
    (folder / "low_coarse_prompt.npy").unlink()
    backend = started(folder)
    assert fault(says(backend, with_option("voice", "low")))[0] == "internal"
    assert speech(says(backend, with_option("voice", "high")))


def test_speech_that_a_limit_cuts_says_so() -> None:
    response = says(bark(), with_option("max_tokens", 5))
    assert response.finish_reason == "length"
    assert "after 5 codes" in response.warnings[0]
    # 50 codes a second
    sound = decode.audio(speech(response))
    assert (sound.rate, sound.seconds) == (16000, 0.1)


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (asked(""), "bad_request"),
        (asked("look", drawn()), "unsupported"),
        (asked("a" * 65), "too_long"),
    ],
    ids=["no words", "a picture", "longer than the model reads"],
)
def test_an_unusable_prompt_fails_only_its_row(request_: Request, kind: str) -> None:
    first, refused, last = answers(bark(), [asked("one"), request_, asked("one")])
    assert fault(refused)[0] == kind
    assert speech(first) == speech(last)


def test_what_is_not_spoken_has_a_warning() -> None:
    response = says(bark(), asked("one </s>", system="slowly", max_tokens=None))
    assert speech(response)
    system, control_token, _cut = response.warnings
    assert "system message" in system
    assert "</s>" in control_token


@pytest.mark.parametrize("name", ["text_to_speech", "text_to_sound"])
def test_the_model_serves_as_a_tool_of_agents(name: str) -> None:
    call = load_tool(name).call("one [laughs]", voice="low")
    assert speech(says(bark(), call.request))
