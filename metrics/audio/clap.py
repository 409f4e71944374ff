"""CLAP similarity: how similar sounds are, by CLAP's audio encoder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from mmeval.errors import MmevalError, UsageError
from mmeval.media import Media
from mmeval.metric import HubModel, loaded, metric
from mmeval.metrics.audio.clips import MODEL_NEEDS, RATE, clip, resampled, the_only_clip
from mmeval.metrics.models import bound, network_of, of_length_one, opening
from mmeval.records import Score, Trial
from mmeval.system import OneOrMore, need

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples
    from mmeval.metrics.models import Vectors


CLAP = HubModel(
    ("config.json", "preprocessor_config.json", "model.safetensors|pytorch_model.bin")
)
CLAP_NAME = "laion/clap-htsat-unfused"
NEAREST = 10
_AT_ONCE = 16
"""Number of clips in one batch of the encoder."""


class _Encoder(NamedTuple):
    """The encoder and its feature extractor from transformers, untyped here."""

    network: Any
    features: Any
    device: str


def embeddings(clips: Sequence[Samples], model: Mapping[str, Any]) -> Vectors:
    """Returns each clip's embedding of length 1, as float32 of shape (clips, width).

    Clips are mono at 22050 Hz. A clip without samples counts as silence. A clip longer
    than the encoder's window (ten seconds) is cut to a random part, always the same for
    the same clip. A shorter clip is padded with silence, as in the released scorer. By
    default, newer versions of transformers would repeat the clip instead.
    """
    import numpy as np

    if not clips:
        return np.zeros((0, 0), np.float32)
    torch, encoder = need("torch", "hf"), loaded(model, _encoder)
    rate, vectors = encoder.features.sampling_rate, []
    for start in range(0, len(clips), _AT_ONCE):
        batch: list[Samples] = []
        for samples in clips[start : start + _AT_ONCE]:
            batch.append(_cropped(resampled(samples, RATE, rate), encoder))
        inputs = encoder.features(
            batch,
            sampling_rate=rate,
            padding="pad",
            truncation="rand_trunc",
            return_tensors="np",
        )["input_features"]
        with torch.inference_mode():
            inputs = torch.from_numpy(np.asarray(inputs, np.float32)).to(encoder.device)
            features = encoder.network.get_audio_features(input_features=inputs)
        pooled = getattr(features, "pooler_output", features).float().cpu()
        vectors.append(of_length_one(np.asarray(pooled, np.float32)))
    return np.concatenate(vectors)


def nearest_mean(
    clip: Vectors,
    references: Vectors,
    nearest: int = NEAREST,
) -> float:
    """Returns the mean of the largest cosines between an embedding and references."""
    import numpy as np

    cosines = references.astype(np.float64) @ clip.astype(np.float64)
    mean = np.sort(cosines)[-nearest:].mean()
    return float(np.clip(mean, -1.0, 1.0))


@metric(
    range=(-1, 1),
    version="3",
    source="MMMG, the similarity behind its sound and music tasks; official: audio "
    "evaluators 54527db8",
    needs=MODEL_NEEDS,
    batch=16,
)
def clap_similarity(
    trials: Sequence[Trial],
    *,
    model: Annotated[str | Mapping[str, Any], CLAP] = CLAP_NAME,
    nearest: OneOrMore = NEAREST,
) -> list[Score]:
    """Similarity of the answer's sound to the sounds of the references, by CLAP.

    Range -1 to 1, higher is better: 1 for the same sound. It is the mean of the largest
    cosines between CLAP's embeddings, over all sounds of all references. An answer
    scores 0, with the ``reason`` as evidence, unless it has exactly one sound that can
    be decoded. Unscored without an answer, without a sound in the references, or if one
    of these sounds cannot be decoded. A sound longer than ten seconds is cut to a
    random part of ten seconds, always the same for the same sound.

    Not measured: details. One embedding describes the whole sound, so spoken words
    hardly count.

    Switches:

    - ``model``: a CLAP model without feature fusion, by its name on the hub (about 0.6
      GB) or as a folder.
    - ``nearest``: the number of largest cosines that are averaged.

    Evidence: every cosine.
    """
    return [_similarity(trial, model, nearest) for trial in trials]


def _similarity(
    trial: Trial,
    model: str | Mapping[str, Any],
    nearest: int,
) -> Score:
    answer = the_only_clip(trial)
    if isinstance(answer, Score):
        return answer
    sounds: list[Media] = []
    for reference in trial.sample.references:
        sounds += reference.media("audio")
    if not sounds:
        return Score.unscored("the sample has no reference with a sound")
    try:
        clips = list(map(clip, sounds))
    except MmevalError as error:
        return Score.unscored(f"a reference: {error}")
    vectors = embeddings([answer, *clips], bound(model))
    answer_vector, reference_vectors = vectors[0], vectors[1:]
    value = nearest_mean(answer_vector, reference_vectors, nearest)
    return Score(
        value, evidence={"cosines": (reference_vectors @ answer_vector).tolist()}
    )


def _encoder(folder: Path, device: str) -> _Encoder:
    """Loads the encoder. Raises UsageError for a model with feature fusion."""
    transformers = need("transformers", "hf")
    with opening(folder):
        config = transformers.ClapConfig.from_pretrained(folder, local_files_only=True)
        features = transformers.ClapFeatureExtractor.from_pretrained(
            folder, local_files_only=True
        )
    if config.audio_config.enable_fusion:
        raise UsageError(
            f"{folder}: this CLAP model has feature fusion, which is unsupported. Use "
            f"a model without it, such as {CLAP_NAME}"
        )
    network = network_of("ClapModel", folder, device)
    return _Encoder(network, features, device)


def _cropped(samples: Samples, encoder: _Encoder) -> Samples:
    """Cuts a clip to a part that fits the encoder. The clip seeds its random start."""
    import numpy as np

    max_samples = int(encoder.features.nb_max_samples)
    if len(samples) <= max_samples:
        return samples
    digest = hashlib.sha256(np.ascontiguousarray(samples).tobytes()).digest()
    random = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    start = int(random.integers(0, len(samples) - max_samples + 1))
    return samples[start : start + max_samples]
