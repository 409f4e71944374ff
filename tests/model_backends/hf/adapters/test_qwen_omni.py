import pickle
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from mmeval.errors import MissingDataError, UsageError
from mmeval.media import Media, PartKind, decode
from mmeval.model_backends.hf.adapters import qwen_omni
from mmeval.model_backends.hf.adapters.qwen_omni import (
    Qwen3OmniAdapter,
    Qwen25OmniAdapter,
    QwenOmniAdapter,
    _CodeCounter,
)
from mmeval.model_backends.hf.failures import RowError
from mmeval.records import Request, Response
from tests.support.models import (
    adapter_of,
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
from tests.support.tiny_media import wav

CODES = 6
BOTH: tuple[PartKind, ...] = ("text", "audio")


omni = partial(loaded, "qwen2_5_omni", "auto")
adapter = partial(adapter_of, QwenOmniAdapter, "qwen2_5_omni", "auto")
speech = partial(only, "audio")


def wanting(
    *parts: Any, wants: tuple[PartKind, ...] = BOTH, codes: Any = CODES, **more: Any
) -> Request:
    options = {"audio.max_tokens": codes, **more.pop("options", {})}
    return replace(asked(*parts, options=options, **more), wants=wants)


def kinds(response: Response) -> list[str]:
    assert response.output is not None, response.error
    return [part.kind for part in response.output.parts]


def warned(response: Response) -> list[str]:
    """The topics of the warnings: another system message, or the number of codes at
    which the speech was cut."""
    found = [
        re.search(r"system message|\d+(?= codes)", warning)
        for warning in response.warnings
    ]
    return [match[0] if match else "" for match in found]


def test_a_text_is_followed_by_its_speech_or_one_of_them_comes_alone() -> None:
    both = says(omni(), wanting("hm", system="x"))
    assert kinds(both) == ["text", "audio"]
    assert warned(both) == ["system message", "6"]
    sound = decode.audio(speech(both))
    assert sound.rate == 24_000
    assert sound.samples.shape[1] == 1
    assert abs(sound.samples).max() > 0.1
    text = says(omni(), asked("what is this"))
    audio = says(omni(), wanting("what is this", wants=("audio",)))
    assert kinds(text) == ["text"]
    assert kinds(audio) == ["audio"]
    assert speech(audio) == speech(says(omni(), wanting("what is this")))


def test_a_spoken_row_is_answered_before_the_next_row_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows: list[str] = []
    speak = QwenOmniAdapter.generate

    def noted(self: QwenOmniAdapter, asked: Any, *more: Any) -> Any:
        rows.extend(row.text for row in asked)
        return speak(self, asked, *more)

    monkeypatch.setattr(QwenOmniAdapter, "generate", noted)
    answered = omni().generate_batch([wanting("one"), wanting("two")])
    assert [(position, len(rows)) for position, _ in answered] == [(0, 1), (1, 2)]


def test_the_model_gets_its_own_system_message_to_speak_and_none_to_write() -> None:
    own = Qwen25OmniAdapter.speech_system
    spoken, written = adapter().row(0, wanting("hm")), adapter().row(0, asked("hm"))
    assert own in spoken.text
    assert own not in written.text
    assert spoken.request.messages == wanting("hm").messages
    assert spoken.warnings == ()
    assert "system message" not in warned(says(omni(), asked("hm", system="Be brief.")))
    assert "system message" not in warned(says(omni(), wanting("hm", system=own)))


@pytest.mark.parametrize("name", ["qwen2_5_omni", "qwen3_omni"])
def test_a_speech_is_bounded_by_its_words_or_the_request(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qwen_omni, "BASE_CODES", 4)
    monkeypatch.setattr(qwen_omni, "CODES_PER_TOKEN", 2)

    def spoken(tokens: int, **options: int) -> Response:
        return says(
            loaded(name, "auto"),
            replace(asked("hm", max_tokens=tokens, options=options), wants=BOTH),
        )

    found = spoken(2), spoken(6), spoken(6, **{"audio.max_tokens": 8})
    assert [(warned(one)[-1], one.finish_reason) for one in found] == [
        (n, "length") for n in ("8", "16", "8")
    ]
    samples = [len(decode.audio(speech(one)).samples) for one in found]
    assert samples[0] == samples[2] < samples[1]


@pytest.mark.parametrize(
    "option",
    [
        {"audio.max_tokens": 0},
        {"audio.temperature": -1},
        {"audio.top_k": 0.5},
        {"audio.top_p": "high"},
    ],
    ids=str,
)
def test_options_that_mean_nothing_are_refused(option: dict[str, Any]) -> None:
    assert fault(says(omni(), wanting("hm", options=option)))[0] == "bad_request"


def test_scores_of_a_talker_that_have_gone_bad_end_the_speech_and_a_single_token_cannot_be_spoken() -> (
    None
):
    assert fault(says(omni(), wanting("hm", max_tokens=1)))[0] == "internal"
    assert kinds(says(omni(), wanting("hm", max_tokens=2)))[-1] == "audio"
    watch = _CodeCounter(RowError("internal", "not a number"))
    assert watch(None, scores := torch.zeros(1, 3)) is scores
    with pytest.raises(RowError, match="not a number"):
        watch(None, torch.tensor([[0.0, torch.nan, 1.0]]))
    assert watch.steps == 2


def test_an_answer_without_words_has_no_speech_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ends(_ids: Any, scores: Any) -> Any:
        only = torch.full_like(scores, -torch.inf)
        only[:, adapter().generation.ends[0]] = 0.0
        return only

    monkeypatch.setattr(adapter(), "logits_processors", lambda _rows: [ends])
    both = says(omni(), wanting("hm"))
    alone = says(omni(), wanting("hm", wants=("audio",)))
    assert both.output is not None
    assert both.output.empty is True
    assert ["no speech" in warning for warning in both.warnings] == [True]
    assert "no speech" in fault(alone)[1]


def test_memory_that_runs_out_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_given: Any, **_more: Any) -> Any:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(adapter().whole, "generate", full)
    with pytest.raises(RuntimeError, match="out of memory"):
        says(omni(), wanting("hm"))


def test_a_checkpoint_without_a_talker_needs_no_voices_and_any_other_asks_for_them(
    tmp_path: Path,
) -> None:
    folder = copied("qwen2_5_omni", tmp_path)
    (folder / "spk_dict.pt").unlink()
    with pytest.raises(MissingDataError, match=r"spk_dict\.pt"):
        started(folder)
    rewritten(folder / "config.json", enable_audio_output=False)
    backend = started(folder)
    found = backend.capabilities
    assert set(found.outputs) == {"text", "code"}
    assert found.output_mode == "single"
    assert found.options == frozenset()
    assert says(backend, asked("hm")).text == says(omni(), asked("hm")).text


class Bomb:
    def __init__(self, file: Path) -> None:
        self._file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._file,)


def test_no_code_comes_out_of_the_file_of_voices(tmp_path: Path) -> None:
    folder = copied("qwen2_5_omni", tmp_path)
    (folder / "spk_dict.pt").write_bytes(
        pickle.dumps({"Chelsie": Bomb(tmp_path / "boom")})
    )
    with pytest.raises(UsageError, match="voices"):
        started(folder)
    assert not (tmp_path / "boom").exists()


def test_the_third_generation_speaks_with_the_voices_of_its_configuration_under_any_system_message() -> (
    None
):
    newer = loaded("qwen3_omni", "auto")
    voices: list[dict[str, Any]] = [
        {},
        {"audio.voice": "Ethan"},
        {"audio.voice": "chelsie"},
    ]
    usual, ethan, other = (
        says(newer, wanting("hm", "!", options=voice)) for voice in voices
    )
    assert decode.audio(speech(usual)).rate == 24_000
    assert speech(usual) == speech(ethan) != speech(other)
    assert (
        "chelsie, ethan"
        in fault(says(newer, wanting("hm", options={"audio.voice": "cherry"})))[1]
    )
    assert isinstance(newer.adapter, Qwen3OmniAdapter)
    assert (
        newer.adapter.row(0, wanting("hm")).text
        == newer.adapter.row(0, asked("hm")).text
    )
    assert newer.adapter.row(0, wanting("hm", system="Be brief.")).warnings == ()
    assert kinds(
        says(newer, wanting("hm", Media.from_bytes(wav(16000, rate=16000)), drawn()))
    ) == ["text", "audio"]
