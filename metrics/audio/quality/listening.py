"""Measures all terms of a recording, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmeval.metrics.audio.quality import level
from mmeval.metrics.audio.quality.combination import Heard, chroma_score, contrast_score, is_music
from mmeval.metrics.audio.quality.frequencies.chroma import chroma_variance
from mmeval.metrics.audio.quality.frequencies.separation import separated_snr
from mmeval.metrics.audio.quality.frequencies.spectrum import bandwidth, high_share, hiss_slope, spectrum_of
from mmeval.metrics.audio.quality.gaps import gaps_of
from mmeval.metrics.audio.quality.loudness import loudness
from mmeval.metrics.audio.quality.periodicity import periodicity
from mmeval.metrics.audio.quality.signal_to_noise import effective, noise_terms

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples


def heard_in(samples: Samples, margin: float | None) -> Heard:
    """The terms of 0.4 seconds or more. ``margin`` separates music (None: left out)."""
    import numpy

    spectrum = spectrum_of(samples)
    chroma = chroma_variance(samples, spectrum.tuning)
    music = is_music(contrast_score(spectrum.contrast_db), chroma_score(chroma))
    noise = noise_terms(samples, spectrum.flatness)
    separated = separated_snr(samples, margin) if music and margin is not None else None
    levels, gaps = level.level_terms(samples), gaps_of(samples)
    return Heard(
        flatness=float(numpy.median(spectrum.flatness)),
        bandwidth=bandwidth(spectrum.power),
        hiss_slope=hiss_slope(spectrum.power),
        high_share=high_share(spectrum.power),
        contrast_db=spectrum.contrast_db,
        chroma=chroma,
        periodicity=periodicity(samples),
        by_level_db=noise.by_level,
        by_flatness_db=noise.by_flatness,
        separated_db=separated,
        effective_db=effective(noise.by_level, noise.by_flatness, separated),
        noisy=noise.noisy,
        range_db=level.dynamic_range(samples),
        loudness=loudness(samples),
        clipped=levels.clipped,
        offset=levels.offset,
        silent=levels.silent,
        level=level.level_score(levels),
        transient=level.transient_score(samples),
        crest_db=level.crest(samples),
        longest_gap=gaps.longest,
        silent_middle=gaps.silent,
        gap_factor=gaps.factor,
    )
