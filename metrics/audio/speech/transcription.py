"""Transcription: a sound's words, by Whisper, and their match with a target text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from mmeval.media import Media
from mmeval.metric import HubModel, loaded, metric, remembered_all
from mmeval.metrics.audio.clips import (
    MODEL_NEEDS,
    RATE,
    clip,
    resampled,
    the_only_decodable,
)
from mmeval.metrics.models import bound, network_of, opening, quietly
from mmeval.metrics.text.normalisers import speech
from mmeval.metrics.text.word_accuracy import Blanks, Unit, accuracy_of, target_texts
from mmeval.records import Sample, Score, Trial
from mmeval.system import need

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples

WHISPER = HubModel(("config.json", "model.safetensors|pytorch_model.bin"))
PROCESSOR = HubModel(
    (
        "preprocessor_config.json|processor_config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json|",
        "added_tokens.json|",
        "vocab.json|",
        "merges.txt|",
        "normalizer.json|",
    )
)
"""The files of a model's processor. Fine-tuned models use the original's processor:
BELLE's model for Chinese uses Whisper's."""

WHISPER_NAME = "openai/whisper-large-v3"
HEARD_RATE = 16000
AT_ONCE = 30
"""Length of the model's window in seconds. A longer sound is transcribed in several
windows."""
_BATCH = 8


class _WhisperProcessor(NamedTuple):
    """The processor and generation settings of a Whisper model, untyped here."""

    processor: Any
    generation: Any


def transcripts(
    clips: Sequence[Samples],
    model: Mapping[str, Any],
    processor: Mapping[str, Any],
    language: str = "english",
) -> list[str]:
    """Returns the words of each clip, normalised as Whisper normalises English.

    A transcript is in lower case, without punctuation and without text in brackets. It
    is empty for a clip without words or without samples.

    Clips are mono at 22050 Hz. Decoding is greedy, so the same clip always has the same
    transcript.
    """
    max_samples = AT_ONCE * HEARD_RATE
    resampled_clips = [resampled(samples, RATE, HEARD_RATE) for samples in clips]
    texts_of_clips = [""] * len(clips)
    short_clips = [
        index
        for index, samples in enumerate(resampled_clips)
        if 0 < len(samples) <= max_samples
    ]
    for first in range(0, len(short_clips), _BATCH):
        places = short_clips[first : first + _BATCH]
        batch = [resampled_clips[index] for index in places]
        texts = _written(batch, model, processor, language)
        for index, text in zip(places, texts, strict=True):
            texts_of_clips[index] = text
    for index, samples in enumerate(resampled_clips):
        if len(samples) > max_samples:
            (texts_of_clips[index],) = _written([samples], model, processor, language)
    return list(map(speech, texts_of_clips))


def transcripts_of(
    sounds: Sequence[Media],
    model: Mapping[str, Any],
    processor: Mapping[str, Any],
    language: str = "english",
) -> list[str]:
    """Returns ``transcripts`` of decodable sounds, computed once for all metrics."""
    key = ("transcript", model["fingerprint"], processor["fingerprint"], language)
    return remembered_all(
        sounds,
        key,
        lambda some: transcripts(list(map(clip, some)), model, processor, language),
    )


def _check(sample: Sample, switches: Mapping[str, Any]) -> str:
    targets = target_texts(sample, switches["text_key"])
    if isinstance(targets, Score):
        return targets.reason
    return ""


@metric(
    range=(0, 1),
    version="3",
    source="MMMG, the speech tasks; official: audio evaluators 54527db8",
    needs=MODEL_NEEDS,
    profiles={"official": {"blanks": "drop_wanted"}},
    check=_check,
    batch=_BATCH,
)
def transcript(
    trials: Sequence[Trial],
    *,
    model: Annotated[str | Mapping[str, Any], WHISPER] = WHISPER_NAME,
    processor: Annotated[str | Mapping[str, Any], PROCESSOR] = WHISPER_NAME,
    language: str = "english",
    unit: Unit = "word",
    blanks: Blanks = "drop",
    text_key: str = "text",
) -> list[Score]:
    """Word accuracy of the speech in the answer's sound, as Whisper transcribes it.

    Range 0 to 1, higher is better. It is 1 minus the word error rate (substitutions,
    deletions and insertions per word of the target), and at least 0. Both texts are
    normalised as Whisper normalises English. An answer scores 0, with the ``reason`` as
    evidence, unless it has exactly one sound that can be decoded. Unscored without an
    answer or a target.

    Not measured: voice, expression and quality. An error of Whisper counts as an
    error of the answer.

    Labels, for example: ``{"text": "the lamp is lit"}``.

    Switches:

    - ``model``: a Whisper model, by its name on the hub (about 3.1 GB) or as a folder.
      For Chinese use ``BELLE-2/Belle-whisper-large-v3-zh``.
    - ``processor``: the model with its tokenizer and feature extractor.
    - ``language``: the spoken language, as Whisper names it.
    - ``unit``: ``word`` or ``character``.
    - ``blanks``: as in ``word_accuracy``.
    - ``text_key``: the label with the target. Without this label, the first reference's
      text is the target.

    Evidence: ``errors``, the ``length`` of the target, and both normalised texts.
    """
    sounds = [the_only_decodable(trial) for trial in trials]
    only = [sound for sound in sounds if isinstance(sound, Media)]
    texts = transcripts_of(only, bound(model), bound(processor), language)
    scores: list[Score] = []
    for trial, sound in zip(trials, sounds, strict=True):
        if isinstance(sound, Score):
            scores.append(sound)
        else:
            text = texts.pop(0)
            scores.append(_accuracy(trial.sample, text, text_key, unit, blanks))
    return scores


def _accuracy(
    sample: Sample, text: str, text_key: str, unit: Unit, blanks: Blanks
) -> Score:
    targets = target_texts(sample, text_key)
    if isinstance(targets, Score):
        return targets
    pair = (text, speech(" ".join(targets)))
    accuracy = accuracy_of([pair], normalise="none", unit=unit, blanks=blanks)
    if accuracy.value is None:
        reason = f"undefined: the target text has no {unit}s"
        return Score.unscored(reason, **accuracy.evidence)
    return Score(accuracy.value, evidence=accuracy.evidence)


def _written(
    clips: Sequence[Samples],
    model: Mapping[str, Any],
    processor: Mapping[str, Any],
    language: str,
) -> list[str]:
    """Returns the transcripts of clips that fit one window, or of one longer clip."""
    torch = need("torch", "hf")
    network = loaded(model, _network)
    whisper = loaded(processor, _whisper_processor)
    is_long = len(clips[0]) > AT_ONCE * HEARD_RATE
    long_form: dict[str, Any] = {}
    if is_long:
        long_form = {"truncation": False, "padding": "longest"}
    inputs = whisper.processor.feature_extractor(
        list(clips),
        sampling_rate=HEARD_RATE,
        return_tensors="pt",
        return_attention_mask=True,
        **long_form,
    ).to(network.device)
    # A fine-tuned model's settings may lack the languages. Its processor has them.
    network.generation_config = whisper.generation
    with torch.inference_mode(), quietly():
        tokens = network.generate(
            inputs["input_features"],
            attention_mask=inputs["attention_mask"],
            language=language,
            task="transcribe",
            return_timestamps=is_long,
        )
    texts: list[str] = whisper.processor.batch_decode(tokens, skip_special_tokens=True)
    return texts


def _network(folder: Path, device: str) -> Any:
    return network_of("WhisperForConditionalGeneration", folder, device)


def _whisper_processor(folder: Path, _device: str) -> _WhisperProcessor:
    transformers = need("transformers", "hf")
    with opening(folder), quietly():
        processor = transformers.WhisperProcessor.from_pretrained(
            folder, local_files_only=True
        )
        generation = transformers.GenerationConfig.from_pretrained(
            folder, local_files_only=True
        )
    generation.update(do_sample=False, num_beams=1)
    return _WhisperProcessor(processor, generation)
