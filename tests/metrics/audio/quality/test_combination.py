import math

import pytest

from mmeval.metrics.audio.quality import combination as of
from mmeval.metrics.audio.quality.combination import WEIGHTS, SoundTerms

SOUND = SoundTerms(*[0.0] * len(SoundTerms._fields))._replace(
    bandwidth_raw=0.5, chroma_var=0.0275, periodic_peak=0.525
)
SOUND = SOUND._replace(
    contrast_db=27.5,
    hf_slope_logP=-1.0,
    lufs=-18.0,
    crest_db=14.0,
    transient=0.75,
    level=1.0,
)
SOUND = SOUND._replace(snr_db_eff=22.0, dr_db=8.0, gap_factor=1.0, flatness=0.1)


@pytest.mark.parametrize(
    ("score", "term", "points"),
    [
        ("contrast_score", "contrast_db", {10: 0, 15: 0, 27.5: 0.5, 40: 1, 50: 1}),
        ("chroma_score", "chroma_var", {0: 0, 0.005: 0, 0.0275: 0.5, 0.05: 1, 1: 1}),
        ("periodic_score", "periodic_peak", {0: 0, 0.25: 0, 0.525: 0.5, 0.8: 1, 1: 1}),
        ("dr_score", "dr_db", {8: 0.5, 10: 1 / (1 + math.exp(-1))}),
        ("lufs_score", "lufs", {-26: math.exp(-2), -22: 1, -14: 1, -12: math.exp(-1)}),
        ("crest_score", "crest_db", {9: math.exp(-1), 10: 1, 18: 1, 20: math.exp(-2)}),
        ("penalty_clip", "clip_ratio_hard", {0: 1, 0.0025: 0.5}),
        ("penalty_noise", "noisy_prop_soft", {0: 1, 0.1: 0.5}),
        (
            "penalty_hiss",
            "hf_slope_logP",
            {-2: 1, -0.5: 1, -0.5 + 0.65 / 6: 0.5, -0.2: 0.65 / 2.45, 0: 0.25, 5: 0.25},
        ),
    ],
)
def test_scores_and_factors_of_one_term(
    score: str, term: str, points: dict[float, float]
) -> None:
    found = [
        {**of.scores_of(heard), **factors(heard)}[score]
        for heard in (SOUND._replace(**{term: p}) for p in points)
    ]
    assert found == pytest.approx(list(points.values()))


@pytest.mark.parametrize(
    ("factor", "terms", "wanted"),
    [
        ("penalty_hf_ratio", {"hf_ratio_7_16k": 0.345, "flatness": 0.61}, 0.5),
        ("penalty_hf_ratio", {"hf_ratio_7_16k": 0.22, "flatness": 0.61}, 1),
        ("penalty_hf_ratio", {"hf_ratio_7_16k": 0.9, "flatness": 0.6}, 1),
        (
            "penalty_low_contrast",
            {"contrast_db": 0.0, "snr_db_eff": 17.9},
            1 / (1 + 3.2 * 0.12),
        ),
        ("penalty_low_contrast", {"contrast_db": 18.0, "snr_db_eff": 0.0}, 1),
        ("penalty_low_contrast", {"contrast_db": 0.0, "snr_db_eff": 18.0}, 1),
        ("bonus_music", {"snr_db_eff": 17.9}, 1.1),
        (
            "bonus_music",
            {"contrast_db": 50.0, "chroma_var": 0.0, "snr_db_eff": 17.9},
            1.12,
        ),
        (
            "bonus_music",
            {"contrast_db": 50.0, "chroma_var": 1.0, "snr_db_eff": 18.0},
            1,
        ),
        (
            "bonus_music",
            {"contrast_db": 20.0, "chroma_var": 0.03, "snr_db_eff": 0.0},
            1,
        ),
        (
            "bonus_periodic",
            {"periodic_peak": 1.0, "flatness": 0.5, "snr_db_eff": 15.0},
            1.15,
        ),
        (
            "bonus_periodic",
            {"periodic_peak": 1.0, "flatness": 0.51, "snr_db_eff": 15.0},
            1,
        ),
        (
            "bonus_periodic",
            {"periodic_peak": 1.0, "flatness": 0.5, "snr_db_eff": 14.9},
            1,
        ),
    ],
)
def test_factors_of_two_terms(
    factor: str, terms: dict[str, float], wanted: float
) -> None:
    assert factors(SOUND._replace(**terms))[factor] == pytest.approx(wanted)


def test_the_released_mean_is_weighted_and_no_score_alone_makes_it_zero() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(14.7)
    for name, weight in WEIGHTS.items():
        scores = {other: 0.5 if other == name else 1.0 for other in WEIGHTS}
        assert of.base_of(scores, "released") == pytest.approx(0.5 ** (weight / 14.7))
        assert of.base_of(scores, "paper") == pytest.approx(0.5**0.1)
    assert of.base_of(
        dict.fromkeys(WEIGHTS, 1.0) | {"lufs_score": 0.0}, "paper"
    ) == pytest.approx(1e-9**0.1)


def test_one_number_by_hand() -> None:
    # Contrast, chroma and bandwidth count something at least.
    nothing = SOUND._replace(
        contrast_db=0.0, chroma_var=0.0, bandwidth_raw=0.0, snr_db_eff=28.0
    )
    for heard, ends in ((SOUND, [0.9, 0.5, 0.5]), (nothing, [0.8, 0.01, 0.01])):
        parts = [0.5, 0.9, 0.5, 1, 1, 0.75, 1, *ends]
        mean = math.prod(
            part ** (weight / 14.7)
            for part, weight in zip(parts, WEIGHTS.values(), strict=True)
        )
        assert quality(heard) == pytest.approx(mean * (1 + 0.15 * 0.5))
        assert quality(heard, apply_b_per=False) == pytest.approx(mean)
    best = SOUND._replace(
        flatness=0.0, contrast_db=50, chroma_var=1, snr_db_eff=50, dr_db=60, transient=1
    )
    assert quality(best._replace(bandwidth_raw=1, periodic_peak=1)) == 1


def factors(heard: SoundTerms) -> dict[str, float]:
    return of.factors_of(heard, of.scores_of(heard))


def quality(heard: SoundTerms, *, apply_b_per: bool = True) -> float:
    combining = {"combination": "released", "apply_b_per": apply_b_per}
    return of.combined(heard, of.scores_of(heard), factors(heard), **combining)  # type: ignore[arg-type]
