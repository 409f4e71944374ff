"""Voices: a speaker's gender, and the similarity of speakers, by speech models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mmeval.media import Media
from mmeval.metric import HubModel, loaded, remembered_all
from mmeval.metrics.audio.clips import RATE, clip, resampled
from mmeval.metrics.models import network_of, of_length_one, opening
from mmeval.system import need

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples
    from mmeval.metrics.models import Vectors


VOICE = HubModel(
    ("config.json", "preprocessor_config.json", "model.safetensors|pytorch_model.bin")
)
GENDER_NAME = "alefiury/wav2vec2-large-xlsr-53-gender-recognition-librispeech"
SPEAKER_NAME = "microsoft/wavlm-base-sv"
HEARD_RATE = 16000
SECONDS = 5.0
"""The gender is detected from this number of seconds at the beginning of a clip."""
LONGEST_SECONDS = 60.0
"""The voice is measured in at most this number of seconds. The memory that the speaker
model needs grows with the square of the length."""
MALE_CLASS = 1
SHORTEST = HEARD_RATE // 2
"""Shortest clip in samples. A shorter clip is padded with silence, since the speaker
model computes the variance over several frames."""
_BATCH = 8

Gender = Literal["male", "female"]


class DetectedGender(NamedTuple):
    """A gender and its probability, 0.5 to 1 for a model with two classes."""

    gender: Gender
    certainty: float


class _Model(NamedTuple):
    """A speech model and its feature extractor from transformers, untyped here."""

    network: Any
    features: Any
    device: str


def genders(
    clips: Sequence[Samples],
    model: Mapping[str, Any],
    *,
    seconds: float = SECONDS,
    male_class: int = MALE_CLASS,
) -> list[DetectedGender]:
    """Detects the speaker's gender from each clip's first ``seconds``.

    A shorter clip is padded with silence. Clips are mono at 22050 Hz. ``male_class`` is
    the number of the model's class for men.
    """
    if not clips:
        return []
    voice = loaded(model, _gender_model)
    length = round(seconds * HEARD_RATE)
    resampled_clips = [
        _exactly(resampled(clip, RATE, HEARD_RATE), length) for clip in clips
    ]
    detected: list[DetectedGender] = []
    for start in range(0, len(resampled_clips), _BATCH):
        logits = _logits(voice, resampled_clips[start : start + _BATCH])
        for row in logits.softmax(-1).tolist():
            certainty = max(row)
            is_male = row.index(certainty) == male_class
            detected.append(DetectedGender("male" if is_male else "female", certainty))
    return detected


def genders_of(
    sounds: Sequence[Media],
    model: Mapping[str, Any],
    *,
    seconds: float = SECONDS,
    male_class: int = MALE_CLASS,
) -> list[DetectedGender]:
    """Returns ``genders`` of decodable sounds, computed once for all metrics."""
    return remembered_all(
        sounds,
        ("gender", model["fingerprint"], seconds, male_class),
        lambda some: genders(
            list(map(clip, some)), model, seconds=seconds, male_class=male_class
        ),
    )


def voice_vectors(
    clips: Sequence[Samples],
    model: Mapping[str, Any],
    *,
    seconds: float = LONGEST_SECONDS,
) -> Vectors:
    """Returns the voice of each clip's first ``seconds``, as a vector of length 1.

    The vectors are float32 of shape (clips, width). The cosine of two vectors is their
    similarity.

    The model processes each clip separately. The released scorer pads eight clips to
    one length without a mask, so its vectors depend on the other clips.
    """
    import numpy as np

    if not clips:
        return np.zeros((0, 0), np.float32)
    torch = need("torch", "hf")
    voice = loaded(model, _speaker_model)
    vectors_of_clips = []
    for clip_samples in clips:
        length = max(1, round(seconds * HEARD_RATE))
        samples = resampled(clip_samples, RATE, HEARD_RATE)[:length]
        inputs = voice.features(
            _exactly(samples, max(len(samples), SHORTEST)),
            sampling_rate=HEARD_RATE,
            return_tensors="pt",
        )
        with torch.inference_mode():
            values = inputs["input_values"].to(voice.device)
            vector = voice.network(values).embeddings[0]
            vectors_of_clips.append(vector.float().cpu().numpy())
    return of_length_one(np.stack(vectors_of_clips))


def voices_of(
    sounds: Sequence[Media],
    model: Mapping[str, Any],
    *,
    seconds: float = LONGEST_SECONDS,
) -> list[Vectors]:
    """Returns ``voice_vectors`` of decodable sounds, computed once for all metrics."""
    return remembered_all(
        sounds,
        ("voice", model["fingerprint"], seconds),
        lambda some: list(voice_vectors(list(map(clip, some)), model, seconds=seconds)),
    )


def same_speaker_pairs(order: Sequence[Any]) -> list[tuple[int, int]]:
    """Returns all pairs of turns that have the same speaker.

    >>> same_speaker_pairs([0, 1, 2, 0, 1])
    [(0, 3), (1, 4)]
    """
    turns = combinations(range(len(order)), 2)
    return [(first, second) for first, second in turns if order[first] == order[second]]


def _exactly(samples: Samples, length: int) -> Samples:
    """Cuts the samples to a length, or pads them with silence."""
    import numpy as np

    missing = max(0, length - len(samples))
    return np.pad(samples[:length], (0, missing))


def _logits(voice: _Model, clips: Sequence[Samples]) -> Any:
    inputs = voice.features(list(clips), sampling_rate=HEARD_RATE, return_tensors="pt")
    with need("torch", "hf").inference_mode():
        values = inputs["input_values"].to(voice.device)
        return voice.network(values).logits.float().cpu()


def _gender_model(folder: Path, device: str) -> _Model:
    return _model("Wav2Vec2ForSequenceClassification", folder, device)


def _speaker_model(folder: Path, device: str) -> _Model:
    return _model("WavLMForXVector", folder, device)


def _model(
    kind: str,
    folder: Path,
    device: str,
) -> _Model:
    with opening(folder):
        features = need("transformers", "hf").Wav2Vec2FeatureExtractor.from_pretrained(
            folder, local_files_only=True
        )
    return _Model(network_of(kind, folder, device), features, device)
