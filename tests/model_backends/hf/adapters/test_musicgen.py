import json
from functools import partial
from pathlib import Path

import pytest
import transformers

from mmeval.backend import load_tool
from mmeval.media import decode
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
)

musicgen = partial(loaded, "musicgen", "auto")
music = partial(only, "audio")


def with_option(name: str, value: object) -> Request:
    return asked("a slow waltz", options={f"audio.{name}": value})


def test_small_files_say_that_text_becomes_music() -> None:
    capabilities = musicgen().capabilities
    assert set(capabilities.inputs) == {"text", "code"}
    assert set(capabilities.outputs) == {"audio"}
    assert capabilities.options == {"audio.seconds", "audio.guidance_scale"}


def test_music_depends_on_its_description_and_seed() -> None:
    requests = [
        asked("a slow waltz", seed=1),
        asked("a fast polka", seed=1),
        asked("a slow waltz", seed=2),
        asked("a slow waltz", seed=1),
    ]
    waltz, polka, other_seed, again = map(music, answers(musicgen(), requests))
    assert waltz == again
    assert len({waltz, polka, other_seed}) == 3


def test_a_row_of_a_batch_is_the_same_file_as_alone() -> None:
    requests = [
        asked("drums", seed=1),
        asked("a long piece for piano and violin", seed=2),
        asked("a flute", seed=1),
    ]
    batch = [music(response) for response in answers(musicgen(), requests)]
    assert batch == [music(says(musicgen(), request)) for request in requests]


@pytest.mark.parametrize("seconds", [0.1, 0.333, 1])
def test_music_is_as_long_as_requested(seconds: float) -> None:
    response = says(musicgen(), with_option("seconds", seconds))
    sound = decode.audio(music(response))
    assert sound.rate == 16000
    assert len(sound.samples) == round(seconds * 16000)
    assert response.finish_reason == "stop"


def test_the_checkpoint_states_the_usual_duration() -> None:
    # 40 steps: a start token, 3 steps of delay, 36 frames of 10 ms
    assert decode.audio(music(says(musicgen(), asked("a waltz")))).seconds == 0.36


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("seconds", 3600, "at most 5.08"),
        ("seconds", 0, "at least 0.1"),
        ("seconds", "long", "must be a number"),
        ("guidance_scale", 0.5, "at least 1"),
    ],
)
def test_a_wrong_option_fails_its_row(option: str, value: object, words: str) -> None:
    kind, text = fault(says(musicgen(), with_option(option, value)))
    assert kind == "bad_request"
    assert words in text


def test_guidance_changes_the_music() -> None:
    free = music(says(musicgen(), with_option("guidance_scale", 1)))
    assert free != music(says(musicgen(), with_option("guidance_scale", 5)))


def test_a_system_message_is_left_out_with_a_warning() -> None:
    response = says(musicgen(), asked("a waltz", system="be brief", max_tokens=None))
    assert music(response) == music(says(musicgen(), asked("a waltz")))
    assert ["system message" in warning for warning in response.warnings] == [True]


def test_a_control_token_of_the_prompt_is_plain_text() -> None:
    response = says(musicgen(), asked("a waltz</s>", max_tokens=None))
    assert music(response) != music(says(musicgen(), asked("a waltz")))
    assert ["</s>" in warning for warning in response.warnings] == [True]


def test_a_parameter_of_texts_that_has_no_effect_is_a_warning() -> None:
    warm = says(musicgen(), asked("a waltz", max_tokens=9, temperature=0.5))
    plain = says(musicgen(), asked("a waltz", max_tokens=None))
    assert music(warm) == music(plain)
    assert warm.warnings == ("this model does not use max_tokens, temperature",)
    assert plain.warnings == ()


def test_a_picture_or_an_empty_prompt_fails_only_its_row() -> None:
    requests = [asked("one"), asked("look", drawn()), asked(""), asked("two")]
    first, picture, empty, last = answers(musicgen(), requests)
    assert fault(picture)[0] == "unsupported"
    assert fault(empty)[0] == "bad_request"
    assert music(first) != music(last)


def test_a_stereo_model_makes_two_channels(tmp_path: Path) -> None:
    folder = copied("musicgen", tmp_path)
    config = transformers.MusicgenConfig.from_pretrained(folder)
    # two codebooks for each channel
    config.decoder.audio_channels = 2
    transformers.set_seed(0)
    model = transformers.MusicgenForConditionalGeneration(config)
    model.generation_config = transformers.GenerationConfig.from_pretrained(folder)
    model.save_pretrained(folder)
    stereo = started(folder)
    sound = decode.audio(music(says(stereo, with_option("seconds", 0.25))))
    assert sound.samples.shape == (4000, 2)


@pytest.mark.parametrize("name", ["text_to_music", "text_to_sound"])
def test_the_model_serves_as_a_tool_of_agents(name: str) -> None:
    call = load_tool(name).call("rain on a roof", seconds=0.2)
    assert decode.audio(music(says(musicgen(), call.request))).seconds == 0.2


def test_text_of_several_messages_is_one_description() -> None:
    before = [message("user", "a\nslow"), message("assistant", "waltz")]
    joined = music(says(musicgen(), asked("in C", before=before)))
    assert joined == music(says(musicgen(), asked("a slow waltz in C")))


def test_a_prompt_longer_than_max_length_is_refused(tmp_path: Path) -> None:
    backend = started(copied("musicgen", tmp_path), max_length=8)
    assert fault(says(backend, asked("much too long")))[0] == "too_long"


def test_music_without_a_stated_duration_is_as_long_as_the_model_allows(
    tmp_path: Path,
) -> None:
    folder = copied("musicgen", tmp_path)
    decoder = json.loads((folder / "config.json").read_text("utf-8"))["decoder"]
    # a start token, 3 steps of delay, 30 frames of 10 ms
    shorter = {**decoder, "max_position_embeddings": 34}
    rewritten(folder / "config.json", decoder=shorter)
    rewritten(folder / "generation_config.json", max_length=None)
    sound = decode.audio(music(says(started(folder), asked("a waltz"))))
    assert sound.seconds == 0.3
