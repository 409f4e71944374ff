"""MME-Unify: how well a clip's frames match the words of the prompt (CLIPSIM)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from mmeval.errors import ContentError
from mmeval.media import Media
from mmeval.metric import metric
from mmeval.metrics.image.networks.clip import (
    CLIP_L14,
    PictureToEmbed,
    clip_needs,
    cosines,
    embedder,
)
from mmeval.metrics.produced import Missing
from mmeval.records import Sample, Score, Trial
from mmeval.system import PathOrName
from mmeval.tasks.mme_unify.clips.features import scored_clip
from mmeval.tasks.mme_unify.clips.frames import key_frames, pixels_of
from mmeval.tasks.mme_unify.pictures.verdict import Model

WORDS = 70
"""Number of words of a text that are used. CLIP reads their first 77 tokens."""


def _needs(switches: Mapping[str, Any]) -> tuple[str, ...]:
    return () if switches["vectors"] else ("av:video", *clip_needs(switches))


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    key = switches["text_key"]
    if isinstance(sample.metadata.get(key), str):
        return ""
    return f"the row's label {key!r} must be a string"


@metric(
    range=(-1, 1),
    version="2",
    source="MME-Unify, section 3.2 and the released scripts",
    needs=_needs,
    check=_fault,
)
def mme_unify_clipsim(
    trial: Trial,
    *,
    model: Model = CLIP_L14,
    text_key: str = "Text_Prompt",
    missing: Missing = "dropped",
    vectors: PathOrName = "",
) -> Score:
    """The mean cosine between the CLIP embeddings of a clip's frames and of the prompt.

    Range -1 to 1, higher is better. Up to 16 key frames of the answer are used, and the
    first 70 words (77 tokens) of the text in the label ``text_key``. An answer without
    exactly one clip, or with a damaged clip, is left out of the mean. With ``missing:
    zero`` it scores 0, with the reason as evidence. Unscored without the text.
    ``model`` and ``vectors`` are as in ``clip_image_similarity``. In the file
    ``vectors``, the line of a clip lists one vector per frame under ``vector``.
    Evidence: each cosine.

    Not measured: motion, and the order of the frames.

    Labels, for example: ``{"Text_Prompt": "a hare in the snow"}``.
    """
    if fault := _fault(trial.sample, {"text_key": text_key}):
        return Score.unscored(fault)

    def score(clip: Media) -> Score:
        import numpy as np

        pictures = []
        if vectors:
            # The file lists the vectors of all frames in one entry, the clip's.
            pictures.append(
                PictureToEmbed(clip, (), lambda: pixels_of(key_frames(clip)[0]))
            )
        else:
            for number, frame in enumerate(key_frames(clip)):
                pictures.append(
                    PictureToEmbed(clip, ("key", number), partial(pixels_of, frame))
                )
        embed = embedder(model, vectors)
        words = embed.texts([shortened(trial.sample.metadata[text_key])])[0]
        similarities = []
        for vectors_of_picture in embed.pictures(pictures):
            if isinstance(vectors_of_picture, ContentError):
                raise vectors_of_picture
            similarities += cosines(words, list(np.atleast_2d(vectors_of_picture)))
        mean = sum(similarities) / len(similarities)
        return Score(mean, evidence={"cosines": similarities})

    return scored_clip(trial, missing, score)


def shortened(text: str) -> str:
    """Returns the first 70 words of a text. A shorter text is unchanged.

    >>> shortened("a  b"), len(shortened("word " * 71).split())
    ('a  b', 70)
    """
    words = text.split()
    return text if len(words) <= WORDS else " ".join(words[:WORDS])
