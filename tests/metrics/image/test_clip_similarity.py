import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmeval.metric import Metric, bind
from mmeval.metrics.image.clip_similarity import (
    clip_image_similarity,
    clip_text_similarity,
)
from mmeval.metrics.image.networks.clip import CLIP, PictureToEmbed, cosines, embedder
from mmeval.metrics.image.smaller import at_smaller_size
from mmeval.records import Sample, Score, Trial, user
from tests.support.models import tiny
from tests.support.pictures import DAMAGED, even, medium, noise, picture_trial, shown
from tests.support.trials import missing_weights, score_of, scored_together, trial

RED, NOISE, WIDE = even(64, 64, (255, 0, 0)), noise(64, 64), noise(50, 90, 3)


@cache
def model() -> dict[str, str]:
    return tiny("clip", CLIP)


def asked(text: str, *answer: Any, **labels: Any) -> Trial:
    return Trial(Sample("s", (user(text),), (), labels), output=shown(*answer))


def vector(pixels: Any) -> Any:
    return embedder(model()).pictures([PictureToEmbed.of(medium(pixels))])[0]


def scored(metric: Metric, trial: Trial, **switches: Any) -> Score:
    return score_of(metric, trial, model=model(), **switches)


def test_pictures_are_compared_pair_by_pair() -> None:
    expected = cosines(vector(RED), [vector(NOISE)])[0]
    score = scored(
        clip_image_similarity,
        picture_trial(RED, WIDE, reference=(NOISE, WIDE)),
    )
    assert score.evidence["cosines"] == pytest.approx([expected, 1])
    assert score.value == pytest.approx((expected + 1) / 2)


def test_pictures_of_two_sizes_are_compared_as_they_are_or_at_the_smaller_one() -> None:
    sized = picture_trial(WIDE, reference=(NOISE,))
    own = cosines(vector(WIDE), [vector(NOISE)])[0]
    bytes_of = [(side * 255).astype(np.uint8) for side in at_smaller_size(WIDE, NOISE)]
    smaller = cosines(vector(bytes_of[0]), [vector(bytes_of[1])])[0]
    assert own != pytest.approx(smaller)
    assert scored(clip_image_similarity, sized).value == pytest.approx(own)
    assert scored(clip_image_similarity, sized, size="smaller").value == pytest.approx(
        smaller
    )
    same = picture_trial(RED, reference=(NOISE,))
    at_both = {
        scored(clip_image_similarity, same, size=size).value
        for size in ("own", "smaller")
    }
    assert len(at_both) == 1


def test_a_text_is_that_of_the_input_or_a_label() -> None:
    (red,) = [vector(RED)]
    (draw, blue) = embedder(model()).texts(["draw", "a blue door"])
    of_input = scored(clip_text_similarity, asked("draw", RED, caption="a blue door"))
    assert of_input.value == pytest.approx(cosines(red, [draw])[0])
    labelled = scored(
        clip_text_similarity,
        asked("draw", RED, caption="a blue door"),
        text_key="caption",
    )
    assert labelled.value == pytest.approx(cosines(red, [blue])[0])
    of_two = scored(clip_text_similarity, asked("draw", RED, NOISE))
    assert of_two.evidence["cosines"] == pytest.approx(
        [of_input.value, cosines(vector(NOISE), [draw])[0]]
    )
    assert bind(clip_text_similarity).sample_fault(asked("draw").sample) == ""
    assert bind(clip_text_similarity, {"text_key": "caption"}).sample_fault(
        asked("draw", caption=3).sample
    )


def test_with_a_text_too_a_picture_may_be_brought_to_the_size_of_the_references() -> (
    None
):
    (draw,) = embedder(model()).texts(["draw"])
    smaller = (at_smaller_size(WIDE, NOISE)[0] * 255).astype(np.uint8)
    for reference, pixels in (
        ((NOISE,), smaller),
        ((NOISE, NOISE), WIDE),
        ((), WIDE),
        ((DAMAGED,), WIDE),
    ):
        sized = picture_trial(WIDE, given=(), reference=reference)
        sample = Sample("s", (user("draw"),), sized.sample.references)
        score = scored(
            clip_text_similarity,
            Trial(sample, output=sized.output),
            size="smaller",
        )
        assert score.value == pytest.approx(cosines(vector(pixels), [draw])[0]), len(
            reference
        )


@pytest.mark.parametrize(
    "metric", [clip_image_similarity, clip_text_similarity], ids=lambda one: one.name
)
def test_without_the_picture_it_is_zero_or_dropped_and_faults_of_data_are_unscored(
    metric: Metric,
) -> None:
    of_images = metric is clip_image_similarity
    for answer in ((), (DAMAGED,), *(((RED, RED), (RED,) * 100) if of_images else ())):
        wrong = picture_trial(*answer, reference=(NOISE,))
        assert scored(metric, wrong).value == 0
        assert list(scored(metric, wrong).evidence) == ["reason"]
        assert scored(metric, wrong, missing="dropped").status == "inapplicable"
    assert scored(metric, trial(None, given="draw")).status == "unscored"
    fault = picture_trial(RED, reference=(DAMAGED,)) if of_images else asked("", RED)
    assert scored(metric, fault, missing="dropped").status == "unscored"


@pytest.mark.parametrize("size", ["own", "smaller"])
def test_a_batch_scores_as_each_answer_alone(
    size: str,
) -> None:
    trials = [
        picture_trial(noise(30 + at, 80 - at, at), reference=(NOISE,))
        for at in range(20)
    ]
    trials[3] = picture_trial(reference=(NOISE,))
    trials[5] = picture_trial(DAMAGED, reference=(NOISE,))
    together = [
        score.value
        for score in scored_together(
            clip_image_similarity, trials, model=model(), size=size
        )
    ]
    alone = [scored(clip_image_similarity, one, size=size).value for one in trials]
    assert together == pytest.approx(alone, abs=1e-6)
    assert [at for at, value in enumerate(together) if value == 0] == [3, 5]


def test_embeddings_of_a_file_need_no_model(tmp_path: Path) -> None:
    file = tmp_path / "vectors.jsonl"
    of_pictures = [
        {"sha256": medium(RED).sha256, "vector": [1, 0]},
        {"sha256": medium(NOISE).sha256, "vector": [3, 4]},
    ]
    rows: list[dict[str, Any]] = [*of_pictures, {"text": "draw", "vector": [0, 2]}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    bound = bind(clip_image_similarity, {"vectors": str(file)})
    assert bound.needs == ()
    assert missing_weights(bound) == ""
    assert bound.at_once == 0
    pair = picture_trial(RED, reference=(NOISE,))
    assert score_of(clip_image_similarity, pair, vectors=str(file)).value == 0.6
    assert (
        score_of(clip_text_similarity, asked("draw", NOISE), vectors=str(file)).value
        == 0.8
    )
