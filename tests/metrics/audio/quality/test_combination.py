from __future__ import annotations

import math

import pytest

from mmeval.metrics.audio.quality.combination import (
    WEIGHTS,
    Heard,
    base_of,
    chroma_score,
    clip_factor,
    combined,
    contrast_factor,
    contrast_score,
    crest_score,
    factors_of,
    high_factor,
    hiss_factor,
    is_music,
    loudness_score,
    music_bonus,
    noise_factor,
    periodic_bonus,
    periodic_score,
    range_score,
    scores_of,
)

SOUND = Heard(
    flatness=0.1,
    bandwidth=0.5,
    hiss_slope=-1.0,
    high_share=0.0,
    contrast_db=27.5,
    chroma=0.0275,
    periodicity=0.525,
    by_level_db=10.0,
    by_flatness_db=None,
    separated_db=22.0,
    effective_db=22.0,
    noisy=0.0,
    range_db=8.0,
    loudness=-18.0,
    clipped=0.0,
    offset=0.0,
    silent=0.0,
    level=1.0,
    transient=0.75,
    crest_db=14.0,
    longest_gap=0.0,
    silent_middle=0.0,
    gap_factor=1.0,
)


def quality(heard: Heard, *, combination: str = "released", apply_b_per: bool = True) -> float:
    scores = scores_of(heard)
    factors = factors_of(heard, scores)
    return combined(heard, scores, factors, combination=combination, apply_b_per=apply_b_per)  # type: ignore[arg-type]


def test_scores_are_straight_lines_between_nothing_and_everything() -> None:
    assert [contrast_score(value) for value in (10, 15, 27.5, 40, 50)] == [0, 0, 0.5, 1, 1]
    assert [chroma_score(value) for value in (0, 0.005, 0.0275, 0.05, 1)] == pytest.approx([0, 0, 0.5, 1, 1])
    assert [periodic_score(value) for value in (0, 0.25, 0.525, 0.8, 1)] == pytest.approx([0, 0, 0.5, 1, 1])


def test_dynamic_range_loudness_and_crest() -> None:
    assert [range_score(8), range_score(10)] == pytest.approx([0.5, 1 / (1 + math.exp(-1))])
    assert [loudness_score(value) for value in (-26, -22, -14, -12)] == pytest.approx(
        [math.exp(-2), 1, 1, math.exp(-1)]
    )
    assert [crest_score(value) for value in (9, 10, 18, 20)] == pytest.approx([math.exp(-1), 1, 1, math.exp(-2)])


@pytest.mark.parametrize(
    ("contrast", "chroma", "music"), [(0.22, 0, True), (0, 0.6, True), (0.219, 0.599, False), (1, 1, True)]
)
def test_contrast_or_chroma_make_music(contrast: float, chroma: float, music: bool) -> None:
    assert is_music(contrast, chroma) is music


def test_what_is_wrong_costs() -> None:
    assert [clip_factor(0), clip_factor(0.0025)] == [1, 0.5]
    assert [noise_factor(0), noise_factor(0.1)] == [1, 0.5]
    assert [hiss_factor(value) for value in (-2, -0.5, -0.5 + 0.65 / 6, 0, 5)] == pytest.approx(
        [1, 1, 0.5, max(0.25, 1 / (1 + 6 * 0.5 / 0.65)), 0.25]
    )
    assert [high_factor(0.345, 0.39), high_factor(0.22, 0.39), high_factor(0.9, 0.4)] == pytest.approx([0.5, 1, 1])
    assert [contrast_factor(0, 17.9), contrast_factor(0.12, 0), contrast_factor(0, 18)] == pytest.approx(
        [1 / (1 + 3.2 * 0.12), 1, 1]
    )


def test_structure_in_noise_is_worth_more() -> None:
    assert music_bonus(0.5, 0.5, 17.9, music=True) == pytest.approx(1.1)
    assert music_bonus(1, 0, 17.9, music=True) == pytest.approx(1.12)
    assert (music_bonus(1, 1, 18, music=True), music_bonus(1, 1, 0, music=False)) == (1, 1)


def test_a_period_is_worth_more_where_it_is_clear() -> None:
    assert periodic_bonus(1, 0.5, 15) == pytest.approx(1.15)
    assert (periodic_bonus(1, 0.49, 15), periodic_bonus(1, 0.5, 14.9)) == (1, 1)


def test_the_released_mean_is_weighted() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(14.7)
    for name, weight in WEIGHTS.items():
        scores = {other: 0.5 if other == name else 1.0 for other in WEIGHTS}
        assert base_of(scores, "released") == pytest.approx(0.5 ** (weight / 14.7))
        assert base_of(scores, "paper") == pytest.approx(0.5**0.1)


def test_no_score_alone_takes_everything() -> None:
    assert base_of(dict.fromkeys(WEIGHTS, 1.0) | {"lufs_score": 0.0}, "paper") == pytest.approx(1e-9**0.1)


@pytest.mark.parametrize(("combination", "weights"), [("released", WEIGHTS), ("paper", dict.fromkeys(WEIGHTS, 1.0))])
def test_one_number_by_hand(combination: str, weights: dict[str, float]) -> None:
    parts = [0.5, 0.9, 0.5, 1, 1, 0.75, 1, 0.9, 0.5, 0.5]
    mean = math.prod(
        part ** (weight / sum(weights.values())) for part, weight in zip(parts, weights.values(), strict=True)
    )

    assert quality(SOUND, combination=combination, apply_b_per=False) == pytest.approx(mean)
    assert quality(SOUND, combination=combination) == pytest.approx(mean * (1 + 0.15 * 0.5))


def test_contrast_chroma_and_bandwidth_count_something_at_least() -> None:
    without = SOUND._replace(contrast_db=0.0, chroma=0.0, bandwidth=0.0, effective_db=28.0)
    parts = [0.5, 0.9, 0.5, 1, 1, 0.75, 1, 0.8, 0.01, 0.01]
    mean = math.prod(part ** (weight / 14.7) for part, weight in zip(parts, WEIGHTS.values(), strict=True))

    assert quality(without, apply_b_per=False) == pytest.approx(mean)


@pytest.mark.parametrize(
    "worse",
    [
        {"clipped": 0.01},
        {"noisy": 0.5},
        {"hiss_slope": 1.0},
        {"gap_factor": 0.5},
        {"flatness": 0.7},
        {"flatness": 0.7, "high_share": 0.5},
        {"loudness": -40.0},
        {"loudness": -math.inf},
        {"level": 0.3},
        {"crest_db": 3.0},
        {"range_db": 1.0},
        {"effective_db": 16.0},
        {"contrast_db": 16.0},
    ],
    ids=str,
)
def test_what_is_worse_lowers_the_quality(worse: dict[str, float]) -> None:
    assert 0 <= quality(SOUND._replace(**worse)) < quality(SOUND)


def test_the_quality_is_at_most_one() -> None:
    best = SOUND._replace(
        flatness=0.0, contrast_db=50, chroma=1, effective_db=50, range_db=60, transient=1, bandwidth=1, periodicity=1
    )

    assert quality(best) == 1
