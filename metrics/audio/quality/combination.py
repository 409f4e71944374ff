"""Combines a recording's measured terms: scores, their mean, factors for faults."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from mmeval.metrics.audio.quality.frames import band, clipped
from mmeval.metrics.audio.quality.signal_to_noise import snr_score

Combination: TypeAlias = Literal["released", "paper"]
WEIGHTS: Mapping[str, float] = {
    "snr_score": 3.5,
    "structure(1-SF)": 2.5,
    "dr_score": 1.0,
    "lufs_score": 1.0,
    "level_score": 1.0,
    "transient_score": 1.0,
    "crest_score": 0.8,
    "bandwidth": 0.3,
    "contrast": 2.4,
    "chroma": 1.2,
}
"""The weights of the scores in the released mean; in the paper all weigh the same."""
LEAST_SCORE = 1e-9
"""The least that a score counts, so that a single one cannot make the mean 0,"""
LEAST_FEATURE = 0.01
"""and the least for bandwidth, contrast and chroma."""
NARROW, WIDE = 0.8, 0.2
"""A recording without any band has the first number, a full one the sum of both."""
CONTRAST_FROM, CONTRAST_SPAN = 15.0, 25.0
"""Decibels with the score 0, and how many more give the score 1."""
CHROMA_FROM, CHROMA_SPAN = 0.005, 0.045
PERIODIC_FROM, PERIODIC_SPAN = 0.25, 0.55
MUSIC_CONTRAST, MUSIC_CHROMA = 0.22, 0.6
"""A recording with one of these scores, or a higher one, is music."""
RANGE_MIDDLE, RANGE_SOFTNESS = 8.0, 2.0
"""Decibels of dynamic range with the score 0.5, and how softly it falls."""
LOUDNESS = (-22.0, -14.0, 2.0)
"""LUFS between which loudness has the score 1, and how softly it falls outside."""
CREST = (10.0, 18.0, 1.0)
"""The same of the crest, in decibels."""
CLIP_COST, NOISE_COST = 400.0, 10.0
HISS_FROM, HISS_COST, HISS_SPAN, HISS_LEAST = -0.5, 6.0, 0.65, 0.25
"""The slope of the spectrum above which it hisses, the penalty, and the lowest factor."""
HIGH_UNSTRUCTURED, HIGH_FROM, HIGH_COST = 0.4, 0.22, 8.0
"""Below this structure, a share of high frequencies above the second number lowers the quality."""
CONTRAST_BELOW_DB, CONTRAST_LOW, CONTRAST_COST = 18.0, 0.12, 3.2
"""With less signal to noise, a contrast below the second number lowers the quality."""
STRUCTURE_BELOW_DB, BONUS_CONTRAST, BONUS_CHROMA = 18.0, 0.12, 0.08
"""With less signal to noise, the structure of music raises the quality by this much."""
PERIODIC_STRUCTURE, PERIODIC_DB, BONUS_PERIODIC = 0.5, 15.0, 0.15
"""With this structure and signal to noise, periodicity raises the quality by this much."""
FINAL_POWER: Mapping[Combination, float] = {"released": 0.7, "paper": 1.0}


class Heard(NamedTuple):
    """The measured terms of a recording, in the units of their own modules.
    ``separated_db`` is None without music, ``by_flatness_db`` where flatness gives no estimate."""

    flatness: float
    bandwidth: float
    hiss_slope: float
    high_share: float
    contrast_db: float
    chroma: float
    periodicity: float
    by_level_db: float
    by_flatness_db: float | None
    separated_db: float | None
    effective_db: float
    noisy: float
    range_db: float
    loudness: float
    clipped: float
    offset: float
    silent: float
    level: float
    transient: float
    crest_db: float
    longest_gap: float
    silent_middle: float
    gap_factor: float


def contrast_score(decibels: float) -> float:
    return clipped((decibels - CONTRAST_FROM) / CONTRAST_SPAN)


def chroma_score(variance: float) -> float:
    return clipped((variance - CHROMA_FROM) / CHROMA_SPAN)


def periodic_score(peak: float) -> float:
    return clipped((peak - PERIODIC_FROM) / PERIODIC_SPAN)


def is_music(contrast: float, chroma: float) -> bool:
    """By their scores."""
    return contrast >= MUSIC_CONTRAST or chroma >= MUSIC_CHROMA


def range_score(decibels: float) -> float:
    return 1 / (1 + math.exp(-(decibels - RANGE_MIDDLE) / RANGE_SOFTNESS))


def loudness_score(lufs: float) -> float:
    return band(lufs, *LOUDNESS)


def crest_score(decibels: float) -> float:
    return band(decibels, *CREST)


def base_of(scores: Mapping[str, float], combination: Combination) -> float:
    """The scores' geometric mean, weighted as released, or unweighted as in the paper."""
    weights = {name: WEIGHTS[name] if combination == "released" else 1.0 for name in WEIGHTS}
    total = sum(weight * math.log(clipped(scores[name], LEAST_SCORE)) for name, weight in weights.items())
    return math.exp(total / sum(weights.values()))


def clip_factor(share: float) -> float:
    return 1 / (1 + CLIP_COST * share)


def noise_factor(noisy: float) -> float:
    return 1 / (1 + NOISE_COST * noisy)


def hiss_factor(slope: float) -> float:
    """1 for a spectrum that falls, less for one that does not."""
    if slope <= HISS_FROM:
        return 1.0
    return clipped(1 / (1 + HISS_COST * (slope - HISS_FROM) / HISS_SPAN), HISS_LEAST)


def high_factor(share: float, structure: float) -> float:
    """High frequencies lower the quality only where there is little structure."""
    return 1 / (1 + HIGH_COST * max(0.0, share - HIGH_FROM)) if structure < HIGH_UNSTRUCTURED else 1.0


def contrast_factor(contrast: float, snr: float) -> float:
    """Low contrast lowers the quality only where there is much noise."""
    return 1 / (1 + CONTRAST_COST * max(0.0, CONTRAST_LOW - contrast)) if snr < CONTRAST_BELOW_DB else 1.0


def music_bonus(contrast: float, chroma: float, snr: float, *, music: bool) -> float:
    """For structure despite noise; never with ``hpss_margin`` 1, where music has none."""
    return 1 + BONUS_CONTRAST * contrast + BONUS_CHROMA * chroma if music and snr < STRUCTURE_BELOW_DB else 1.0


def periodic_bonus(periodic: float, structure: float, snr: float) -> float:
    return 1 + BONUS_PERIODIC * periodic if structure >= PERIODIC_STRUCTURE and snr >= PERIODIC_DB else 1.0


def scores_of(heard: Heard) -> dict[str, Any]:
    """The terms as scores of 0 to 1, and whether it is music, by the released names."""
    contrast, chroma = contrast_score(heard.contrast_db), chroma_score(heard.chroma)
    music = is_music(contrast, chroma)
    return {
        "snr_score": snr_score(heard.effective_db, music=music),
        "structure(1-SF)": clipped(1 - heard.flatness),
        "dr_score": range_score(heard.range_db),
        "lufs_score": loudness_score(heard.loudness),
        "level_score": heard.level,
        "transient_score": heard.transient,
        "crest_score": crest_score(heard.crest_db),
        "contrast_score": contrast,
        "chroma_score": chroma,
        "periodic_score": periodic_score(heard.periodicity),
        "is_music": music,
    }


def factors_of(heard: Heard, scores: Mapping[str, Any]) -> dict[str, float]:
    """The penalties as factors below 1, the bonuses as factors above 1."""
    structure, contrast, snr = scores["structure(1-SF)"], scores["contrast_score"], heard.effective_db
    return {
        "penalty_clip": clip_factor(heard.clipped),
        "gap_cov_penalty": heard.gap_factor,
        "penalty_noise": noise_factor(heard.noisy),
        "penalty_hiss": hiss_factor(heard.hiss_slope),
        "penalty_hf_ratio": high_factor(heard.high_share, structure),
        "penalty_low_contrast": contrast_factor(contrast, snr),
        "bonus_music": music_bonus(contrast, scores["chroma_score"], snr, music=scores["is_music"]),
        "bonus_periodic": periodic_bonus(scores["periodic_score"], structure, snr),
    }


def combined(
    heard: Heard,
    scores: Mapping[str, Any],
    factors: Mapping[str, float],
    *,
    combination: Combination,
    apply_b_per: bool,
) -> float:
    """The mean of the scores times the factors, 0 to 1, before the final power."""
    parts = {
        **scores,
        "bandwidth": max(LEAST_FEATURE, NARROW + WIDE * heard.bandwidth),
        "contrast": max(LEAST_FEATURE, scores["contrast_score"]),
        "chroma": max(LEAST_FEATURE, scores["chroma_score"]),
    }
    applied = [factor for name, factor in factors.items() if apply_b_per or name != "bonus_periodic"]
    return clipped(base_of(parts, combination) * math.prod(applied))
