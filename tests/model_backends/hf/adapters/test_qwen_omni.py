from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from mmeval import decode
from mmeval.content.media import Media
from mmeval.content.parts import PartKind
from mmeval.errors import MissingDataError, UsageError
from mmeval.model_backends.hf import HFBackend
from mmeval.model_backends.hf.adapters import qwen_omni
from mmeval.model_backends.hf.adapters.qwen_omni import Qwen3OmniAdapter, Qwen25OmniAdapter, QwenOmniAdapter, _Watch
from mmeval.model_backends.hf.failures import RowError
from mmeval.records.request import Request
from mmeval.records.response import Response
from tests.support.local_models import answers, asked, copied, drawn, loaded, rewritten, says, started
from tests.support.tiny_media import wav
from tests.support.tiny_models import tiny_model

CODES = 6
BOTH: tuple[PartKind, ...] = ("text", "audio")
OTHER_SYSTEM = "this model was taught to speak under one system message, and the prompt has another"
CUT = f"the speech was cut after {CODES} codes; audio.max_tokens allows more"


def omni() -> HFBackend:
    return loaded("qwen2_5_omni", "auto")


def adapter() -> QwenOmniAdapter:
    found = omni().adapter
    assert isinstance(found, QwenOmniAdapter)
    return found


def wanting(*parts: Any, wants: tuple[PartKind, ...] = BOTH, codes: Any = CODES, **more: Any) -> Request:
    options = {"audio.max_tokens": codes, **more.pop("options", {})}
    request = asked(*parts, options=options, **more)
    return Request(request.messages, request.params, wants, request.seed)


def kinds(response: Response) -> list[str]:
    assert response.output is not None, response.error
    return [part.kind for part in response.output.parts]


def speech(response: Response) -> Media:
    assert response.output is not None, response.error
    [found] = response.output.media("audio")
    return found


def test_a_text_is_followed_by_its_speech() -> None:
    said = says(omni(), wanting("hm", system="x"))
    assert kinds(said) == ["text", "audio"]
    sound = decode.audio(speech(said))
    assert (sound.rate, sound.samples.shape[1]) == (24_000, 1)
    assert abs(sound.samples).max() > 0.1
    assert said.warnings == (OTHER_SYSTEM, CUT)


def test_unwanted_parts_are_left_out() -> None:
    text, audio = says(omni(), asked("what is this")), says(omni(), wanting("what is this", wants=("audio",)))
    assert (kinds(text), kinds(audio)) == (["text"], ["audio"])
    assert speech(audio) == speech(says(omni(), wanting("what is this")))


def test_pictures_and_sounds_are_heard_of_and_spoken_about() -> None:
    hum = Media.from_bytes(wav(16000, rate=16000))
    prompts = [wanting(*parts, system="x") for parts in (("look: ", drawn()), ("listen: ", hum, "!"), ("hm",))]
    together = answers(omni(), prompts)
    assert [speech(response) for response in together] == [speech(says(omni(), prompt)) for prompt in prompts]
    assert len({speech(response) for response in together}) == 3


def test_what_is_spoken_is_answered_before_the_next_row_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_of: list[str] = []
    speak = QwenOmniAdapter._spoken

    def noted(self: QwenOmniAdapter, row: Any, *more: Any) -> Any:
        asked_of.append(row.text)
        return speak(self, row, *more)

    monkeypatch.setattr(QwenOmniAdapter, "_spoken", noted)
    answered = omni().generate_batch([wanting("one"), wanting("two")])

    assert (next(answered)[0], len(asked_of)) == (0, 1)
    assert (next(answered)[0], len(asked_of)) == (1, 2)


@pytest.mark.parametrize("wants", [("text",), BOTH], ids="+".join)
def test_a_row_has_its_own_seed_in_any_batch(wants: tuple[PartKind, ...]) -> None:
    first, other, again = answers(
        omni(), [wanting("hm", wants=wants, temperature=1.0, seed=seed) for seed in (1, 2, 1)]
    )
    assert first.output == again.output == says(omni(), wanting("hm", wants=wants, temperature=1.0, seed=1)).output
    assert first.output != other.output


def test_the_model_gets_its_own_system_message_to_speak_and_none_to_write() -> None:
    own = Qwen25OmniAdapter.speech_system
    spoken, written = adapter().row(0, wanting("hm")), adapter().row(0, asked("hm"))
    assert (own in spoken.text, own in written.text) == (True, False)
    assert (spoken.request.messages, spoken.warnings) == (wanting("hm").messages, ())


def test_another_system_message_stays_and_is_warned_of_where_speech_is_wanted() -> None:
    assert OTHER_SYSTEM in says(omni(), wanting("hm", system="Be brief.")).warnings
    assert OTHER_SYSTEM not in says(omni(), asked("hm", system="Be brief.")).warnings
    assert OTHER_SYSTEM not in says(omni(), wanting("hm", system=Qwen25OmniAdapter.speech_system)).warnings


def test_a_voice_that_the_model_lacks_is_refused_with_those_it_has() -> None:
    spoken = says(omni(), wanting("hm", options={"audio.voice": "Chelsie"}))
    error = says(omni(), wanting("hm", options={"audio.voice": "Ethan"})).error
    assert speech(spoken) == speech(says(omni(), wanting("hm")))
    assert error is not None
    assert (error.kind, error.message) == (
        "bad_request",
        "audio.voice='Ethan' is no voice of this model; known: Chelsie",
    )


def test_the_length_of_speech_is_bounded_in_codes() -> None:
    short, long = (decode.audio(speech(says(omni(), wanting("hm", codes=codes)))) for codes in (6, 12))
    assert len(long.samples) == 2 * len(short.samples)


@pytest.mark.parametrize("name", ["qwen2_5_omni", "qwen3_omni"])
def test_a_speech_is_bounded_by_its_words_unless_the_request_says_how(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qwen_omni, "CODES_TO_BEGIN", 4)
    monkeypatch.setattr(qwen_omni, "CODES_A_TOKEN", 2)

    def spoken(tokens: int, **options: int) -> Response:
        request = asked("hm", max_tokens=tokens, options=options)
        return says(loaded(name, "auto"), Request(request.messages, request.params, BOTH, 0))

    short, long, given = spoken(2), spoken(6), spoken(6, **{"audio.max_tokens": 8})

    assert [said.warnings[-1].partition(";")[0] for said in (short, long, given)] == [
        f"the speech was cut after {codes} codes" for codes in (8, 16, 8)
    ]
    assert {said.finish_reason for said in (short, long, given)} == {"length"}
    samples = [len(decode.audio(speech(said)).samples) for said in (short, long, given)]
    assert samples[0] == samples[2] < samples[1]


def test_no_speech_is_longer_than_the_library_s_own_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qwen_omni, "MOST_CODES", CODES)
    request = asked("hm")
    assert CUT in says(omni(), Request(request.messages, request.params, BOTH, 0)).warnings


def test_how_the_voice_is_drawn_is_steered_apart_from_the_words() -> None:
    plain, greedy = says(omni(), wanting("hm")), says(omni(), wanting("hm", options={"audio.temperature": 0}))
    assert plain.text == greedy.text
    assert speech(plain) != speech(greedy)
    same = says(omni(), wanting("hm", options={"audio.top_p": 0.8, "audio.top_k": 40, "audio.temperature": 0.9}))
    assert speech(same) == speech(plain)


@pytest.mark.parametrize(
    "option",
    [{"audio.max_tokens": 0}, {"audio.temperature": -1}, {"audio.top_k": 0.5}, {"audio.top_p": "high"}],
    ids=str,
)
def test_options_that_mean_nothing_are_refused_before_anything_is_said(option: dict[str, Any]) -> None:
    error = says(omni(), wanting("hm", options=option)).error
    assert error is not None
    assert error.kind == "bad_request"


def test_a_text_of_a_single_token_cannot_be_spoken_and_harms_no_neighbour() -> None:
    # The library speaks from the second token on.
    short = says(omni(), wanting("hm", max_tokens=1))
    assert short.error is not None
    assert (short.error.kind, "could not be spoken" in short.error.message) == ("internal", True)
    assert kinds(says(omni(), wanting("hm", max_tokens=2)))[-1] == "audio"


def test_an_answer_without_words_has_no_speech_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def ends(_ids: Any, scores: Any) -> Any:
        only = torch.full_like(scores, -torch.inf)
        only[:, adapter().own.ends[0]] = 0.0
        return only

    monkeypatch.setattr(adapter(), "logits_processors", lambda _rows: [ends])

    both, alone = says(omni(), wanting("hm")), says(omni(), wanting("hm", wants=("audio",)))

    assert (both.output is not None and both.output.empty, both.warnings) == (True, ("no words, so no speech",))
    assert alone.error is not None
    assert alone.error.message == "no speech came: no words, so no speech"


def test_memory_that_runs_out_is_the_core_s_to_handle(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_given: Any, **_more: Any) -> Any:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(adapter().whole, "generate", full)
    with pytest.raises(RuntimeError, match="out of memory"):
        says(omni(), wanting("hm"))


def test_a_talker_whose_scores_are_no_numbers_fails_its_row() -> None:
    import torch

    backend = started(tiny_model("qwen2_5_omni"))
    weight = backend.adapter.whole.talker.codec_head.weight  # type: ignore[attr-defined]  # a Qwen-Omni
    with torch.no_grad():
        weight.fill_(float("nan"))

    error = says(backend, wanting("hm")).error

    assert error is not None
    assert (error.kind, "NaN" in error.message) == ("internal", True)
    assert kinds(says(backend, asked("hm"))) == ["text"]


def test_scores_of_a_talker_that_have_gone_bad_end_the_speech_at_once() -> None:
    import torch

    watch = _Watch("not a number")
    assert watch(None, scores := torch.zeros(1, 3)) is scores
    with pytest.raises(RowError, match="not a number"):
        watch(None, torch.tensor([[0.0, torch.nan, 1.0]]))
    assert watch.steps == 2


def test_a_checkpoint_without_a_talker_writes_and_needs_no_voices(tmp_path: Path) -> None:
    folder = copied("qwen2_5_omni", tmp_path)
    rewritten(folder / "config.json", enable_audio_output=False)
    (folder / "spk_dict.pt").unlink()
    backend = started(folder)
    assert (set(backend.capabilities.outputs), backend.capabilities.output_mode) == ({"text", "code"}, "single")
    assert backend.capabilities.options == frozenset()
    assert says(backend, asked("hm")).text == says(omni(), asked("hm")).text


def test_voices_that_are_missing_are_asked_for(tmp_path: Path) -> None:
    folder = copied("qwen2_5_omni", tmp_path)
    (folder / "spk_dict.pt").unlink()
    with pytest.raises(MissingDataError, match=r"spk_dict\.pt: there is no such file; it holds the model's voices"):
        started(folder)


class Bomb:
    def __init__(self, file: Path) -> None:
        self._file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._file,)


def test_no_code_comes_out_of_the_file_of_voices(tmp_path: Path) -> None:
    folder = copied("qwen2_5_omni", tmp_path)
    (folder / "spk_dict.pt").write_bytes(pickle.dumps({"Chelsie": Bomb(tmp_path / "boom")}))
    with pytest.raises(UsageError, match="its voices cannot be loaded"):
        started(folder)
    assert not (tmp_path / "boom").exists()


def test_the_third_generation_speaks_with_the_voices_of_its_configuration() -> None:
    newer = loaded("qwen3_omni", "auto")
    said = says(newer, wanting("hm", "!"))
    other = says(newer, wanting("hm", "!", options={"audio.voice": "chelsie"}))
    assert decode.audio(speech(said)).rate == 24_000
    assert speech(said) == speech(says(newer, wanting("hm", "!", options={"audio.voice": "Ethan"})))
    assert speech(said) != speech(other)
    error = says(newer, wanting("hm", options={"audio.voice": "cherry"})).error
    assert error is not None
    assert error.message == "audio.voice='cherry' is no voice of this model; known: chelsie, ethan"


def test_the_third_generation_speaks_under_any_system_message() -> None:
    newer = loaded("qwen3_omni", "auto").adapter
    assert isinstance(newer, Qwen3OmniAdapter)
    assert newer.row(0, wanting("hm")).text == newer.row(0, asked("hm")).text
    assert newer.row(0, wanting("hm", system="Be brief.")).warnings == ()
