"""MME-Unify: how well the frames of a clip fit the words that asked for it
(CLIPSIM)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from mmeval.errors import ContentError
from mmeval.media import Media
from mmeval.metric import metric
from mmeval.metrics.image.networks.clip import (
    CLIP_L14,
    Shown,
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
"""Of a longer text the first ones count, and of these 77 tokens."""


def _needs(switches: Mapping[str, Any]) -> tuple[str, ...]:
    return () if switches["vectors"] else ("av:video", *clip_needs(switches))


def _fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    key = switches["text_key"]
    if isinstance(sample.metadata.get(key), str):
        return ""
    return f"the row's label {key!r} must be a text"


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
    """The mean cosine of CLIP's embeddings of a clip's frames and of the words that
    asked for it.

    Range -1 to 1, higher is better. Up to 16 key frames of the answer count, and of a
    text the first 70 words, of these 77 tokens. An answer that has not exactly one
    clip, or one that is damaged, stands in no mean, or with ``missing: zero`` is
    0, with the reason as evidence. Unscored without the text under ``text_key``.
    ``model`` and ``vectors`` are as for ``clip_image_similarity``; a clip's line has a
    vector for each frame in ``vector``. Evidence: each cosine.
    """
    if fault := _fault(trial.sample, {"text_key": text_key}):
        return Score.unscored(fault)

    def score(clip: Media) -> Score:
        import numpy as np

        shown = []
        if vectors:
            # the file has the vectors of all frames under the clip
            shown.append(Shown(clip, (), lambda: pixels_of(key_frames(clip)[0])))
        else:
            for number, frame in enumerate(key_frames(clip)):
                shown.append(Shown(clip, ("key", number), partial(pixels_of, frame)))
        embed = embedder(model, vectors)
        words = embed.texts([shortened(trial.sample.metadata[text_key])])[0]
        found = []
        for seen in embed.pictures(shown):
            if isinstance(seen, ContentError):
                raise seen
            found += cosines(words, list(np.atleast_2d(seen)))
        return Score(sum(found) / len(found), evidence={"cosines": found})

    return scored_clip(trial, missing, score)


def shortened(text: str) -> str:
    """The first 70 words of a text; one that has no more stays as it is.

    >>> shortened("a  b"), len(shortened("word " * 71).split())
    ('a  b', 70)
    """
    words = text.split()
    return text if len(words) <= WORDS else " ".join(words[:WORDS])
