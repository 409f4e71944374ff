import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mmeval.media import Interleaved, Media, media_part
from mmeval.metric import bind
from mmeval.metrics.image.networks.clip import CLIP as MARK
from mmeval.metrics.image.networks.clip import PictureToEmbed, cosines, embedder
from mmeval.records import Sample, Score, Trial
from mmeval.tasks.mme_unify.clips.frames import key_frames, pixels_of
from mmeval.tasks.mme_unify.clips.mme_unify_clipsim import mme_unify_clipsim
from tests.support.models import tiny
from tests.support.pictures import DAMAGED, clip_of, medium, noise
from tests.support.trials import score_of

Scored = Callable[..., Score]
CLIP = clip_of([noise(40, 64, at) for at in range(6)])
LONG = "word " * 69


@pytest.fixture(scope="module")
def model() -> dict[str, str]:
    return tiny("clip", MARK)


@pytest.fixture
def scored(model: dict[str, str]) -> Scored:
    """Gives the score of a trial by a tiny model."""
    return partial(score_of, mme_unify_clipsim, model=model)


def asked(*answer: Media, text: Any = "a door") -> Trial:
    parts = tuple(media_part(one, "video") for one in answer)
    return Trial(
        Sample("1", (), metadata={"Text_Prompt": text}), output=Interleaved(parts)
    )


def test_it_is_the_mean_cosine_of_the_key_frames_and_the_text(
    model: dict[str, str],
    scored: Scored,
) -> None:
    embed = embedder(model)
    frames = embed.pictures(
        [PictureToEmbed.of(medium(pixels_of(one))) for one in key_frames(CLIP)]
    )
    expected = cosines(embed.texts(["a door"])[0], frames)  # type: ignore[arg-type]
    score = scored(asked(CLIP))
    assert (len(expected), score.evidence["cosines"]) == (
        6,
        pytest.approx(expected, abs=1e-6),
    )
    assert score.value == pytest.approx(sum(expected) / 6, abs=1e-6)


def test_a_text_is_cut_at_70_words_and_may_be_empty(scored: Scored) -> None:
    values = [scored(asked(CLIP, text=LONG + end)).value for end in ("x", "x y z")]
    assert values[0] == pytest.approx(values[1])
    assert scored(asked(CLIP, text="")).status == "scored"
    missing = asked(CLIP, text=None)
    assert scored(missing).status == "unscored"
    assert bind(mme_unify_clipsim).sample_fault(missing.sample)
    assert bind(mme_unify_clipsim, {"text_key": "other"}).sample_fault(asked().sample)


def test_a_damaged_clip_is_dropped_or_zero(scored: Scored) -> None:
    assert scored(asked(DAMAGED)).status == "inapplicable"
    zero = scored(asked(DAMAGED), missing="zero")
    assert (zero.value, list(zero.evidence)) == (0, ["reason"])


def test_embeddings_of_a_file_are_those_of_the_frames(tmp_path: Path) -> None:
    file = tmp_path / "vectors.jsonl"
    rows: list[dict[str, Any]] = [
        {"sha256": CLIP.sha256, "vector": [[1, 0], [3, 4]]},
        {"text": "a door", "vector": [0, 2]},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert bind(mme_unify_clipsim, {"vectors": str(file)}).needs == ()
    score = score_of(mme_unify_clipsim, asked(CLIP), vectors=str(file))
    assert (score.value, score.evidence) == (0.4, {"cosines": [0.0, 0.8]})
    assert (
        score_of(mme_unify_clipsim, asked(DAMAGED), vectors=str(file)).status
        == "inapplicable"
    )
