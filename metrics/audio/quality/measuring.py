"""Measures all terms of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmeval.metrics.audio.quality import level
from mmeval.metrics.audio.quality.combination import (
    SoundTerms,
    chroma_score,
    contrast_score,
    is_music,
)
from mmeval.metrics.audio.quality.frequencies.chroma import chroma_variance
from mmeval.metrics.audio.quality.frequencies.separation import separated_snr
from mmeval.metrics.audio.quality.frequencies.spectrum import (
    bandwidth,
    high_share,
    hiss_slope,
    spectrum_of,
)
from mmeval.metrics.audio.quality.gaps import gaps_of
from mmeval.metrics.audio.quality.loudness import loudness
from mmeval.metrics.audio.quality.periodicity import periodicity
from mmeval.metrics.audio.quality.signal_to_noise import effective, noise_terms

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples


def sound_terms_of(samples: Samples, margin: float | None) -> SoundTerms:
    """Measures the terms of a sound of at least 0.4 seconds.

    ``margin`` separates the harmonic and percussive sound of music. With None, this
    estimate of signal to noise is omitted.
    """
    import numpy

    spectrum = spectrum_of(samples)
    chroma = chroma_variance(samples, spectrum.tuning)
    music = is_music(contrast_score(spectrum.contrast_db), chroma_score(chroma))
    noise = noise_terms(samples, spectrum.flatness)
    separated = None
    if music and margin is not None:
        separated = separated_snr(samples, margin)
    levels, gaps = level.level_terms(samples), gaps_of(samples)
    return SoundTerms(
        bandwidth_raw=bandwidth(spectrum.power),
        hf_slope_logP=hiss_slope(spectrum.power),
        hf_ratio_7_16k=high_share(spectrum.power),
        contrast_db=spectrum.contrast_db,
        chroma_var=chroma,
        periodic_peak=periodicity(samples),
        snr_db_orig=noise.by_level,
        snr_db_sf=noise.by_flatness,
        snr_db_hpss=separated,
        snr_db_eff=effective(noise.by_level, noise.by_flatness, separated),
        noisy_prop_soft=noise.noisy,
        dr_db=level.dynamic_range(samples),
        lufs=loudness(samples),
        clip_ratio_hard=levels.clipped,
        dc_offset=levels.offset,
        silence_ratio_global=levels.silent,
        crest_db=level.crest(samples),
        max_mid_gap_seconds=gaps.longest,
        silent_prop_mid=gaps.silent,
        flatness=float(numpy.median(spectrum.flatness)),
        level=level.level_score(levels),
        transient=level.transient_score(samples),
        gap_factor=gaps.factor,
    )
