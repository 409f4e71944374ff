import math
from typing import Any

import pytest

from mmeval.metrics.audio.quality import combination as of
from mmeval.metrics.audio.quality.combination import WEIGHTS, Heard

SOUND = Heard(*[0.0] * len(Heard._fields))._replace(bandwidth=0.5, chroma=0.0275, periodicity=0.525, flatness=0.1)
SOUND = SOUND._replace(contrast_db=27.5, hiss_slope=-1.0, loudness=-18.0, crest_db=14.0, transient=0.75, level=1.0)
SOUND = SOUND._replace(effective_db=22.0, range_db=8.0, gap_factor=1.0)


@pytest.mark.parametrize(
    ("function", "points"),
    [
        (of.contrast_score, {10: 0, 15: 0, 27.5: 0.5, 40: 1, 50: 1}),
        (of.chroma_score, {0: 0, 0.005: 0, 0.0275: 0.5, 0.05: 1, 1: 1}),
        (of.periodic_score, {0: 0, 0.25: 0, 0.525: 0.5, 0.8: 1, 1: 1}),
        (of.range_score, {8: 0.5, 10: 1 / (1 + math.exp(-1))}),
        (of.loudness_score, {-26: math.exp(-2), -22: 1, -14: 1, -12: math.exp(-1)}),
        (of.crest_score, {9: math.exp(-1), 10: 1, 18: 1, 20: math.exp(-2)}),
        (of.clip_factor, {0: 1, 0.0025: 0.5}),
        (of.noise_factor, {0: 1, 0.1: 0.5}),
        (of.hiss_factor, {-2: 1, -0.5: 1, -0.5 + 0.65 / 6: 0.5, -0.2: 1 / (1 + 6 * 0.3 / 0.65), 0: 0.25, 5: 0.25}),
    ],
)
def test_scores_and_factors_of_one_term(function: Any, points: dict[float, float]) -> None:
    assert [function(value) for value in points] == pytest.approx(list(points.values()))


def test_factors_of_two_terms() -> None:
    music = {(0.22, 0): True, (0, 0.6): True, (0.219, 0.599): False, (1, 1): True}
    assert {terms: of.is_music(*terms) for terms in music} == music
    found = [of.high_factor(*terms) for terms in ((0.345, 0.39), (0.22, 0.39), (0.9, 0.4))]
    assert found == pytest.approx([0.5, 1, 1])
    found = [of.contrast_factor(*terms) for terms in ((0, 17.9), (0.12, 0), (0, 18))]
    assert found == pytest.approx([1 / (1 + 3.2 * 0.12), 1, 1])
    bonuses = [((0.5, 0.5, 17.9), True), ((1, 0, 17.9), True), ((1, 1, 18), True), ((1, 1, 0), False)]
    found = [of.music_bonus(*terms, music=music) for terms, music in bonuses]
    assert found == pytest.approx([1.1, 1.12, 1, 1])
    found = [of.periodic_bonus(*terms) for terms in ((1, 0.5, 15), (1, 0.49, 15), (1, 0.5, 14.9))]
    assert found == pytest.approx([1.15, 1, 1])


def test_the_released_mean_is_weighted_and_no_score_alone_makes_it_zero() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(14.7)
    for name, weight in WEIGHTS.items():
        scores = {other: 0.5 if other == name else 1.0 for other in WEIGHTS}
        assert of.base_of(scores, "released") == pytest.approx(0.5 ** (weight / 14.7))
        assert of.base_of(scores, "paper") == pytest.approx(0.5**0.1)
    assert of.base_of(dict.fromkeys(WEIGHTS, 1.0) | {"lufs_score": 0.0}, "paper") == pytest.approx(1e-9**0.1)


def test_one_number_by_hand() -> None:
    # Contrast, chroma and bandwidth count something at least.
    nothing = SOUND._replace(contrast_db=0.0, chroma=0.0, bandwidth=0.0, effective_db=28.0)
    for heard, ends in ((SOUND, [0.9, 0.5, 0.5]), (nothing, [0.8, 0.01, 0.01])):
        parts = [0.5, 0.9, 0.5, 1, 1, 0.75, 1, *ends]
        mean = math.prod(part ** (weight / 14.7) for part, weight in zip(parts, WEIGHTS.values(), strict=True))
        assert quality(heard) == pytest.approx(mean * (1 + 0.15 * 0.5))
        assert quality(heard, apply_b_per=False) == pytest.approx(mean)
    best = SOUND._replace(flatness=0.0, contrast_db=50, chroma=1, effective_db=50, range_db=60, transient=1)
    assert quality(best._replace(bandwidth=1, periodicity=1)) == 1


def quality(heard: Heard, *, apply_b_per: bool = True) -> float:
    scores = of.scores_of(heard)
    factors = of.factors_of(heard, scores)
    return of.combined(heard, scores, factors, combination="released", apply_b_per=apply_b_per)
