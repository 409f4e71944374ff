"""Combines a recording's measured terms into scores, a mean and factors."""

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
"""The weights of the scores in the released mean. The paper weights them equally."""
LEAST_SCORE = 1e-9
"""The lowest score that enters the mean. A score of 0 would make the mean 0."""
LEAST_FEATURE = 0.01
"""The lowest score of bandwidth, contrast and chroma."""
NARROW, WIDE = 0.8, 0.2
"""The score of an empty band, and the amount that a full band adds to this score."""
CONTRAST_FROM, CONTRAST_SPAN = 15.0, 25.0
"""Contrast in decibels that scores 0, and the increase from there that scores 1."""
CHROMA_FROM, CHROMA_SPAN = 0.005, 0.045
PERIODIC_FROM, PERIODIC_SPAN = 0.25, 0.55
MUSIC_CONTRAST, MUSIC_CHROMA = 0.22, 0.6
"""A recording that reaches one of these scores counts as music."""
RANGE_MIDDLE, RANGE_SOFTNESS = 8.0, 2.0
"""Dynamic range in decibels that scores 0.5, and the softness of the curve."""
LOUDNESS = (-22.0, -14.0, 2.0)
"""The range in LUFS that scores 1, and the softness of the fall outside it."""
CREST = (10.0, 18.0, 1.0)
"""The range of the crest in decibels that scores 1, and the softness of its fall."""
CLIP_COST, NOISE_COST = 400.0, 10.0
HISS_FROM, HISS_COST, HISS_SPAN, HISS_LEAST = -0.5, 6.0, 0.65, 0.25
"""Slope of the spectrum above which hiss is penalised, the penalty, its span, and the
lowest factor."""
HIGH_UNSTRUCTURED, HIGH_FROM, HIGH_COST = 0.4, 0.22, 8.0
"""If the structure is below the first number, and the share of high frequencies is
above the second, the quality is lowered. The third number is the penalty."""
CONTRAST_BELOW_DB, CONTRAST_LOW, CONTRAST_COST = 18.0, 0.12, 3.2
"""If signal to noise is below the first number, and the contrast is below the second,
the quality is lowered. The third number is the penalty."""
STRUCTURE_BELOW_DB, BONUS_CONTRAST, BONUS_CHROMA = 18.0, 0.12, 0.08
"""If signal to noise is below the first number, music gets a bonus. The other numbers
are the bonuses for contrast and for chroma."""
PERIODIC_STRUCTURE, PERIODIC_DB, BONUS_PERIODIC = 0.5, 15.0, 0.15
"""If structure and signal to noise reach the first two numbers, periodicity raises the
quality. The third number is the bonus."""
FINAL_POWER: Mapping[Combination, float] = {"released": 0.7, "paper": 1.0}


class SoundTerms(NamedTuple):
    """The measured terms of a recording, in the units of their modules.

    The fields of reported terms are named as in the released report. ``snr_db_hpss`` is
    None if the recording is not music. ``snr_db_sf`` is None if flatness yields no
    estimate.
    """

    bandwidth_raw: float
    hf_slope_logP: float  # noqa: N815  as the report writes it
    hf_ratio_7_16k: float
    contrast_db: float
    chroma_var: float
    periodic_peak: float
    snr_db_orig: float
    snr_db_sf: float | None
    snr_db_hpss: float | None
    snr_db_eff: float
    noisy_prop_soft: float
    dr_db: float
    lufs: float
    clip_ratio_hard: float
    dc_offset: float
    silence_ratio_global: float
    crest_db: float
    max_mid_gap_seconds: float
    silent_prop_mid: float
    flatness: float
    level: float
    transient: float
    gap_factor: float


NOT_REPORTED = ("flatness", "level", "transient", "gap_factor")
"""Terms that the report contains only as a score or a factor."""


def contrast_score(decibels: float) -> float:
    return clipped((decibels - CONTRAST_FROM) / CONTRAST_SPAN)


def chroma_score(variance: float) -> float:
    return clipped((variance - CHROMA_FROM) / CHROMA_SPAN)


def is_music(contrast: float, chroma: float) -> bool:
    """Returns True if the score of contrast or of chroma is high enough for music."""
    return contrast >= MUSIC_CONTRAST or chroma >= MUSIC_CHROMA


def base_of(scores: Mapping[str, float], combination: Combination) -> float:
    """Returns the geometric mean of the scores, with the weights of ``combination``."""
    weights = WEIGHTS
    if combination == "paper":
        weights = dict.fromkeys(WEIGHTS, 1.0)
    total = sum(
        weight * math.log(clipped(scores[name], LEAST_SCORE))
        for name, weight in weights.items()
    )
    return math.exp(total / sum(weights.values()))


def scores_of(terms: SoundTerms) -> dict[str, Any]:
    """Returns the scores from 0 to 1, and ``is_music``, under their released names."""
    contrast, chroma = contrast_score(terms.contrast_db), chroma_score(terms.chroma_var)
    music = is_music(contrast, chroma)
    periodic = (terms.periodic_peak - PERIODIC_FROM) / PERIODIC_SPAN
    return {
        "snr_score": snr_score(terms.snr_db_eff, music=music),
        "structure(1-SF)": clipped(1 - terms.flatness),
        "dr_score": 1 / (1 + math.exp(-(terms.dr_db - RANGE_MIDDLE) / RANGE_SOFTNESS)),
        "lufs_score": band(terms.lufs, *LOUDNESS),
        "level_score": terms.level,
        "transient_score": terms.transient,
        "crest_score": band(terms.crest_db, *CREST),
        "contrast_score": contrast,
        "chroma_score": chroma,
        "periodic_score": clipped(periodic),
        "is_music": music,
    }


def factors_of(terms: SoundTerms, scores: Mapping[str, Any]) -> dict[str, float]:
    """Returns the penalties as factors up to 1 and the bonuses as factors from 1.

    High frequencies lower the quality only if there is little structure, and low
    contrast only if there is much noise. Music gets its bonus for structure despite
    noise. With ``hpss_margin`` 1, music counts as noiseless and gets no bonus.
    """
    structure = scores["structure(1-SF)"]
    contrast = scores["contrast_score"]
    snr = terms.snr_db_eff
    hiss = max(0.0, terms.hf_slope_logP - HISS_FROM) / HISS_SPAN
    high = flat = 0.0
    if structure < HIGH_UNSTRUCTURED:
        high = max(0.0, terms.hf_ratio_7_16k - HIGH_FROM)
    if snr < CONTRAST_BELOW_DB:
        flat = max(0.0, CONTRAST_LOW - contrast)
    music = periodic = 1.0
    if scores["is_music"] and snr < STRUCTURE_BELOW_DB:
        music = 1 + BONUS_CONTRAST * contrast + BONUS_CHROMA * scores["chroma_score"]
    if structure >= PERIODIC_STRUCTURE and snr >= PERIODIC_DB:
        periodic += BONUS_PERIODIC * scores["periodic_score"]
    return {
        "penalty_clip": 1 / (1 + CLIP_COST * terms.clip_ratio_hard),
        "gap_cov_penalty": terms.gap_factor,
        "penalty_noise": 1 / (1 + NOISE_COST * terms.noisy_prop_soft),
        "penalty_hiss": clipped(1 / (1 + HISS_COST * hiss), HISS_LEAST),
        "penalty_hf_ratio": 1 / (1 + HIGH_COST * high),
        "penalty_low_contrast": 1 / (1 + CONTRAST_COST * flat),
        "bonus_music": music,
        "bonus_periodic": periodic,
    }


def combined(
    terms: SoundTerms,
    scores: Mapping[str, Any],
    factors: Mapping[str, float],
    *,
    combination: Combination,
    apply_b_per: bool,
) -> float:
    """Multiplies the mean of the scores by the factors, before the final power.

    The result is limited to 0..1.
    """
    parts = {
        **scores,
        "bandwidth": max(LEAST_FEATURE, NARROW + WIDE * terms.bandwidth_raw),
        "contrast": max(LEAST_FEATURE, scores["contrast_score"]),
        "chroma": max(LEAST_FEATURE, scores["chroma_score"]),
    }
    applied = dict(factors)
    if not apply_b_per:
        del applied["bonus_periodic"]
    return clipped(base_of(parts, combination) * math.prod(applied.values()))
