from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from mmeval.broker.acceptance import reasoning_apart
from mmeval.errors import UsageError
from mmeval.media.media import Media
from mmeval.model_backends.hf import HFBackend
from mmeval.model_backends.hf.adapters.chat import ChatAdapter
from mmeval.records import Request, Response, message
from tests.support.models import (
    answers,
    asked,
    changed,
    chat_of,
    copied,
    drawn,
    fault,
    loaded,
    says,
    started,
)
from tests.support.tiny_media import wav

CHAT_MODELS = ("llm", "llava", "idefics3", "qwen2_5_vl", "qwen2_audio")
RED, BLUE = drawn(), drawn((20, 20, 220), (64, 48))
HUM = Media.from_bytes(wav(8000))
BEEP = Media.from_bytes(wav(22050, rate=44100, channels=2))
MEDIA: dict[str, tuple[Media, ...]] = {"llm": (), "qwen2_audio": (HUM, BEEP)}


def prompts(name: str, **params: Any) -> list[Request]:
    """Questions of different length, with and without media, with a history, and a
    system message."""
    media = MEDIA.get(name, (RED, BLUE))
    turns = (message("user", "Say a word."), message("assistant", "A word."))
    return [
        asked("Hi", seed=1, **params),
        asked("What is to be learned from this?", *media[:1], seed=2, **params),
        asked(
            "Compare",
            *media[:1],
            "with",
            *media[1:],
            "and tell me all about both of them.",
            seed=3,
            **params,
        ),
        asked(
            "Another!", system="You are short of words.", before=turns, seed=4, **params
        ),
    ]


def given(response: Response) -> tuple[Any, ...]:
    assert response.error is None, response.error
    return response.output, response.finish_reason, response.usage, response.warnings


def alone(backend: HFBackend, requests: list[Request]) -> list[tuple[Any, ...]]:
    return [given(says(backend, request)) for request in requests]


def together(backend: HFBackend, requests: list[Request]) -> list[tuple[Any, ...]]:
    return [given(response) for response in answers(backend, requests)]


def generating(into: Path, **settings: Any) -> HFBackend:
    """The tiny language model with other settings of generation in its checkpoint."""
    return changed("llm", into, "generation_config.json", **settings)


@pytest.mark.parametrize(
    ("name", "temperature"), [("llm", 0.0), *((name, 1.0) for name in CHAT_MODELS)]
)
def test_a_row_answers_in_a_batch_as_it_does_alone(
    name: str, temperature: float
) -> None:
    requests = prompts(name, temperature=temperature)
    found = together(loaded(name), requests)
    assert found == alone(loaded(name), requests)
    assert len({output for output, *_ in found}) > 1  # they depend on the question


def test_a_seed_gives_the_same_answer_again_and_a_checkpoint_that_samples_needs_no_temperature(
    tmp_path: Path,
) -> None:
    one, same, different = answers(
        loaded("llm"), [asked("Tell", temperature=1.0, seed=seed) for seed in (7, 7, 8)]
    )
    assert one.text == same.text != different.text
    backend = generating(tmp_path, do_sample=True, temperature=1.0)
    assert (
        says(backend, asked("Tell", seed=1)).text
        != says(backend, asked("Tell", seed=2)).text
    )
    assert (
        says(backend, asked("Tell", seed=1, temperature=0.0)).text
        == says(loaded("llm"), asked("Tell")).text
    )


@pytest.mark.parametrize(
    "rate",
    [
        8000,
        16000,
        44100,
    ],
)
def test_a_sound_of_any_rate_is_as_long_as_it_is(rate: int) -> None:
    second = Media.from_bytes(wav(rate, rate=rate, channels=2))
    (sound,) = (
        chat_of("qwen2_audio").row(0, asked("Hear", second)).chat.objects("audio")
    )
    assert sound.shape == (16000,)
    assert str(sound.dtype) == "float32"
    assert abs(sound[1000:-1000] - 0.5).max() < 0.01


def test_out_of_memory_is_raised_so_that_the_batch_is_halved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_args: object, **_kwargs: object) -> None:
        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")

    monkeypatch.setattr(chat_of("llm"), "encode", full)
    with pytest.raises(RuntimeError, match="out of memory"):
        answers(loaded("llm"), [asked("Hi"), asked("Ho")])


def test_an_answer_is_bounded_in_tokens_and_ends_before_a_stop_word(
    tmp_path: Path,
) -> None:
    question = asked("Go on", max_tokens=5)
    response, _ = answers(
        loaded("llm"), [question, asked("A longer one, so that there is padding")]
    )
    assert response.finish_reason == "length"
    assert response.usage.output_tokens == 5
    # a token a byte
    assert response.usage.input_tokens == len(chat_of("llm").row(0, question).text)
    whole = says(loaded("llm"), asked("Go on")).text
    stop = whole[4:6]
    own = generating(tmp_path, stop_strings=[stop])
    for cut in (
        says(loaded("llm"), asked("Go on", stop=(stop,))),
        says(own, asked("Go on")),
    ):
        assert cut.text == whole[: whole.find(stop)]
        assert cut.finish_reason == "stop"
        assert cut.usage.output_tokens < 12
    prompt = chat_of("llm").row(0, asked("Go on")).text
    begun = asked("Go on", stop=(prompt[-1] + whole[0],))
    assert says(loaded("llm"), begun).text == whole
    kind, text = fault(says(loaded("llm"), asked("Go on", stop=("END", ""))))
    assert kind == "bad_request"
    assert "empty string" in text


GENERATION: Mapping[str, Mapping[str, Any]] = {
    "penalty": {"repetition_penalty": 1.7},
    "least of the answer": {"min_new_tokens": 5},
    "tokens left out": {"suppress_tokens": [70], "begin_suppress_tokens": [71]},
    "guidance": {"guidance_scale": 2.0},
    "several ends": {"eos_token_id": [257, 84, 94]},
    "cuts": {"do_sample": True, "temperature": 2, "top_p": 0.9, "top_h": 0.9},
}


@pytest.mark.parametrize("case", GENERATION)
def test_settings_of_generation_in_a_checkpoint_tie_no_row_to_its_neighbours(
    case: str, tmp_path: Path
) -> None:
    backend = generating(tmp_path, **GENERATION[case])
    for temperature in (None, 1.0):
        requests = prompts("llm", temperature=temperature)
        assert together(backend, requests) == alone(backend, requests)


def test_a_setting_without_effect_is_warned_of_or_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    generating(tmp_path, num_beams=3)
    assert "num_beams=3" in caplog.text
    assert [
        "top_p" in one for one in says(loaded("llm"), asked("Hi", top_p=0.5)).warnings
    ] == [True]


def test_a_prompt_that_fills_the_context_is_too_long_and_one_with_room_left_is_answered_whole(
    tmp_path: Path,
) -> None:
    fine, long = answers(
        started(copied("llm", tmp_path), max_length=60),
        [asked("Hi"), asked("Hi " * 40)],
    )
    assert fault(long)[0] == "too_long"
    assert "60" in fault(long)[1]
    assert fine.text == says(loaded("llm"), asked("Hi")).text
    seeing = started(copied("qwen2_5_vl", tmp_path), max_length=60)
    assert fault(says(seeing, asked("Look", *[BLUE] * 12)))[0] == "too_long"
    backend = started(copied("llm", tmp_path / "again"), max_length=60)
    words = ("Hi", "A longer question, yes?", "Hi there", "A question, yes?")
    requests = [asked(one, max_tokens=30) for one in words]
    found = together(backend, requests)
    short, long = (usage for _, _, usage, _ in found[:2])
    assert short.output_tokens == 30
    assert long.output_tokens == 60 - long.input_tokens
    assert found == alone(backend, requests)


DATED = (
    "{{ mood }}{% if not date_string is defined %}{% set date_string = "
    "strftime_now('%Y-%m-%d') %}{% endif %}"
    "{{ date_string }}{% for m in messages %}[{{ m.content }}]{% endfor %}"
)


def test_a_template_gets_its_values_with_a_warning_of_today(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = copied("llm", tmp_path)
    (folder / "chat_template.jinja").write_text(DATED)
    for arguments in ({"date_string": "1999-12-31", "mood": "glad"}, {"mood": "glad"}):
        assert "today's date" not in caplog.text
        backend = started(folder, chat_template_args=arguments)
        assert says(backend, asked("Hi")).usage.input_tokens == len(
            "glad1999-12-31[Hi]"
        )
    assert "today's date" in caplog.text
    for name in ("moood", "messages"):
        with pytest.raises(UsageError, match=f"does not read '{name}'"):
            started(folder, chat_template_args={name: 1})


def test_hidden_reasoning_is_found_where_the_template_opens_it_or_control_tokens_stand_around_it(
    tmp_path: Path,
) -> None:
    folder = copied("llm", tmp_path)
    template = folder / "chat_template.jinja"
    template.write_text(
        template.read_text() + "<think>\n{% if brief %}\n</think>\n\n{% endif %}"
    )
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["[THINK]", "[/THINK]"], special_tokens=True)
    tokenizer.save_pretrained(folder)
    backend = started(folder)
    cut = says(backend, asked("Hi"))
    assert cut.finish_reason == "length"
    [thought] = reasoning_apart(given(cut)[0], "<think>", "</think>").parts
    assert thought.kind == "reasoning"
    assert len(thought.raw) > len("<think>")
    brief = says(started(folder, chat_template_args={"brief": True}), asked("Hi"))
    assert "<think>" not in given(brief)[0].raw
    assert isinstance(backend.adapter, ChatAdapter)
    assert (
        backend.adapter.text_of(tokenizer("[THINK]hm[/THINK]so</s>").input_ids)
        == "[THINK]hm[/THINK]so"
    )


def test_a_model_without_random_draws_is_not_sampled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = chat_of("llm").model
    own = model.generate
    monkeypatch.setattr(
        model, "generate", lambda **given: own(**(given | {"logits_processor": []}))
    )
    assert (
        "temperature=0" in fault(says(loaded("llm"), asked("Hi", temperature=1.0)))[1]
    )
    assert says(loaded("llm"), asked("Hi")).error is None
