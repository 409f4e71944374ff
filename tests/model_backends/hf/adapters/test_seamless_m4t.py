from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from mmeval.errors import UsageError
from mmeval.media import Media, PartKind, decode
from mmeval.model_backends.hf.backend import HFBackend
from mmeval.records import Request, Response
from tests.support.models import (
    answers,
    asked,
    changed,
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
from tests.support.tiny_media import wav

VERSIONS = ("seamless_m4t", "seamless_m4t_v2")
BOTH: tuple[PartKind, ...] = ("text", "audio")
GENERATION = "generation_config.json"

speech = partial(only, "audio")
sentence = Media.from_bytes(wav(8000))
of_each_version = pytest.mark.parametrize("version", VERSIONS)


def translator(version: str = "seamless_m4t_v2") -> HFBackend:
    return loaded(version, "auto")


def wanting(
    *parts: Any,
    wants: tuple[PartKind, ...] = BOTH,
    **params: Any,
) -> Request:
    return replace(asked(*parts, **params), wants=wants)


def with_options(wants: tuple[PartKind, ...], **options: Any) -> Request:
    named = {name.replace("__", "."): value for name, value in options.items()}
    return wanting("hello there", wants=wants, options=named)


def written(response: Response) -> str:
    assert response.output is not None, response.error
    return response.output.text


def kinds(response: Response) -> list[str]:
    assert response.output is not None, response.error
    return [part.kind for part in response.output.parts]


def topics(response: Response) -> list[str]:
    """The first two words of each warning."""
    return [" ".join(warning.split()[:2]) for warning in response.warnings]


@of_each_version
@pytest.mark.parametrize("prompt", ["hello there", sentence], ids=["text", "sound"])
def test_a_text_or_a_sound_is_translated_to_text_speech_or_both(
    version: str,
    prompt: Any,
) -> None:
    backend = translator(version)
    both = says(backend, wanting(prompt))
    text = says(backend, wanting(prompt, wants=("text",)))
    audio = says(backend, wanting(prompt, wants=("audio",)))
    assert kinds(both) == ["text", "audio"]
    assert kinds(text) == ["text"]
    assert kinds(audio) == ["audio"]
    assert written(text) == written(both)
    assert speech(audio) == speech(both)
    sound = decode.audio(speech(both))
    assert sound.rate == 16_000
    assert abs(sound.samples).max() > 0.1


@of_each_version
@pytest.mark.parametrize("wants", [("text",), BOTH], ids=["text", "both"])
def test_a_row_of_a_batch_is_answered_as_if_it_were_alone(
    version: str,
    wants: tuple[PartKind, ...],
) -> None:
    prompts = ["hello there", sentence, "bye", "hello there"]
    rows = []
    for seed, prompt in enumerate(prompts):
        rows.append(wanting(prompt, wants=wants, seed=seed, temperature=1.0))
    backend = translator(version)
    alone = [says(backend, row) for row in rows]
    assert answers(backend, rows) == alone
    assert written(alone[0]) != written(alone[3])
    # an earlier draw from the library's generator changes nothing
    torch.rand(7)
    assert says(backend, rows[0]) == alone[0]


@of_each_version
def test_the_languages_are_options(version: str) -> None:
    backend = translator(version)
    usual = says(backend, with_options(("text",)))
    english = says(backend, with_options(("text",), text__language="eng"))
    chinese = says(backend, with_options(("text",), text__language="cmn"))
    french = says(backend, with_options(("text",), text__source_language="fra"))
    assert english == usual
    assert written(chinese) != written(usual)
    assert french.output != usual.output or version == "seamless_m4t"


@of_each_version
def test_the_speech_has_a_language_and_a_voice(version: str) -> None:
    backend = translator(version)
    usual = speech(says(backend, with_options(BOTH)))
    german = says(backend, with_options(BOTH, audio__language="deu"))
    assert speech(german) != usual
    assert german == says(backend, with_options(BOTH, text__language="deu"))
    assert speech(says(backend, with_options(BOTH, audio__voice=2))) != usual
    assert speech(says(backend, with_options(BOTH, audio__voice=0))) == usual


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"audio__language": "cmn"}, "known: deu, eng, fra"),
        ({"audio__language": "frb"}, 'did you mean "fra"'),
        ({"audio__language": "fra", "text__language": "deu"}, "must be equal"),
        ({"text__source_language": "xx"}, "known: cmn, deu, eng, fra"),
        ({"audio__voice": 3}, "from 0 to 2"),
        ({"audio__voice": "loud"}, "must be a number"),
    ],
    ids=["not spoken", "typo", "two", "source", "voice", "name"],
)
def test_an_unknown_language_or_voice_is_refused_with_those_that_are_known(
    options: dict[str, Any],
    words: str,
) -> None:
    kind, message = fault(says(translator(), with_options(BOTH, **options)))
    assert kind == "bad_request"
    assert words in message


def test_what_is_not_translated_is_left_out_with_a_warning() -> None:
    backend = translator()
    plain = says(backend, wanting(sentence))
    instructed = says(backend, wanting("translate", sentence, system="be brief"))
    assert instructed.output == plain.output
    assert topics(instructed) == ["the system", "the text"]
    assert topics(plain) == []


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ([sentence, sentence], "unsupported"),
        ([drawn()], "unsupported"),
        ([""], "bad_request"),
        (["hello " * 60], "too_long"),
    ],
    ids=["two sounds", "picture", "nothing", "long"],
)
def test_a_prompt_that_cannot_be_translated_fails_only_its_row(
    parts: list[Any],
    kind: str,
) -> None:
    refused, answered = answers(translator(), [wanting(*parts), wanting("bye")])
    assert fault(refused)[0] == kind
    assert answered == says(translator(), wanting("bye"))


def test_a_language_token_in_a_text_is_plain_text() -> None:
    spoken = says(translator(), wanting("bye __fra__"))
    assert topics(spoken) == ["control tokens"]


def test_a_long_text_does_not_shorten_its_translation() -> None:
    wants: tuple[PartKind, ...] = ("text",)
    short, long = answers(
        translator(),
        [
            wanting("hello", wants=wants, max_tokens=100),
            wanting("hello " * 40, wants=wants, max_tokens=100),
        ],
    )
    assert short.usage.output_tokens == long.usage.output_tokens == 100


def test_one_option_names_the_language_of_an_answer_of_any_kind() -> None:
    named, other = (
        says(translator(), with_options(("audio",), **{option: "fra"}))
        for option in ("audio__language", "text__language")
    )
    assert speech(named) == speech(other)
    assert speech(named) != speech(says(translator(), with_options(("audio",))))


def test_a_text_that_is_cut_ends_for_its_length() -> None:
    cut = says(translator(), wanting("hello there", wants=("text",), max_tokens=3))
    assert cut.finish_reason == "length"
    assert cut.usage.output_tokens == 3


def test_a_text_ends_before_a_stop_string_but_its_speech_does_not() -> None:
    whole = written(says(translator(), wanting("hello there")))
    stop = whole[4]
    ended = says(translator(), wanting("hello there", stop=(stop,)))
    assert written(ended) == whole[: whole.index(stop)]
    assert ended.finish_reason == "stop"
    assert topics(ended) == ["the speech"]


def test_a_limit_of_units_cuts_the_speech_of_the_first_version() -> None:
    backend = translator("seamless_m4t")
    short = says(backend, with_options(("audio",), audio__max_tokens=1))
    assert short.finish_reason == "length"
    assert topics(short) == ["the speech"]
    assert speech(short).size < speech(says(backend, with_options(("audio",)))).size
    assert "audio.max_tokens" not in (translator().capabilities.options or ())


def test_an_empty_translation_is_not_spoken() -> None:
    backend = started(tiny_model("seamless_m4t_v2"))
    model = backend.adapter.model  # type: ignore[attr-defined]  # a translator
    with torch.no_grad():
        model.lm_head.weight.zero_()
        # the end is the likeliest token for every state of the decoder
        model.text_decoder.layer_norm.weight.zero_()
        model.text_decoder.layer_norm.bias.fill_(1.0)
        model.lm_head.weight[3] = 1.0
    answered = says(backend, wanting("hello there"))
    assert kinds(answered) == []
    assert topics(answered) == ["the translation"]


def test_a_text_that_cannot_be_spoken_fails_its_row_but_is_written() -> None:
    backend = started(tiny_model("seamless_m4t"))
    with torch.no_grad():
        # the vocoder has no embedding for this control unit
        units = backend.adapter.model.t2u_model  # type: ignore[attr-defined]  # a translator
        units.lm_head.weight.zero_()
        units.model.decoder.layer_norm.weight.zero_()
        units.model.decoder.layer_norm.bias.fill_(1.0)
        units.lm_head.weight[3] = 1.0
    kind, message = fault(says(backend, wanting("hello there")))
    assert kind == "internal"
    assert "could not speak" in message
    assert written(says(backend, wanting("hello there", wants=("text",))))


def test_scores_that_are_not_numbers_fail_the_row() -> None:
    backend = started(tiny_model("seamless_m4t_v2"))
    with torch.no_grad():
        backend.adapter.model.lm_head.weight.fill_(float("nan"))  # type: ignore[attr-defined]  # a translator
    kind, message = fault(says(backend, wanting("hello there")))
    assert kind == "internal"
    assert "NaN" in message


def test_kinds_and_options_come_from_small_files(tmp_path: Path) -> None:
    folder = copied("seamless_m4t_v2", tmp_path)
    (folder / "model.safetensors").unlink()
    capabilities = HFBackend(pretrained=str(folder)).capabilities
    assert set(capabilities.inputs) == {"text", "code", "audio"}
    assert set(capabilities.outputs) == {"text", "code", "audio"}
    assert set(capabilities.options or ()) == {
        "text.language",
        "text.source_language",
        "audio.language",
        "audio.voice",
    }
    rewritten(folder / GENERATION, vocoder_lang_code_to_id=None)
    silent = HFBackend(pretrained=str(folder)).capabilities
    assert set(silent.outputs) == {"text", "code"}


def test_a_checkpoint_without_languages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="text_decoder_lang_to_code_id"):
        changed(
            "seamless_m4t_v2",
            tmp_path,
            GENERATION,
            text_decoder_lang_to_code_id=None,
        )
